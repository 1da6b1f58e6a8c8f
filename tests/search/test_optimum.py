"""The search finds the cheapest plan: equal to an independent brute force and to itself in every pruning mode.

Covers S1, S2, S5 to S8, S10, S11, S17, S20, S21 and T3, T4, T7, T8, T10 of the list of pitfalls: each of these bugs makes some
mode return a dearer plan, or none, on some of these graphs (`test_mutations` puts most of them in).
"""

from itertools import pairwise, permutations, product
from math import ceil, log2
from random import Random

import pytest

from experiments.workloads.data import open_data
from experiments.workloads.queries import default_data, resolve_sql
from optimizer.audit.ledger import Ledger, Opening
from optimizer.memo.goal import Status
from optimizer.search.extract import extract
from planscope import Session, Settings
from tests.conftest import blocks, quick_and_slow
from tests.search.graphs import SHAPES, GraphQuery, graph_query
from tests.search.independent.options import MODES
from tests.search.planning import new_search, plan, recomputed_cost, traced
from tests.search.random_settings import ENUMERATIONS, SEEDS, Options, optimum, optimum_of, random_loose_settings, random_settings


def check(shape: str, n: int, number: int) -> None:
    """Search one query under random settings, and under others that may stop early."""
    random = Random(f"{shape}/{n}/{number}")
    query = graph_query(shape, n, number)
    settings = random_settings(random)
    for driver in {settings["driver"], "iterative"} if number % 3 == 0 and n < 6 else {settings["driver"]}:
        search, goal = plan(query, **settings | {"driver": driver})
        expected = optimum_of(query, search.cost, settings)
        case = f"graph_query({shape!r}, {n}, {number}), {driver}, {settings}"
        assert goal.status is Status.OPTIMAL and search.counters.proven, case
        assert goal.best_cost == pytest.approx(expected, rel=1e-9), case
        assert goal.lower == goal.best_cost, case
        again = recomputed_cost(search, extract(search, goal), search.cost)
        assert again == pytest.approx(goal.best_cost, rel=1e-9), f"{case}: the plan costs {again}"
    if number % 4 == 0:
        check_loose(query, random, settings, expected)


def check_loose(query: GraphQuery, random: Random, settings: Options, expected: float) -> None:
    """A gap: at most that fraction above the optimum. An epsilon: at most N times that above it, N counting the operators."""
    loose = {**random_loose_settings(random), **{key: settings[key] for key in ("enumeration", "disable", "cost_model")}}
    search, goal = plan(query, **loose)
    allowed = expected * (1 + loose["gap"])
    for space in search.regions.made:
        allowed += max(0.0, space.enough) * (2 * len(space.leaves) - 1)
    assert expected * (1 - 1e-9) <= goal.best_cost <= allowed * (1 + 1e-9), loose
    assert goal.lower <= expected * (1 + 1e-9), loose
    again = recomputed_cost(search, extract(search, goal), search.cost)
    assert again == pytest.approx(goal.best_cost, rel=1e-9), loose


SIZES = (2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 5)
SPARSE = ("chain", "star", "cycle")


