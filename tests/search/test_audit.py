"""The audit finds nothing in searches that are right, and the first false claim in searches that are not; the ledger it reads.

Covers S7, S8 and S20 of the list of pitfalls by what they do to a search: a skip that a cheaper plan went through.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from experiments.workloads.queries import resolve_sql
from optimizer.algebra import Filter, Limit, Literal, Tree, Values
from optimizer.audit.audit import AuditReport, audit
from optimizer.audit.ledger import Best, Claim, Ledger, Opening, Skip
from optimizer.cost.arrow import ArrowCost
from optimizer.engines.arrow import COST_MODELS
from optimizer.joins.set_table import SetTable
from optimizer.memo.bounds import lower_bounds_fall, lower_bounds_rise
from optimizer.memo.goal import Goal, Status
from optimizer.memo.group import Group
from optimizer.search import group_ways, region_start
from optimizer.search.tasks import optimize_inputs
from planscope import Optimizer, Settings, Trace
from tests.cost.random_models import random_model
from tests.search.graphs import SHAPES, graph_query
from tests.search.independent.options import HASH, MERGE, MODES
from tests.search.mutations import plant, too_high
from tests.search.planning import new_search, plan, traced
from tests.search.random_settings import random_loose_settings, random_settings
from tests.search.stored_tables import catalog, table
from tests.search.test_memo import Bench


def audited(shape: str, n: int, number: int, **settings: Any) -> AuditReport:
    return audit(*traced(graph_query(shape, n, number), **settings))


@pytest.mark.parametrize(
    ("shape", "n", "numbers", "settings"),
    [
        *(("cycle", 5, (2,), {"budget_tasks": budget, "expand_joins": expand}) for budget in (5, 40, 120) for expand in (0, 5)),
        # left to a heuristic: BOUNDED promises its lower bound, not its plan
        ("clique", 5, (1,), {"exact_below": 0, "exact_sets": 10}),
        # what a split over parts that ended early was costed at is no bound: their optima may be lower
        ("random", 6, range(8),
         {"pruning": "upper", "disable": (MERGE,), "expand_joins": 0, "seed": "greedy", "gap": 0.2, "epsilon": 0.3}),
    ],
)  # fmt: skip
def test_searches_that_end_early_are_sound(shape: str, n: int, numbers: Sequence[int], settings: dict[str, Any]) -> None:
    for number in numbers:
        search, trace = traced(graph_query(shape, n, number), **settings)
        report = audit(search, trace)
        assert report.sound, f"{number}: {report}"
        assert "gap" in settings or not search.counters.proven
        assert "exact_sets" not in settings or (search.root is not None and search.root.status is Status.BOUNDED)


def test_a_group_that_is_not_explored_yet_bounds_no_goal() -> None:
    """The iterative driver makes goals while groups have their first expression alone."""
    tables = catalog(table("b", 20000, {"i": 20000, "k": 540}, key="i"), table("c", 20000, {"j": 17239, "k": 20000}, key="k"))
    sql, trace = "select b.k, c.k, count(distinct b.i) from c join b on c.j = b.k group by b.k, c.k", Trace()
    query = Optimizer(tables, Settings(driver="iterative", cost_model="c_out")).optimize(sql, trace)
    report = audit(query.engine, trace)
    assert report.sound and report.complete, report


def test_goals_of_regions_that_a_restart_made_anew_are_left_out() -> None:
    tables = catalog(table("t", 100, {"k": 7}), table("u", 300, {"id": 300}, order="id"))
    trace = Trace()
    sql = "select x.k from t x cross join u y join u z on y.id where exists (select 1 where z.id)"
    query = Optimizer(tables, Settings(exploration="interleaved", decorrelate="cost")).optimize(sql, trace)
    assert query.engine.counters.reopened["new expressions"] and audit(query.engine, trace).sound


@pytest.mark.parametrize("seed", range(40))
def test_searches_are_sound(seed: int) -> None:
    """Random queries under random settings, every other with a gap, an epsilon or both; the later ones with random
    coefficients."""
    random = Random(f"audit {seed}")
    shape = SHAPES[seed % len(SHAPES)]
    n = random.randrange(3, 6) if shape in ("clique", "random") else random.randrange(3, 7)
    settings = random_loose_settings(random) if seed % 2 else random_settings(random)
    model = random_model(random) if seed >= 24 else None
    search, trace = traced(graph_query(shape, n, seed), model, **settings)
    report = audit(search, trace)
    assert report.sound, f"{search.cost.name}, {settings}: {report}"
    assert report.goals > n
    assert report.bounds >= report.goals
    nothing_to_skip = settings["pruning"] in MODES[:2] or settings["driver"] == "iterative" or "table" in search.regions.methods()
    assert nothing_to_skip or sum(report.skips.values())


def test_every_mechanism_was_audited() -> None:
    total: Counter[str] = Counter()
    for settings in ({"enumeration": "rules", "seed": "none"}, {"region": "tasks"}, {"pruning": "upper"}):
        for seed in range(3):
            total.update(audited("cycle", 5, seed, **settings).skips)
    assert set(total) == {"group_bound", "predicted", "accumulated", "limit"}
    assert all(total.values())


TPCH_SETTINGS: list[dict[str, Any]] = [
    {}, {"exploration": "on_demand"}, {"enumeration": "rules"}, {"pruning": "upper"}, {"expand_joins": 0, "gap": 0.1},
    {"cost_model": "c_mm"}, {"cost_model": "spark"},
]  # fmt: skip


@pytest.mark.parametrize("name", ["q03", "q05"])
@pytest.mark.parametrize("settings", TPCH_SETTINGS, ids=str)
def test_tpch_is_sound(tpch, name: str, settings: dict[str, Any]) -> None:
    trace = Trace()
    planned = Optimizer(tpch, Settings(**settings)).optimize(resolve_sql(f"tpch/{name}"), trace)
    before = planned.search.as_dict()
    report = audit(planned.engine, trace)
    assert report.sound, str(report)
    assert sum(report.skips.values())
    assert planned.search.as_dict() == before


TABLES: list[dict[str, Any]] = [
    {}, {"pruning": "none", "disable": (MERGE,)}, {"disable": (HASH,)}, {"enumeration": "left_deep"}, {"gap": 0.2},
]  # fmt: skip


@pytest.mark.parametrize("settings", TABLES, ids=str)
def test_tables_are_sound(settings: dict[str, Any]) -> None:
    """What a table says of each set: its optimum where merge joins need not be looked at, else a bound."""
    for seed in range(5):
        search, trace = traced(graph_query(SHAPES[seed], 5 - seed % 2, seed), region="table", **settings)
        report = audit(search, trace)
        assert report.sound, f"{seed}: {report}"
        (region,) = search.regions.made
        assert region.method == "table"
        assert report.bounds > region.size
        assert region.exact == (HASH not in settings.get("disable", ()))


@pytest.fixture
def no_look_at_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search itself refuses costs below its bounds; here it is for the audit to find what is wrong with them."""
    for module in (group_ways, optimize_inputs):
        monkeypatch.setattr(module, "ALMOST", 0.0)


