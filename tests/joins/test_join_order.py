"""Forced join orders: the text, the sets it forces, and the cheapest plan among those that have it."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from optimizer.algebra.plan import PlanNode
from optimizer.errors import SettingsError
from optimizer.joins.forced import Forced, Problems
from optimizer.joins.graph import JoinGraph, subsets
from optimizer.joins.join_order import JoinOrder, read_join_order, show_join_order, subtrees
from optimizer.joins.partition import PARTITIONERS
from optimizer.joins.placed_order import has_order
from optimizer.plan_space.of_search import full_space
from optimizer.search.extract import extract
from planscope import Optimizer, Settings
from tests.search.graphs import SHAPES, edges_of, graph_query
from tests.search.planning import new_search
from tests.search.random_settings import optimum
from tests.search.stored_tables import SHOP, STAR

CHAIN = "select count(*) from a join b on a.k = b.k join c on b.j = c.j join d on c.y = d.y"


def explained(sql: str, **settings: Any) -> PlanNode:
    return Optimizer(SHOP, Settings(**settings)).optimize(sql).plan


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("((c o) l)", "((c o) l)"),
        ("a b c", "((a b) c)"),
        ("(A, b) (c d)", "((a b) (c d))"),
        ('("a b" "say ""x""")', '("a b" "say ""x""")'),
        ("(((a)) b)", "(a b)"),
        ("(" * 3000 + "a" + ")" * 3000 + " b", "(a b)"),
    ],
)
def test_texts(text: str, shown: str) -> None:
    order = read_join_order(text)
    assert show_join_order(order) == shown
    assert read_join_order(shown) == order


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "it is empty"), ("(a", "the parenthesis at character 1 is never closed"),
        ("a b)", "the parenthesis at character 4 closes none"), ("(a ())", "the parentheses at character 4 are empty"),
        ("(a (b A))", 'it names "a" twice'), ("a", "two relations or more"), ('(a "b)', "begins no name and is no parenthesis"),
    ],
)  # fmt: skip
def test_texts_that_are_no_order(text: str, part: str) -> None:
    with pytest.raises(SettingsError, match="is not a join order: ") as error:
        read_join_order(text)
    assert part in str(error.value)


def random_order(names: list[str], random: Random) -> JoinOrder:
    if len(names) == 1:
        return names[0]
    cut = random.randrange(1, len(names))
    return random_order(names[:cut], random), random_order(names[cut:], random)


@pytest.mark.parametrize("shape", SHAPES)
def test_splits_are_those_of_all_splits_that_are_compatible(shape: str) -> None:
    for seed in range(20):
        random = Random(f"{shape}{seed}")
        n = random.randrange(3, 8)
        graph = JoinGraph(n, edges_of(shape, n, random))
        connected = [s for s in subsets(graph.all) if graph.connected(s) and s & (s - 1)]
        forced = Forced([])
        for s in random.sample(connected, len(connected)):  # a family of compatible sets
            if forced.allows(s) and random.random() < 0.6:
                forced = Forced([*forced.sets, s])
        problems = Problems(graph, forced)
        for s in connected:
            if forced.allows(s):
                every = PARTITIONERS["branch"](graph, s)
                compatible = [a for a in every if forced.allows(a) and forced.allows(s ^ a)]
                assert sorted(problems.splits(s, PARTITIONERS["branch"])) == sorted(compatible)


@pytest.mark.parametrize("settings", [{}, {"pruning": "none"}, {"driver": "iterative"}])
def test_the_plan_is_the_cheapest_that_has_the_order(settings: dict[str, Any]) -> None:
    """Compared with the brute force over the same sets of relations."""
    tried = refused = 0
    for seed in range(5):
        random = Random(seed)
        query = graph_query(random.choice(SHAPES), random.randrange(3, 6), seed)
        names = [scan.alias for scan in query.scans]
        random.shuffle(names)
        order = random_order(names[: random.randrange(2, len(names) + 1)], random)
        forced = Forced(sum(1 << int(name[1:]) for name in left | right) for left, right in subtrees(order))
        search = new_search(query, Settings(join_order=show_join_order(order), **settings))
        graph = JoinGraph(len(names), [(i, j) for i, j, _ in query.edges])
        if not all(graph.connected(s) for s in forced.sets):
            with pytest.raises(SettingsError, match="cross product"):
                search.run(query.tree, query.order)
            refused += 1
            continue
        goal = search.run(query.tree, query.order)
        wanted = optimum(query, search.cost, allows=forced.allows)
        assert goal.best_cost == pytest.approx(wanted)
        space = full_space(search)
        assert space.best_cost == pytest.approx(wanted)
        assert all(has_order(each, order) for each in map(space.unrank, space.sample_ranks(20, random)))
        tried += 1
    assert tried and refused


def test_a_heuristic_keeps_the_order() -> None:
    query = graph_query("clique", 9, 1)
    order = read_join_order("((t8 t1) (t3 t5)) t0")
    for settings in (
        {"exact_below": 1, "exact_sets": 20},
        {"exact_below": 1, "exact_sets": 20, "cost_model": "c_mm"},
        {"budget_tasks": 3},
    ):
        search = new_search(query, Settings(join_order=show_join_order(order), **settings))  # type: ignore[arg-type]
        goal = search.run(query.tree, query.order)
        assert not search.counters.proven and has_order(extract(search, goal), order)


