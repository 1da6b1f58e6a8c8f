"""The iterative driver finds what the task stack finds, has a plan at every budget, and tells its trace everything.

That it finds the optimum of join graphs under all settings: `test_optimum.py`.
"""

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from experiments.workloads.queries import resolve_sql
from optimizer.algebra import ColumnRef, Columns, Filter, Join, JoinKind, Literal, SetOp, SetOpKind, Tree, Values, compare
from optimizer.catalog.table import Catalog
from optimizer.cost.arrow import ArrowCost
from optimizer.dataset import open_dataset
from optimizer.figures import Figures
from optimizer.iterative.importance import CEILING, importances
from optimizer.iterative.search import Iterative, IterativeSearch
from optimizer.memo.alternatives import alternatives
from optimizer.memo.goal import Goal, Status
from optimizer.memo.memo import Memo
from optimizer.plan_space.of_search import full_space
from optimizer.rules.catalog import IMPLEMENTATIONS, TRANSFORMATIONS, rule_set
from optimizer.rules.interface import RuleContext
from optimizer.rules.transform.semi_join_to_inner_on_key import SemiJoinToInner
from optimizer.search.extract import extract
from optimizer.search.group_ways import enforcing, implementation_way
from optimizer.search.search import Search
from planscope import Estimator, Optimizer, Replay, Session, Settings, Trace
from tests.golden import tables
from tests.golden.test_golden import FILES, read
from tests.reference.compare import assert_same_bag, rows_of
from tests.search.graphs import SHAPES, GraphQuery, graph_query
from tests.search.planning import plan, planned_alike, recomputed_cost
from tests.search.snapshot import snapshot
from tests.search.test_memo import DropLimit, DropTrueFilter

CROSSED = {"cross_products": True}
OTHER_SPACES = (
    {"enumeration": "left_deep", "seed": "none"},
    {"enumeration": "rules", **CROSSED},
    {"enumeration": "duplicate_free_rules", **CROSSED},
)


def iterative(query: GraphQuery, **settings: object) -> tuple[Search, Goal]:
    return plan(query, driver="iterative", **settings)


def budgets(steps: int) -> list[int]:
    """Each of the first tasks, when plans change most, then every fourth, and all."""
    return [budget for budget in range(1, steps + 1) if budget <= 15 or budget % 4 == 0 or budget >= steps - 1]


def assert_consistent(search: Search, goal: Goal) -> None:
    """The goal's cost is that of the plan it leads to."""
    again = recomputed_cost(search, extract(search, goal), search.cost)
    assert again == pytest.approx(goal.best_cost, rel=1e-9)