@pytest.mark.usefixtures("no_look_at_bounds")
@pytest.mark.parametrize(("factor", "disabled"), [(0.9, MERGE), (1.1, MERGE), (1.5, HASH)])
def test_a_wrong_cost_in_a_table_is_found(monkeypatch: pytest.MonkeyPatch, factor: float, disabled: str) -> None:
    """Costs of joins that are too low or too high; a table of bounds is only wrong when it is too high."""
    cost = SetTable._cost
    monkeypatch.setattr(SetTable, "_cost", lambda self, *where: factor * cost(self, *where))
    finding = first_finding({"region": "table", "disable": (disabled,)}).finding
    assert finding is not None
    assert (finding.claimed > finding.true) == (factor > 1)


@pytest.mark.parametrize("mode", ["none", "dominance", "upper", "lower", "both"])
def test_groups_that_contain_each_other(mode: str) -> None:
    """S6, S21: a plan never contains itself, whatever the bounds, and what is cheapest of each group is found.

    σ over A is in group B and a limit over B is in group A, as rules may show; B's own rows are the dearer way.
    """
    trace = Trace()
    bench = Bench(trace=trace)
    search, memo = bench.search, bench.memo
    search.pass_limits, search.use_bounds, search.prune = mode in ("upper", "both"), mode in ("lower", "both"), mode != "none"
    table, x = bench.values(3)
    (a, _), (b, _) = memo.insert(table), memo.insert(Tree(Values((x.id,), (x.type,), ((Literal(1, x.type),),) * 100_000)))
    memo.insert(Tree(Limit((), 0, None), (memo.binding_leaf(b),)), a, "test", 0)
    memo.insert(Tree(Filter(()), (memo.binding_leaf(a),)), b, "test", 0)
    lower_bounds_fall(memo, search.least)
    lower_bounds_rise(memo, b, search.least)
    costs = [search.optimize(gid).best_cost for gid in (b, a)]
    assert costs[1] < costs[0] < memo.group(b).stats.rows
    report = audit(search, trace)
    assert report.sound, str(report)