def case_of(number: int) -> tuple[str, int, int]:
    """Query `number`: mostly three to five relations, some of six and seven, where the brute force manages sparse graphs."""
    if number % 25 == 0:
        return SPARSE[number // 25 % 3], 7 if number % 200 == 0 else 6, number
    shape, n = SHAPES[number % 5], SIZES[number // 5 % len(SIZES)]
    return shape, min(n, 4) if shape == "clique" and number % 10 else n, number


def test_there_are_a_thousand_goals() -> None:
    """Of all shapes, half of them with a required order, and with every value of every setting."""
    cases = [case_of(number) for number in range(1000)]
    assert len(set(cases)) == 1000
    assert {shape for shape, _, _ in cases} == set(SHAPES)
    assert {n for _, n, _ in cases} == set(range(2, 8))
    ordered = sum(1 for shape, n, number in cases if graph_query(shape, n, number).order.collation)
    assert 400 < ordered < 600
    drawn = [random_settings(Random(f"{shape}/{n}/{number}")) for shape, n, number in cases]
    for name, values in (
        ("pruning", MODES),
        ("seed", SEEDS),
        ("enumeration", ENUMERATIONS),
        ("driver", ("top_down", "iterative")),
    ):
        assert {settings[name] for settings in drawn} == set(values)


@pytest.mark.few(18)
@pytest.mark.parametrize("numbers", quick_and_slow(blocks(0, 1000, 10), blocks(1000, 3000, 100)), ids=str)
def test_random_settings_find_the_optimum(numbers: range) -> None:
    """Random join graphs under random settings; a failure names the query and the settings."""
    for number in numbers:
        check(*case_of(number))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(12))
def test_random_settings_find_the_optimum_of_dense_graphs(number: int) -> None:
    check("clique", 5 + number % 2, number)
    check("random", 6, number)


@pytest.mark.few(3)
@pytest.mark.parametrize(("number", "n", "cost_model"), [(0, 4, "arrow"), (1, 5, "arrow"), (0, 5, "c_out"), (1, 5, "c_out")])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_mode_finds_the_optimum(shape: str, number: int, n: int, cost_model: str) -> None:
    """The same query under every pruning mode with every seed, with join spaces and without. Under C_out many plans tie (S10:
    ties must not lose every plan) and many local costs are zero."""
    query = graph_query(shape, 4 if shape == "clique" else n, number)
    ways: list[Options] = [{}]
    ways += [{"seed": seed, "expand_joins": expand, "rule_order": number} for seed in ("none", "best") for expand in (0, 5)]
    costs = {}
    for mode, way in product(MODES, ways):
        search, goal = plan(query, pruning=mode, cost_model=cost_model, **way)
        costs[mode, *way.values()] = goal.best_cost
    assert costs == pytest.approx(dict.fromkeys(costs, optimum(query, search.cost)), rel=1e-9)


LIMITED: list[Options] = [
    {}, {"expand_joins": 0}, {"expand_joins": 0, "seed": "none"}, {"enumeration": "rules", "pruning": "upper"},
    {"enumeration": "rules", "exploration": "on_demand"},
]  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("settings", LIMITED, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_limits_in_any_order_on_one_memo(shape: str, settings: Options) -> None:
    """S1, S3, S5, T6: a goal asked with too small a limit, then larger ones, in any order, answers as a fresh one; on a chain in
    each of 120 orders, on the others in 24."""
    query = graph_query(shape, 4 if "expand_joins" in settings else 3, 1)
    best = plan(query, **settings)[1].best_cost
    orders = list(permutations((best / 2, best * (1 - 1e-9), best * (1 + 1e-12), 2 * best, float("inf"))))
    for limits in orders if shape == "chain" else orders[::5]:
        search = new_search(query, Settings(**settings))
        root = search.explore(query.tree)
        for limit in limits:
            goal = search.optimize(root, query.order, limit)
            wins = goal.settled and goal.best_cost <= limit
            assert wins == (limit >= best), f"limits {limits}: {goal.status} after {limit}"
            assert goal.lower <= best * (1 + 1e-12)
            if wins:
                assert goal.status is Status.OPTIMAL
                assert goal.best_cost == pytest.approx(best, rel=1e-12)
                assert extract(search, goal).cost == pytest.approx(best, rel=1e-12)
            else:
                assert goal.lower > limit


def test_a_limit_never_loses_to_rounding() -> None:
    """S11: huge and tiny costs in one plan; a limit of exactly the optimum is met, whatever was subtracted on the way."""
    for number in range(40):
        query = graph_query(SHAPES[number % 5], 3 + number % 2, 1000 + number)
        settings: Options = {"enumeration": "rules", "seed": "none", "pruning": ("upper", "both")[number % 2]}
        best = plan(query, **settings)[1].best_cost
        search = new_search(query, Settings(**settings))
        goal = search.optimize(search.explore(query.tree), query.order, best)
        assert goal.status is Status.OPTIMAL
        assert goal.best_cost == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("mode", ["upper", "both"])
def test_goals_are_reopened_a_few_times_at_most(mode: str) -> None:
    """S2: a failure is remembered as a proven bound: a goal is searched at most once for each limit, in rising order, and as
    limits jump from the third search on, at most 2 + log2(last limit / first limit) times."""
    most = 0
    numbers = range(2) if mode == "upper" else range(8, 10)  # hardly any with lower bounds
    for shape, number, expand in product(SHAPES, numbers, (0, 5)):
        query = graph_query(shape, 4 if (shape, mode) == ("clique", "upper") else 5, number)
        search, trace = traced(query, pruning=mode, expand_joins=expand)
        limits: dict[int, list[float]] = {}
        for opening in Ledger(trace.events).all(Opening):
            limits.setdefault(opening.goal, []).append(opening.limit.value)
        for goal in search.memo.goals:
            tried = limits.get(goal.id, [])
            assert len(tried) == goal.opened
            assert all(a < b for a, b in pairwise(tried)), f"goal {goal.id} was searched with limits {tried}"
            finite = [limit for limit in tried if limit < float("inf")]
            if len(finite) > 2:
                assert len(finite) <= 2 + ceil(log2(finite[-1] / finite[0]))
            most = max(most, goal.opened)
    assert 1 < most <= 8


@pytest.mark.parametrize("shape", SHAPES)
def test_pruning_costs_fewer_alternatives(shape: str) -> None:
    n = 4 if shape == "clique" else 5
    costed = {mode: sum(plan(graph_query(shape, n, s), pruning=mode)[0].counters.costed for s in range(2)) for mode in MODES}
    assert costed["both"] <= costed["lower"] < costed["none"]
    assert costed["both"] < costed["upper"] < costed["none"]


@pytest.mark.parametrize(("graph", "factor"), [("star/8", 10), ("star/12", 10), ("clique/8", 50)])
def test_bounds_of_regions_skip_most_joins(graph: str, factor: int) -> None:
    """Of the hash joins and nested loops of a region searched by tasks, for the same plan cost."""
    data, sql = open_data(default_data(graph)), resolve_sql(graph)
    settings = {"region": "tasks", "disable": ["join_to_merge_join"]}
    every, few = (Session(data, settings | {"pruning": pruning}).optimize(sql) for pruning in ("none", "both"))
    assert few.cost == pytest.approx(every.cost, rel=1e-9)
    assert few.search.costed * factor <= every.search.costed