def test_a_budget_leaves_a_plan_with_the_order() -> None:
    """Where nothing was explored the query as written would be the answer, and would not do."""
    grouped = "(select j, count(*) n from b e group by j)"
    sql = f"select a.x, v.n from a join b on a.k = b.k join c on b.j = c.j join {grouped} v on c.j = v.j"
    for budget in ({}, {"budget_groups": 1}, {"budget_mexprs": 1}, {"budget_tasks": 1}):
        assert has_order(explained(sql, join_order="(b c) a", **budget), read_join_order("(b c) a"))


def test_outer_joins() -> None:
    sql = "select count(*) from a left join (b join c on b.j = c.j) on a.k = b.k join d on a.x = d.y"
    assert has_order(explained(sql, join_order="(a d) (b c)"), read_join_order("(a d) (b c)"))
    with pytest.raises(SettingsError, match=r"the left join needs \{a\} on one side and \{b, c\} on the other"):
        explained(sql, join_order="(a b) c")


@pytest.mark.parametrize("kind", ["semi join", "anti join", "left join", "join"])
@pytest.mark.parametrize("condition", ["s.k = c.k", "a.j = c.k"])
@pytest.mark.parametrize("order", ["(s a)", "(s b) a", "((s c) a) b", "(s (a c)) b"])
def test_groups_below_joins_keep_the_order(kind: str, condition: str, order: str) -> None:
    """What is grouped below a join of a region of several kinds leaves joins that other rules see."""
    sql = f"select a.k, sum(s.k) from s join a on s.i = a.i join b on s.j = b.j {kind} c on {condition} group by a.k"
    if "c" in order and ("(s c)" in order) != (condition == "s.k = c.k"):
        with pytest.raises(SettingsError, match="join order"):
            Optimizer(STAR, Settings(join_order=order)).optimize(sql)
        return
    wanted = read_join_order(order)
    for settings in (Settings(), Settings(cost_model="c_out"), Settings(driver="iterative"), Settings(expand_joins=9)):
        found = Optimizer(STAR, replace(settings, join_order=order)).optimize(sql)
        assert found.search.proven and has_order(found.plan, wanted)
        space = full_space(found.engine)
        assert all(has_order(space.unrank(rank), wanted) for rank in space.sample_ranks(10, Random(1)))
        if kind == "semi join" and "c" in order:  # as the best plan has it, and its groups are not lost
            assert found.cost == pytest.approx(Optimizer(STAR, settings).optimize(sql).cost)


def test_regions_inside_regions() -> None:
    """A part that is grouped has an order of its own; from outside it is one relation."""
    sql = "select a.x, v.n from a join (select b.k, count(*) n from b join c on b.j = c.j group by b.k) v on a.k = v.k"
    order = read_join_order("(b c) a")
    assert has_order(explained(sql, join_order="(b c) a", disable=("aggregate_pull_join",)), order)
    with pytest.raises(SettingsError, match="b and c are joined before anything else is joined to them"):
        explained(sql, join_order="(a b) c")


@pytest.mark.parametrize(
    ("order", "part"),
    [
        ("(a zebra)", 'the query joins no relation "zebra"\nits relations, once it is simplified, are a, b, c, d'),
        ('(a "line\nbreak")', 'join order (a "line\\nbreak"): the query joins no relation "line\\nbreak"\nits relations'),
        ("(a c) b", "no condition links a and c, so joining them first is a cross product"),
        ("(a b", "never closed"),
    ],
)
def test_orders_that_cannot_be(order: str, part: str) -> None:
    with pytest.raises(SettingsError) as error:
        explained(CHAIN, join_order=order)
    assert part in str(error.value)
    explained(CHAIN, join_order="(a c) b", cross_products=True)


def test_settings_that_exclude_an_order() -> None:
    with pytest.raises(SettingsError, match="needs enumeration=adaptive or partition"):
        Settings.from_mapping({"join_order": "a b", "enumeration": "rules"}).check_together()
    with pytest.raises(SettingsError, match="needs the rule partition_joins"):
        explained(CHAIN, join_order="a b", disable=("partition_joins",))


def test_hints_in_comments() -> None:
    hinted = Optimizer(SHOP).optimize(f"/*+ Leading((d c) b) HashJoin(a b) */ {CHAIN}")
    assert has_order(hinted.plan, read_join_order("(d c) b"))
    assert hinted.search.forced == "(d c) b"
    (warning,) = hinted.warnings
    assert "HashJoin" in warning
    set_too = Optimizer(SHOP, Settings(join_order="(a b) c")).optimize(f"{CHAIN} --+ leading(d c)")
    assert set_too.search.forced == "(a b) c" and "not the hint" in set_too.warnings[0]
    assert not Optimizer(SHOP).optimize(f"{CHAIN} where '/*+ Leading(a c) */' <> '' /* Leading(a c) */").warnings


@pytest.mark.parametrize("decorrelate", ["general", "cost", "quick"])
def test_a_subquery_over_the_same_tables(decorrelate: str) -> None:
    inner = "select avg(b.j) from b, c where b.j = c.j and b.k = a.k"
    sql = f"select count(*) from a, b, c where a.k = b.k and b.j = c.j and b.j >= ({inner})"
    assert has_order(explained(sql, join_order="(b c) a", decorrelate=decorrelate), read_join_order("(b c) a"))