def first_finding(settings: dict[str, Any]) -> AuditReport:
    for seed in range(40):
        report = audited(SHAPES[seed % len(SHAPES)], 4 + seed % 2, seed, **settings)
        if not report.sound:
            return report
    pytest.fail("the audit found nothing")


def test_an_inadmissible_bound_of_join_sets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant((region_start, "set_bound", too_high(1.3)), monkeypatch)
    report = first_finding({"region": "tasks"})
    assert report.finding is not None
    assert report.finding.kind in ("bound", "skip")
    assert report.finding.claimed > report.finding.true
    assert "UNSOUND" in str(report)


class TooSure(ArrowCost):
    """Claims a third more for joins than is proved."""

    def lower_bound(self, op, output, inputs, leaves) -> float:
        return super().lower_bound(op, output, inputs, leaves) * (1.3 if len(leaves) > 1 else 1.0)


class OwnCostTooHigh(ArrowCost):
    """Claims half as much again for a join operator as the cheapest algorithm costs."""

    def least(self, op, output, inputs) -> float:
        return super().least(op, output, inputs) * (1.5 if len(inputs) > 1 else 1.0)


@pytest.mark.usefixtures("no_look_at_bounds")
@pytest.mark.parametrize("model", [TooSure, OwnCostTooHigh])
def test_an_inadmissible_bound_of_a_cost_model_is_found(monkeypatch, model: type[ArrowCost]) -> None:
    """The finding is the claim that was wrong first, with its event, the goal and both numbers."""
    monkeypatch.setitem(COST_MODELS, "arrow", model)
    report = first_finding({"enumeration": "rules"})
    finding = report.finding
    assert finding is not None
    assert finding.kind == "bound"
    assert finding.goal is not None and finding.seq is not None
    assert finding.claimed > finding.true
    assert f"goal {finding.goal}" in str(report) and repr(finding.true) in str(report)


@pytest.mark.parametrize(
    ("damage", "pruning", "message"),
    [
        (lambda root, group: setattr(root, "best_cost", root.best_cost * 1.01), "none", "there is a cheaper plan"),
        (lambda root, group: setattr(root, "best_cost", root.best_cost * 0.99), "none", "cheaper than every plan of the space"),
        (lambda root, group: setattr(root, "status", Status.IMPOSSIBLE), "none", "said to be impossible"),
        (lambda root, group: setattr(group, "lower", root.best_cost * 1.1), "both", ""),  # that no goal and no skip has used
    ],
)
def test_a_wrong_claim_is_found(damage: Callable[[Goal, Group], None], pruning: str, message: str) -> None:
    search, trace = traced(graph_query("chain", 4, 3), pruning=pruning)
    assert search.root is not None
    damage(search.root, search.memo.groups[search.root.group])
    finding = audit(search, trace).finding
    assert finding is not None and finding.kind == ("result" if message else "group") and message in finding.what


def test_an_audit_needs_the_whole_trace() -> None:
    trace = Trace(max_events=50)
    search, _ = plan(graph_query("chain", 4, 1), trace)
    with pytest.raises(ValueError, match=r"lacks [0-9,]+ events"):
        audit(search, trace)


# -- the ledger ---------------------------------------------------------------------------------------------------------------