@pytest.mark.few(2)
@pytest.mark.parametrize("settings", OTHER_SPACES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_it_finds_the_optimum_of_other_spaces(shape: str, settings: dict[str, object]) -> None:
    """Left-deep orders only; orders with cross products, each join generated once or many times."""
    for seed in range(2):
        query = graph_query(shape, 4, seed)
        search, goal = iterative(query, **settings)
        assert_consistent(search, goal)
        assert goal.best_cost == pytest.approx(plan(query, **settings)[1].best_cost, rel=1e-9)
        if settings["enumeration"] == "duplicate_free_rules":
            assert search.memo.duplicates == 0


@pytest.mark.few(4)
@pytest.mark.parametrize("settings", [{}, {"enumeration": "rules"}, {"enumeration": "left_deep"}], ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_budget_gives_a_plan_and_more_never_a_dearer_one(shape: str, settings: dict[str, object]) -> None:
    query = graph_query(shape, 4 if shape in ("chain", "star") else 3, 7)
    whole, end = iterative(query, **settings)
    steps = whole.counters.tasks
    assert steps > 10
    costs = []
    for budget in budgets(steps):
        search, goal = iterative(query, budget_tasks=budget, **settings)
        assert_consistent(search, goal)
        assert search.counters.proven is (goal.status is Status.OPTIMAL) is (budget == steps)
        assert all(group.lower <= goal.best_cost for group in [search.memo.group(goal.group)])
        costs.append(goal.best_cost)
    assert all(later <= earlier for earlier, later in pairwise(costs))
    assert costs[-1] == end.best_cost
    assert costs[-1] < costs[0] or len(query.scans) < 4, "the first plan was the best already"


def test_plans_of_every_budget_run(tmp_path: Path) -> None:
    """On data with NULLs and duplicates, with joins of several kinds, grouping and order."""
    catalog = open_dataset(tables.write(tmp_path / "data", 0))
    sql = """select a.y, count(*) as n, sum(b.x) as total from a join b on a.k = b.k join c on b.y = c.y left join e on c.x = e.x
        where a.x >= 0 group by a.y order by a.y"""
    expected = rows_of(Session(catalog).sql(sql).table)
    assert expected
    steps = Optimizer(catalog, Settings(driver="iterative")).optimize(sql).search.tasks
    for budget in budgets(steps):
        assert_same_bag(expected, rows_of(Session(catalog, Settings(driver="iterative", budget_tasks=budget)).sql(sql).table))


BUDGETS = [{"budget_mexprs": 12}, {"budget_groups": 8}, {"budget_ms": 1}, {"budget_tasks": 20}]


@pytest.mark.parametrize("limit", BUDGETS, ids=str)
def test_a_budget_that_ends_a_search_leaves_a_plan_and_is_told(limit: dict[str, object]) -> None:
    for enumeration in ("adaptive", "rules"):
        query = graph_query("clique", 6, 2)
        search, goal = iterative(query, enumeration=enumeration, **limit)
        assert goal.status is Status.ABANDONED
        assert not search.counters.proven
        assert_consistent(search, goal)
        assert search.memo.logical_count < 400
        ((budget, most),) = limit.items()
        assert search.counters.budget.startswith(f"{budget}={most} ended the search") or enumeration != "rules"


@pytest.mark.parametrize("name", ["tpch/q03", "tpch/q05", "tpch/q10"])
@pytest.mark.parametrize("enumeration", ["adaptive", "rules"])
def test_tpch(name: str, enumeration: str, tpch: Catalog) -> None:
    planned_alike(tpch, [resolve_sql(name)], [{}, {"driver": "iterative"}], enumeration=enumeration)


@pytest.mark.slow
def test_every_golden_query_costs_the_same(tmp_path: Path) -> None:
    """All operators and all rules, with the settings of each case."""
    catalog = open_dataset(tables.write(tmp_path / "data", 0))
    compared = 0
    for path in FILES:
        for case in read(path)[1][:2]:
            settings = Settings.from_pairs(case.settings)
            exhaustive = Optimizer(catalog, settings.replace(pruning="none")).optimize(case.sql)
            query = Optimizer(catalog, settings.replace(driver="iterative")).optimize(case.sql)
            assert query.cost == pytest.approx(exhaustive.cost, rel=1e-9), f"{case.rule}: {case.title}"
            assert query.search.proven == exhaustive.search.proven
            compared += 1
    assert compared > 150


# -- merges -----------------------------------------------------------------------------------------------------------------


def merging_search(driver: str, budget: int = 0, trace: Trace | None = None) -> tuple[Search, Goal]:
    """σ(A ⟕ B) ∪ σ(σTRUE(A) ⟕ B): that A and σTRUE(A) are one makes what is above them one, level by level."""
    columns = Columns()

    def values(rows: int) -> tuple[Tree, ColumnRef]:
        column = columns.new("v", pa.int64(), False)
        lines = tuple((Literal(i, pa.int64()),) for i in range(rows))
        return Tree(Values((column.id,), (pa.int64(),), lines)), ColumnRef(column.id, pa.int64())

    settings = Settings(driver=driver, budget_tasks=budget)
    cost = ArrowCost()
    memo = Memo(Figures(Estimator(Catalog("none", []), columns), cost), trace, columns.label)
    rules = rule_set(settings, (*TRANSFORMATIONS, DropTrueFilter(), DropLimit()), IMPLEMENTATIONS)
    search = IterativeSearch(memo, rules, RuleContext(columns, settings), cost, trace)
    (a, x), (b, y) = values(3), values(5)

    def joined(left: Tree) -> Tree:
        pairs = Tree(Join(JoinKind.LEFT, (compare("=", x, y),)), (left, b))
        return Tree(Filter((compare("<", x, Literal(2, pa.int64())),)), (pairs,))

    out = columns.new("v", pa.int64(), False)
    union = SetOp(SetOpKind.UNION, True, (out.id,), ((x.id,), (x.id,)))
    return search, search.run(Tree(union, (joined(a), joined(Tree(Filter(()), (a,))))))


def test_groups_that_turn_out_to_be_one_are_costed_anew() -> None:
    trace = Trace()
    trace.header("merging", {}, "")
    search, goal = merging_search("iterative", trace=trace)
    assert search.memo.merges >= 3
    assert search.counters.reopened["new expressions"] >= 1
    assert goal.status is Status.OPTIMAL
    assert_consistent(search, goal)
    assert goal.best_cost == pytest.approx(merging_search("top_down")[1].best_cost, rel=1e-9)
    replayed = Replay(trace.events).final()
    live = snapshot(search)
    assert replayed.groups == live.groups
    assert replayed == live


def test_a_trace_with_merges_is_the_same_each_time(tpch: Catalog) -> None:
    told = set()
    for _ in range(3):
        trace = Trace()
        assert Optimizer(tpch, Settings(driver="iterative")).optimize(resolve_sql("tpch/q18"), trace).search.merges
        told.add(repr([{name: value for name, value in event.items() if name not in ("t", "ms")} for event in trace.events]))
    assert len(told) == 1


def costed_from_nothing(search: Search) -> dict[Goal, float]:
    """The best plans of all open goals over what is implemented: every way of each is listed, and costs fall until none does."""
    memo = search.memo
    goals = [goal for goal in memo.goals if goal.opened]
    ways = {goal: list(enforcing(search, goal)) for goal in goals}
    for goal in goals:
        for mexpr in memo.groups[goal.group].members():
            for physical in mexpr.physical:
                ways[goal] += [implementation_way(search, goal, mexpr, physical, a) for a in alternatives(memo, goal, physical)]
    best = dict.fromkeys(goals, float("inf"))
    while True:
        old = dict(best)
        for goal in goals:
            best[goal] = min((way.local + sum(best[below] for below in way.inputs) for way in ways[goal]), default=float("inf"))
        if best == old:
            return best


MANY_MERGES = """select s_name, sum(n) from (
      select s_name, count(*) n from supplier, lineitem where l_suppkey = s_suppkey and l_partkey in (
        select p_partkey from part where p_brand in (select p_brand from part where p_size = 1)) group by s_name
      union all select s_name, sum(l_linenumber) from supplier, lineitem where l_suppkey = s_suppkey and l_partkey in (
        select p_partkey from part where p_brand in (select p_brand from part where p_size = 1)) group by s_name) x
    group by s_name order by s_name"""


@pytest.fixture
def by_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inner joins made of semi joins are regrouped by pairs, so many groups turn out to be one."""
    monkeypatch.setattr(SemiJoinToInner, "closes_in", ("no enumeration",))


@pytest.mark.usefixtures("by_pairs")
@pytest.mark.parametrize("name", ["tpch/q18", "tpch/q20", MANY_MERGES], ids=["q18", "q20", "many"])
def test_after_a_merge_goals_cost_what_they_cost_from_nothing(name: str, tpch: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = 0

    def merged(driver: Iterative) -> None:
        nonlocal checked
        unite(driver)
        memo = driver.search.memo
        assert all(memo.find(goal.group) == goal.group for goal in memo.goals if goal.opened)
        for goal, cost in costed_from_nothing(driver.search).items():
            assert goal.best_cost == pytest.approx(cost, rel=1e-9), f"goal {goal.id} of group {goal.group}"
            checked += 1

    unite = Iterative._merged
    monkeypatch.setattr(Iterative, "_merged", merged)
    settings = Settings(driver="iterative", disable=("arithmetic_within_bounds",))  # q20 would have one form
    query = Optimizer(tpch, settings).optimize(resolve_sql(name))
    assert query.search.proven
    assert query.search.merges >= (4 if name == MANY_MERGES else 1)
    assert checked > 20


@pytest.mark.usefixtures("by_pairs")
def test_what_an_expression_costs_at_least_is_asked_anew_after_a_merge(tpch: Catalog) -> None:
    """The rows of a group are those of the one it becomes, so the cost of its expressions may fall."""
    sql = """select l_quantity from lineitem
        join (select s_suppkey from supplier group by rollup (s_suppkey)) s on l_suppkey = s_suppkey
        join part on l_partkey join partsupp on s_suppkey = ps_suppkey
        where exists (select 1 from lineitem i where i.l_partkey = p_partkey)
        and exists (select 1 from partsupp i join supplier j on i.ps_suppkey where i.ps_suppkey = s.s_suppkey)"""
    query = Optimizer(tpch, Settings(driver="iterative")).optimize(sql)
    assert query.search.proven and query.search.merges > 10


@pytest.mark.usefixtures("by_pairs")
def test_costs_are_those_of_the_group_that_an_expression_is_in_after_a_merge(tpch: Catalog) -> None:
    """Where groups merge while goals are costed, a goal of the one that is gone is worked on until the search begins anew."""
    sql = """select count(n_nationkey), count(distinct c.c_acctbal), count(*)
        from customer c left join nation n on c_nationkey = n_nationkey semi join supplier s on c_nationkey = s.s_nationkey
        semi join supplier t on n_nationkey = t.s_nationkey full join supplier u on c_nationkey = u.s_nationkey
        where exists (select s_acctbal from supplier i where i.s_nationkey = u.s_nationkey and s_acctbal between 0 and 7000
            group by 1 having count(*) > 1)
        and n_nationkey >= any (select i.n_nationkey from nation i join supplier j on i.n_nationkey = j.s_nationkey
            and j.s_nationkey between 3 and 7 where i.n_regionkey = n.n_regionkey and i.n_nationkey < all (
                select k.n_nationkey from nation k where k.n_nationkey = j.s_nationkey and k.n_nationkey >= 3))
        and n_name in ('FRANCE', 'GERMANY', 'BRAZIL')"""
    settings = Settings(split_share=1.0)
    at_once = Optimizer(tpch, settings.replace(exploration="interleaved")).optimize(sql)
    assert at_once.search.merges > 10 and at_once.search.proven
    assert at_once.cost == pytest.approx(Optimizer(tpch, settings).optimize(sql).cost, rel=1e-9)


def test_every_budget_gives_a_plan_while_groups_merge() -> None:
    steps = merging_search("iterative")[0].counters.tasks
    for budget in budgets(steps):
        search, goal = merging_search("iterative", budget)
        assert_consistent(search, goal)
        for group in search.memo.live_groups():
            for mexpr in group.logical:
                assert all(search.memo.find(p.group) == group.id and p.inputs == mexpr.inputs for p in mexpr.physical)


# -- the queue --------------------------------------------------------------------------------------------------------------


def test_importance_falls_from_the_root() -> None:
    search, goal = iterative(graph_query("cycle", 5, 3), enumeration="rules")
    memo = search.memo
    found = importances(memo, goal.group)
    assert set(found) == {group.id for group in memo.live_groups()}
    assert found[goal.group] == 1.0
    for group in memo.live_groups():
        parents = [found[memo.find(parent.group)] for parent in group.parents]
        if parents:
            assert 0.0 < found[group.id] <= CEILING * max(parents)


def test_bindings_are_seen_once() -> None:
    """With cross products RS-B1 applies J + K times, whatever the order of matches (see test_rule_sets)."""
    for n, expected in ((3, 12 + 6), (4, 50 + 60), (5, 180 + 390)):
        search, _ = iterative(graph_query("chain", n, 1), enumeration="rules", **CROSSED)
        fired = search.counters.rules_fired
        assert fired["join_commute"] + fired["join_associate"] == expected


def test_a_region_too_large_to_search_has_a_greedy_order() -> None:
    query = graph_query("star", 40, 1)
    search, goal = iterative(query)
    assert goal.status is Status.BOUNDED
    assert not search.counters.proven
    assert "connected subgraphs" in search.counters.heuristic
    assert_consistent(search, goal)


@pytest.mark.parametrize("settings", [{}, {"enumeration": "rules"}], ids=str)
def test_the_plan_space_is_that_of_the_task_stack(settings: dict[str, object]) -> None:
    """Also where a budget left matches in the queue: whoever looks at the space explores the rest."""
    query = graph_query("cycle", 4, 5)
    expected = full_space(plan(query, pruning="none", **settings)[0])
    for budget in (0, 1, 30, 60):
        space = full_space(iterative(query, budget_tasks=budget, **settings)[0])
        assert space.count == expected.count, budget
        assert space.best_cost == pytest.approx(expected.best_cost, rel=1e-9)
