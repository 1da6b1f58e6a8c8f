"""The plan space: counts, ranks, samples and plans by cost, against closed forms, exhaustive lists and the search."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice, product
from math import prod
from random import Random
from typing import Any

import pytest

from optimizer.algebra import ConstantRows, LimitRows, PlanNode, UnionAll
from optimizer.algebra.traits import ANY, Alternative, TraitSet, satisfies
from optimizer.errors import SpaceTooLarge
from optimizer.memo.alternatives import alternatives
from optimizer.memo.goal import Goal
from optimizer.plan_space import Choice, PlanSpace, Way
from optimizer.plan_space.of_search import full_space, searched_space
from optimizer.plan_space.operator_trees import count_operator_trees
from optimizer.plan_space.plan_space import show_count
from optimizer.plan_space.settle import settle
from optimizer.rules.enforce.moves import enforcers
from optimizer.search.extract import extract
from optimizer.search.search import Search
from planscope import Optimizer, Settings, Trace
from tests.search.counted_setting import counted_search
from tests.search.graphs import SHAPES, graph_query
from tests.search.independent.options import MODES
from tests.search.planning import plan, recomputed_cost

RULES = {"enumeration": "rules"}  # joins as the memo's own expressions
SMALL = [(shape, n, seed) for shape in SHAPES for n, seed in ((2, 0), (2, 3), (3, 0), (3, 1), (3, 2), (3, 5), (4, 1))]


def small_space(shape: str, n: int, seed: int, **settings: Any) -> tuple[PlanSpace, Search, Goal]:
    search, goal = plan(graph_query(shape, n, seed), **{"pruning": "none", **RULES, **settings})
    return full_space(search), search, goal


Shape = tuple[Any, ...]


def shape_of(node: PlanNode) -> Shape:
    """All that tells one plan from another: groups, operators, promises, inputs."""
    return (node.group, node.op, node.alternative, *map(shape_of, node.inputs))


def tree_of(node: PlanNode) -> Shape:
    return (node.group, node.op, *map(tree_of, node.inputs))


# -- closed forms -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    ("shape", "n", "trees", "plans"),
    [
        ("chain", 2, 2, 16), ("chain", 3, 8, 256), ("chain", 4, 40, 5120), ("star", 4, 48, 6144), ("clique", 3, 12, 384),
        ("clique", 4, 120, 15360),
    ],
)  # fmt: skip
def test_numbers_of_plans_in_the_counted_setting(shape: str, n: int, trees: int, plans: int, ordered: bool) -> None:
    """The check values of the method, for both requirements on the root; each plan is another tree of operators."""
    search, _ = counted_search(shape, n, ordered)
    space = full_space(search)
    assert space.count == plans == trees * 2**n * 2 ** (n - 1)
    assert space.operator_trees() == plans
    assert searched_space(search).count == plans


# -- ranks ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "ordered"), [("chain", True), ("clique", False)])
def test_ranks_of_the_counted_setting(shape: str, ordered: bool) -> None:
    space = full_space(counted_search(shape, 3, ordered)[0])
    plans = list(map(space.unrank, range(space.count)))
    assert [space.rank(each) for each in plans] == list(range(space.count))
    assert len(set(map(shape_of, plans))) == space.count


@pytest.mark.few(4)
@pytest.mark.parametrize(("shape", "n", "seed"), SMALL)
def test_every_plan_of_a_small_space(shape: str, n: int, seed: int) -> None:
    """Each has its rank and its cost, and none beats the winner; operator trees are counted once; the plans by cost are the
    sorted list, also where many cost the same; of up to three relations the plans are those of the definition, each once."""
    space, search, goal = small_space(shape, n, seed)
    plans = list(map(space.unrank, range(space.count)))
    assert 0 < space.count == len(plans) < 30_000
    for rank in range(space.count) if space.count < 3000 else Random(seed).sample(range(space.count), 1000):
        found = space.unrank(rank)
        assert space.rank(found) == rank
        assert found.cost >= goal.best_cost
        assert recomputed_cost(search, found, search.cost) == pytest.approx(found.cost, rel=1e-12)
    assert space.operator_trees() == len(set(map(tree_of, plans)))
    check_order(space, plans)
    with_ties, _, _ = small_space(shape, n, seed, cost_model="c_out")
    check_order(with_ties, list(map(with_ties.unrank, range(with_ties.count))))
    if n < 4:
        assert Counter(map(shape_of, plans)) == Counter(defined_plans(search, goal))


def check_order(space: PlanSpace, plans: list[PlanNode]) -> None:
    """Exactly: the same costs, to the last bit, and every plan once."""
    size = min(space.count, 1000)
    every = sorted(each.cost for each in plans)
    found = space.top(size)
    assert [each.cost for each in found] == every[:size]
    assert len({space.rank(each) for each in found}) == size
    if size == space.count:
        assert space.top(size + 10)[-1].cost == every[-1]
        assert len(space.top(size + 10)) == size


def defined_plans(search: Search, goal: Goal, enforced: TraitSet | None = None) -> Iterator[Shape]:
    """Plans of a goal from its definition; below an enforcer of traits only those of operators that do not have them."""
    memo = search.memo
    group = memo.group(goal.group)
    for mexpr in group.logical:
        for physical in mexpr.physical:
            for alternative in alternatives(search.memo, goal, physical):
                if enforced is not None and satisfies(alternative.delivered, enforced, group.props):
                    continue
                goals = [search.goal(g, t) for g, t in zip(physical.inputs, alternative.inputs, strict=True)]
                for inputs in product(*(list(defined_plans(search, each)) for each in goals)):
                    yield (goal.group, physical.op, alternative, *inputs)
    if enforced is None:
        for move in enforcers(goal.required, group.offers, group.props, search.rules.enforcers):
            for below in defined_plans(search, search.goal(goal.group, move.needs), goal.required):
                yield (goal.group, move.op, Alternative((move.needs,), move.delivers), below)


# -- the search and the space -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "seed", "cost_model"), [(2, 0, "arrow"), (3, 1, "arrow"), *((4, s, "c_out") for s in range(4))])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_cheapest_plan_of_the_space_is_the_winner(shape: str, n: int, seed: int, cost_model: str) -> None:
    """In every pruning mode; the full space is the same in all, the searched space a part of it with the same optimum. Under
    C_out most operators are free, and a sort may be chosen where none is needed."""
    query = graph_query(shape, n, seed)
    counts = set()
    for mode in MODES:
        search, goal = plan(query, pruning=mode, cost_model=cost_model, **RULES)
        space, searched = full_space(search), searched_space(search)
        counts.add((space.count, space.unrank(space.count // 2).cost))
        assert space.best_cost == next(space.cheapest()).cost == pytest.approx(goal.best_cost, rel=1e-12)
        assert searched.best_cost == pytest.approx(goal.best_cost, rel=1e-12)
        assert (searched.count == space.count) if mode == "none" else (1 <= searched.count <= space.count)
        assert space.unrank(space.rank(extract(search, goal))).cost == goal.best_cost
        for each in map(searched.unrank, searched.sample_ranks(20, Random(seed))):
            assert space.unrank(space.rank(each)).cost == each.cost
    assert len(counts) == 1, "the full space depends on the pruning mode"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "settings",
    [
        {}, {"enumeration": "partition", "seed": "none"}, {"enumeration": "partition", "pruning": "none"},
        {"enumeration": "rules", "exploration": "on_demand"}, {"enumeration": "rules", "driver": "iterative"},
    ],
    ids=str,
)  # fmt: skip
def test_whichever_way_the_search_went(settings: dict[str, Any]) -> None:
    """The full space is complete also where the search left groups unexplored, or splits of join graphs unexpanded."""
    for shape in SHAPES:
        for seed in range(3):
            query = graph_query(shape, 3 + seed % 2, seed)
            search, goal = plan(query, **settings)
            space, searched = full_space(search), searched_space(search)
            assert (space.best_cost, searched.best_cost) == pytest.approx((goal.best_cost, goal.best_cost), rel=1e-12)
            assert 1 <= searched.count <= space.count


def test_pruning_leaves_a_small_part() -> None:
    search, _ = plan(graph_query("star", 6, 1), pruning="both", **RULES)
    assert searched_space(search).count * 100 < full_space(search).count


def test_looking_at_the_space_changes_nothing_of_the_search() -> None:
    trace = Trace()
    search, goal = plan(graph_query("cycle", 4, 1), trace, pruning="both", **RULES)
    before = (len(trace.events), search.memo.physical_count, vars(search.counters).copy(), goal.best_cost, goal.way)
    full_space(search)
    assert before == (len(trace.events), search.memo.physical_count, vars(search.counters), goal.best_cost, goal.way)
    assert search.trace is trace


# -- samples ------------------------------------------------------------------------------------------------------------------


def test_samples_are_uniform() -> None:
    """χ² of 256,000 draws over 256 plans, within 6 standard deviations of its mean; likewise for draws without repetition."""
    space = full_space(counted_search("chain", 3, True)[0])
    assert space.count == 256
    draws = 1000 * space.count
    assert abs(chi_square(Counter(space.sample_ranks(draws, Random(1))), space.count) - 255) < 6 * (2 * 255) ** 0.5
    random = Random(2)
    parts = Counter(rank for _ in range(4000) for rank in space.sample_ranks(16, random, distinct=True))
    assert abs(chi_square(parts, space.count) - 255) < 6 * (2 * 255) ** 0.5


def chi_square(counts: Counter[int], cells: int) -> float:
    expected = counts.total() / cells
    return sum((counts[cell] - expected) ** 2 / expected for cell in range(cells))


def test_samples_follow_their_seed() -> None:
    space, _, _ = small_space("star", 4, 0)
    first, again, other = (list(map(shape_of, map(space.unrank, space.sample_ranks(30, Random(s))))) for s in (1, 1, 2))
    assert first == again != other
    ranks = space.sample_ranks(500, Random(3), distinct=True)
    assert len(set(ranks)) == 500
    assert space.sample_ranks(10**6, Random(3), distinct=True) == list(range(space.count))


# -- by cost ------------------------------------------------------------------------------------------------------------------


def test_the_first_of_very_many_plans_come_at_once() -> None:
    space, _, goal = small_space("chain", 10, 1)
    assert space.count > 10**10
    costs = [each.cost for each in islice(space.cheapest(), 2000)]
    assert costs == sorted(costs)
    assert costs[0] == goal.best_cost


# -- operator trees -----------------------------------------------------------------------------------------------------------


def test_some_operator_trees_are_several_plans() -> None:
    assert any(space.count > (space.operator_trees() or space.count) for space, _, _ in (small_space(*case) for case in SMALL))


def test_counting_operator_trees_gives_up() -> None:
    space, _, _ = small_space("clique", 4, 1)
    assert count_operator_trees(space.choices, settle(space.choices, 0), 0, most_steps=100) is None


# -- hand-made spaces: deep, wide, recursive, empty -----------------------------------------------------------------------------


def leaf(cost: float, rows: int = 0) -> Way:
    return Way(ConstantRows((rows,), (), ()), (), Alternative(()), cost)


def over(*inputs: int, cost: float = 1.0, tag: int = 0) -> Way:
    op = LimitRows((), tag, None) if len(inputs) == 1 else UnionAll((tag,), ())
    return Way(op, inputs, Alternative((ANY,) * len(inputs)), cost)


def space_of(*ways: list[Way]) -> PlanSpace:
    return PlanSpace([Choice(group, 1, 1.0, each) for group, each in enumerate(ways)], 0)


def test_a_very_deep_space() -> None:
    """No step recurses: 5,000 operators above one another, two ways each."""
    depth = 5000
    ways = [[over(i + 1, tag=0), over(i + 1, cost=2.0, tag=1)] for i in range(depth)]
    space = space_of(*ways, [leaf(1.0)])
    assert space.count == 2**depth
    rank = Random(1).randrange(space.count)
    assert space.rank(space.unrank(rank)) == rank
    found = space.top(3)
    assert [each.cost for each in found] == [depth + 1.0, depth + 2.0, depth + 2.0]
    assert space.operator_trees() == 2**depth


def test_a_very_wide_plan() -> None:
    space = space_of([over(*range(1, 201))], *([leaf(1.0), leaf(1.5, rows=1), leaf(4.0, rows=2)] for _ in range(200)))
    assert space.count == 3**200 == space.operator_trees()
    costs = [each.cost for each in space.top(230)]
    assert costs == sorted(costs)
    assert costs[:2] == [201.0, 201.5] and costs[200:202] == [201.5, 202.0]
    assert space.rank(space.unrank(3**199 + 5)) == 3**199 + 5


def test_recursive_choices_give_finite_spaces() -> None:
    """Of ways that lead from one choice to another and back, those to the cheaper plan count."""
    space = space_of([leaf(5.0), over(1)], [leaf(1.0), over(0)])
    assert (space.count, space.best_cost) == (2, 2.0)
    assert [each.cost for each in space.top(9)] == [2.0, 5.0]
    assert space.operator_trees() == 2
    alone = space_of([leaf(5.0), over(0, cost=0.0)])
    assert alone.count == 1
    ring = space_of([over(1)], [over(2), leaf(9.0)], [over(0), leaf(3.0)])
    assert (ring.count, ring.best_cost) == (2, 5.0)
    outside = space_of([over(1, 2, cost=0.0), leaf(50.0)], [over(0, cost=0.0), leaf(7.0, rows=1), over(2)], [leaf(1.0)])
    assert (outside.count, outside.best_cost) == (3, 3.0)


def test_ways_that_end_nowhere_do_not_count() -> None:
    space = space_of([over(1), over(2, tag=1)], [over(3)], [leaf(1.0)], [])
    assert space.count == 1 and space.best_cost == 2.0
    nothing = space_of([over(1)], [])
    assert nothing.count == 0 and nothing.top(3) == [] and list(map(nothing.unrank, range(nothing.count))) == []
    with pytest.raises(ValueError, match="no plan to draw"):
        nothing.sample_ranks(1, Random(0))
    assert space_of([over(1)], [over(0)]).count == 0


@pytest.mark.parametrize("seed", range(60))
def test_random_hand_made_spaces(seed: int) -> None:
    """Counts, ranks and costs of random AND/OR graphs (also with cycles) against each other and a plain recursion."""
    random = Random(seed)
    n, acyclic = random.randrange(2, 7), seed % 2 == 0
    ways: list[list[Way]] = []
    for i in range(n):
        own = [leaf(random.randrange(1, 9), rows=k) for k in range(random.randrange(0 if i < n - 1 else 1, 3))]
        for tag in range(random.randrange(1, 3)):
            below = range(i + 1, n) if acyclic else range(n)
            if below:
                own.append(
                    over(*(random.choice(below) for _ in range(random.randrange(1, 3))), cost=random.randrange(4), tag=tag)
                )
        ways.append(own)
    space = space_of(*ways)
    if not space.count or space.count > 20_000:
        return
    plans = list(map(space.unrank, range(space.count)))
    assert len({shape_of(each) for each in plans}) == len(plans) == space.operator_trees()
    assert [space.rank(each) for each in plans] == list(range(len(plans)))
    assert [each.cost for each in space.top(len(plans) + 1)] == sorted(each.cost for each in plans)
    if acyclic:
        counts = [0] * n
        for i in reversed(range(n)):
            counts[i] = sum(prod(counts[j] for j in way.inputs) for way in ways[i])
        assert space.count == counts[0]
    assert space.best_cost == least_cost(ways)


def least_cost(ways: list[list[Way]]) -> float:
    """The cheapest derivation, by relaxing until nothing changes; cycles never pay."""
    best = [float("inf")] * len(ways)
    for _ in range(len(ways) + 1):
        best = [min((w.local + sum(best[i] for i in w.inputs) for w in own), default=float("inf")) for own in ways]
    return best[0]


# -- queries ------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_union_of_two_hundred_joins() -> None:
    """Deep and wide queries: as many plans as the 200 joins have together, no recursion error."""
    query = graph_query("chain", 2, 3)
    part = "select count(*) from t0 join t1 on t0.c0 = t1.c0"
    one = full_space(Optimizer(query.catalog, Settings(**RULES)).optimize(part).engine)
    optimized = Optimizer(query.catalog, Settings(**RULES)).optimize(" union all ".join([part] * 200))
    space = full_space(optimized.engine)
    assert one.count > 2
    assert space.count == one.count**200
    assert space.best_cost == pytest.approx(optimized.cost, rel=1e-12)
    rank = space.sample_ranks(1, Random(0))[0]
    assert space.rank(space.unrank(rank)) == rank
    assert space.rank(optimized.plan) < space.count


# -- refusals -----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_refusals() -> None:
    space, search, goal = small_space("chain", 3, 0)
    for rank in (-1, space.count):
        with pytest.raises(ValueError, match=f"there is no plan {rank}: there are {space.count}, numbered from 0"):
            space.unrank(rank)
    with pytest.raises(SpaceTooLarge, match="more expressions than budget_mexprs=60 allows\nset it higher"):
        full_space(plan(graph_query("clique", 7, 1), budget_mexprs=60)[0])
    other = small_space("star", 4, 0)[0].unrank(0)
    with pytest.raises(ValueError, match="the plan is not in the space"):
        space.rank(other)
    assert space.rank(extract(search, goal)) < space.count


def test_large_numbers_read_well() -> None:
    shown = {
        0: "0",
        18_400: "18,400",
        10**15 - 1: "999,999,999,999,999",
        10**15: "1.00e+15",
        1509129216 * 10**20: "1.51e+29",
        9999 * 10**20: "1.00e+24",
        7 * 10**9999: "7.00e+9999",  # longer than Python prints
    }
    assert {count: show_count(count) for count in shown} == shown