def test_a_skip_names_who_set_its_limit_and_what_gave_its_bound() -> None:
    """For a split the bound is its own cost and that of both parts; limits come from a best plan of an asking goal."""
    sources: Counter[str] = Counter()
    for seed in range(4):
        search, trace = traced(graph_query("cycle", 6, seed), region="tasks")
        ledger = Ledger(trace.events)
        plans = {(entry.goal, entry.cost) for entry in ledger.all(Best)}
        for skip in ledger.all(Skip):
            assert skip.lower > skip.limit.value or skip.lower == pytest.approx(skip.limit.value)
            sources[skip.limit.source] += 1
            if skip.limit.source in ("plan", "seed") and not skip.limit.through:
                assert (skip.limit.goal, skip.limit.value) in plans
            if skip.split is not None and skip.mechanism == "group_bound" and skip.local:  # costed by arithmetic
                assert skip.lower <= (skip.local + sum(fact.lower for fact in skip.facts)) * (1 + 1e-12)
            assert all(fact.lower <= search.memo.goals[fact.id].lower for fact in skip.facts if fact.of == "goal")
            assert str(skip).startswith(skip.what)
    assert sources["plan"] and sources["seed"]


def test_a_passed_down_limit_leads_back_to_a_plan() -> None:
    search, trace = traced(graph_query("star", 5, 4), enumeration="rules", seed="none")
    ledger = Ledger(trace.events)
    passed = [entry.limit for entry in ledger.all(Opening) if entry.limit.through]
    assert passed
    found = {entry.goal for entry in ledger.all(Best)}
    assert all(limit.goal in found and limit.value < search.memo.goals[limit.goal].limit for limit in passed)
    assert any("passed down by goal" in str(limit) for limit in passed)


def test_a_limit_of_the_caller_is_said_to_be_his() -> None:
    query = graph_query("chain", 4, 1)
    trace = Trace()
    search, goal = plan(query)
    best = goal.best_cost
    search = new_search(query, Settings(enumeration="rules", pruning="upper"), trace)
    search.optimize(search.explore(query.tree), query.order, best * (1 - 1e-9))
    ledger = Ledger(trace.events)
    assert {entry.limit.source for entry in ledger.all(Opening)} <= {"caller", "plan", "none"}
    skips = list(ledger.all(Skip))
    assert {skip.limit.source for skip in skips} == {"caller", "plan"}
    assert audit(search, trace).sound


def test_entries_follow_the_trace() -> None:
    search, trace = traced(graph_query("clique", 4, 2), enumeration="rules")
    ledger = Ledger(trace.events)
    assert [entry.seq for entry in ledger.entries] == sorted(entry.seq for entry in ledger.entries)
    kinds = Counter(event["kind"] for event in trace.events)
    for kind, entry in (("prune", Skip), ("goal_open", Opening), ("best", Best)):
        assert sum(1 for _ in ledger.all(entry)) == kinds[kind] > 0
    claims = [claim for claim in ledger.all(Claim) if search.root is not None and claim.goal == search.root.id]
    assert [claim.lower for claim in claims] == sorted(claim.lower for claim in claims)
    assert claims[-1].lower == search.root.best_cost
    assert claims[-1].why == "its cheapest plan is known"


def test_a_restart_makes_entries_void() -> None:
    """Bounds from before a restart were about a smaller memo."""
    events: list[dict[str, Any]] = [
        {"kind": "group", "id": 0, "lower": 5.0},
        {"kind": "goal", "goal": 0, "group": 0, "lower": 5.0},
        {"kind": "goal_close", "goal": 0, "result": "win", "cost": 9.0, "lower": 9.0},
        {"kind": "restart"},
        {"kind": "goal_close", "goal": 0, "result": "win", "cost": 7.0, "lower": 7.0},
    ]
    ledger = Ledger([{"seq": i, **event} for i, event in enumerate(events)])
    assert [claim.lower for claim in ledger.all(Claim)] == [7.0]
    assert len(ledger.entries) == 3
    assert len(ledger.valid()) == 1


def test_an_audit_says_so_where_the_memo_may_not_hold_everything() -> None:
    report = audit(*traced(graph_query("clique", 5, 2), region="table", budget_mexprs=60))
    assert report.sound and not report.complete and "of the plans that the memo may hold" in str(report)
    assert audit(*traced(graph_query("clique", 4, 2), region="table")).complete
