"""Bugs that real optimizers had, put into ours one by one: some check notices each within a few random queries.

The bugs are those of §1.7 of the algorithms and of the list of pitfalls (S1 to S11, S14, S16 to S22, T3, T6, T7), and wrong
joins, splits and rows of regions, by tasks and by table. The checks are brute force, the plan's cost computed anew, the audit,
the sequence of limits of §1.9, counts of searches, and the assertions in the search. Without a mutation none of them complains
about the same queries.
"""

from collections.abc import Callable
from functools import cache
from math import nextafter
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from optimizer.algebra.traits import ANY
from optimizer.cost.arrow import ArrowCost
from optimizer.errors import NoPlan
from optimizer.figures import Figures
from optimizer.joins.graph import joins_of
from optimizer.joins.set_splits import SetSplits
from optimizer.joins.set_table import SetTable, Starts
from optimizer.memo.goal import INFINITY, Goal, Status
from optimizer.search import group_ways, region_start, regions
from optimizer.search import search as driver
from optimizer.search.group_ways import GroupWays
from optimizer.search.region_ways import RegionWays
from optimizer.search.search import Search
from optimizer.search.set_goals import SetGoals
from optimizer.search.set_orders import SetOrders
from optimizer.search.tasks import optimize_inputs, optimize_mexpr
from optimizer.search.tasks.derive_traits import DeriveTraits
from optimizer.search.tasks.explore_input import ExploreInput, ExploreMExpr
from optimizer.search.tasks.group_optimized import GroupOptimized
from optimizer.search.tasks.optimize_group import OptimizeGroup
from optimizer.search.tasks.optimize_inputs import OptimizeInputs
from optimizer.search.tasks.optimize_mexpr import OptimizeMExpr
from tests.search import test_audit, test_dead_ends, test_memo, test_trait_plans
from tests.search.independent.options import HASH, MERGE
from tests.search.mutations import Override, Query, noticed, plant, random_query, too_high
from tests.search.random_settings import Options

RULES: Options = {"enumeration": "rules", "seed": "none"}
LIMITS: Options = {**RULES, "pruning": "upper"}
ON_DEMAND: Options = {**RULES, "exploration": "on_demand"}
INTERLEAVED: Options = {**RULES, "exploration": "interleaved"}
WITHOUT_HASH: Options = {"enumeration": "rules", "disable": (HASH,)}
TASKS: Options = {"region": "tasks", "seed": "none"}
SEEDED: Options = {"region": "tasks"}
TASKS_WITHOUT_BOUNDS: Options = {"region": "tasks", "pruning": "upper", "disable": (MERGE,)}
TASKS_WITHOUT_HASH: Options = {"region": "tasks", "disable": (HASH,)}
LEFT_DEEP: Options = {"region": "tasks", "enumeration": "left_deep"}
GAP: Options = {"region": "tasks", "gap": 0.2}
TABLE: Options = {"region": "table"}
TABLE_WITHOUT_HASH: Options = {"region": "table", "disable": (HASH,)}

QUERIES = 20

WRONG = {
    "dearer than the optimum", "cheaper than the optimum", "plan costs another amount", "dearer under a limit",
    "wrong answer to a limit", "audit", "assertion", "no plan", "refuted",
}  # fmt: skip
WORK = {"more work", "never ends", "searched again under no larger limit"}

Task = Callable[[Any, Search], None]


# -- conclusions ----------------------------------------------------------------------------------------------------------------


def concluding(change: Callable[[Goal], None], where: Status = Status.BELOW) -> Override:
    """What GroupOptimized concludes, changed where it concludes `where`."""

    def make(emit: Callable[[Search, Goal], None]) -> Callable[[Search, Goal], None]:
        def emit_close(search: Search, goal: Goal) -> None:
            if goal.status is where:
                change(goal)
            emit(search, goal)

        return emit_close

    return Search, "emit_close", make


def no_plan(goal: Goal) -> None:
    goal.status, goal.lower = Status.IMPOSSIBLE, INFINITY


def a_winner_of_infinite_cost(goal: Goal) -> None:
    goal.status, goal.settled = Status.OPTIMAL, True


def nothing_learnt(goal: Goal) -> None:
    goal.lower = 0.0


def as_cheap_as_its_plan(goal: Goal) -> None:
    goal.lower = goal.best_cost


def before(task: type, change: Callable[[Any, Search], None]) -> Override:
    """A task that does something else first."""

    def make(perform: Task) -> Task:
        def mutated(self: Any, search: Search) -> None:
            change(self, search)
            perform(self, search)

        return mutated

    return task, "perform", make


def take_any_plan(task: GroupOptimized, search: Search) -> None:
    if task.goal.best_cost < INFINITY:
        task.goal.dropped = INFINITY


def spend_the_best_plan(task: OptimizeInputs, search: Search) -> None:
    goal = task.goal
    if goal.best_cost < goal.limit < INFINITY:
        goal.limit -= goal.best_cost


def take_the_winner_of_another(task: OptimizeGroup, search: Search) -> None:
    goal = task.goal
    for other in search.memo.group(goal.group).goals.values() if goal.required == ANY and not goal.opened else ():
        if other is not goal and other.settled and other.way is not None:
            goal.way, goal.best_cost, goal.lower = other.way, other.best_cost, other.best_cost
            goal.settled, goal.status = True, Status.OPTIMAL


def forget_the_first_limit(task: OptimizeGroup, search: Search) -> None:
    if not task.goal.opened:
        task.limit = INFINITY


def explored_is_implemented(task: OptimizeMExpr, search: Search) -> None:
    task.way.what.implemented |= search.memo.group(task.goal.group).explored


def explored_already(task: ExploreInput, search: Search) -> None:
    search.memo.group(task.gid).explored = True


# -- limits, bounds and ways ----------------------------------------------------------------------------------------------------


def asking(limit_of: Callable[[Goal, float, Goal | None], float]) -> Override:
    """Another limit for what is asked: by the goal, what is left for it, and the goal that asks (None: the caller)."""

    def make(ask: Callable[..., None]) -> Callable[..., None]:
        def mutated(search: Search, goal: Goal, limit: float = INFINITY) -> None:
            top = search.stack[-1] if search.stack else None
            asks = top.goal if isinstance(top, OptimizeInputs) else None
            ask(search, goal, limit_of(goal, limit, asks))

        return mutated

    return Search, "ask", make


def of_the_limit_alone(goal: Goal, left: float, asks: Goal | None) -> float:
    return left if asks is None else left + asks.limit - min(asks.limit, asks.best_cost) if asks.limit < INFINITY else INFINITY


def of_the_whole(goal: Goal, left: float, asks: Goal | None) -> float:
    return left if asks is None else min(asks.limit, asks.best_cost)


def instead(new: Any) -> Callable[[Any], Any]:
    return lambda old: new


def nothing(*args: Any) -> None:
    pass


def ends_the_loop(add: Callable[..., None]) -> Callable[..., None]:
    """Once an alternative of an expression is too dear, those that follow are not listed."""
    ended: set[tuple[int, int, int]] = set()

    def add_way(search: Search, goal: Goal, way: Any) -> None:
        key = id(search), goal.id, way.what.mexpr.id
        if search.cut(goal, way.bound):
            ended.add(key)
        if key not in ended:
            add(search, goal, way)

    return add_way


def explores_without_a_limit(ready: Callable[..., bool]) -> Callable[..., bool]:
    return lambda source, search, goal, limit: limit < INFINITY or ready(source, search, goal, limit)


def cut_for_good(ways: Callable[..., Any]) -> Callable[..., Any]:
    def mutated(source: GroupWays, search: Search, goal: Goal) -> Any:
        kept, dropped = ways(source, search, goal)
        goal.listed = {way.number: way for way in kept}
        return kept, dropped

    return mutated


def fed_by_themselves(enforcing: Callable[..., Any]) -> Callable[..., Any]:
    return lambda search, goal: [way._replace(inputs=(goal,)) for way in enforcing(search, goal)]


def dearer_unless_settled(local: float, inputs: tuple[Goal, ...]) -> float:
    return local + sum(below.lower * (1.0 if below.settled else 1.3) for below in inputs)


def times(factor: float) -> Callable[[Any], Any]:
    """A function whose result is multiplied."""
    return lambda old: lambda *args: factor * old(*args)


def nothing_for_traits(passed: Callable[..., Any]) -> Callable[..., Any]:
    return lambda search, goal, physical: passed(search, goal, physical) if goal.required == ANY else []


class Unexplored(ExploreMExpr):
    __slots__ = ()

    def perform(self, search: Any) -> None:
        pass


# -- regions --------------------------------------------------------------------------------------------------------------------


def listing(change: Callable[[list[Any], float], tuple[list[Any], float]]) -> Override:
    """The splits of a set, as a search by tasks lists them, changed."""

    def make(splits: Callable[..., Any]) -> Callable[..., Any]:
        return lambda region, goal: change(*splits(region, goal))

    return RegionWays, "_splits", make


def mirrored(split: Any) -> Any:
    return split._replace(left=split.right, right=split.left)


def lists_mirrored(ways: list[Any], dropped: float) -> tuple[list[Any], float]:
    return [way._replace(what=mirrored(way.what), inputs=way.inputs[::-1]) for way in ways], dropped


def chooses_mirrored(cheapest: Callable[..., Any]) -> Callable[..., Any]:
    def mutated(*args: Any) -> Any:
        split, local = cheapest(*args)
        return mirrored(split), local

    return mutated


def without_loops(methods: Callable[..., Any]) -> Callable[..., Any]:
    return lambda hash, loop, merge: methods(hash, False, merge)


def without_the_last_split(splitter: Callable[..., Any]) -> Callable[..., Any]:
    def mutated(*args: Any, **named: Any) -> Any:
        splits = splitter(*args, **named)
        return lambda s: splits(s)[:-1] or splits(s)

    return mutated


def one_direction(expressions: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: expressions(*args)[:1]


def without_the_first_split(cost: Callable[..., Any]) -> Callable[..., Any]:
    def mutated(table: SetTable, level: Any, some: Any, local: Any) -> Any:
        found = cost(table, level, some, local)
        found[level.starts[np.diff(level.starts, append=len(found)) > 1]] = INFINITY
        return found

    return mutated


def the_first_split(of: Callable[..., Any]) -> Callable[..., Any]:
    def mutated(splits: SetSplits, s: int) -> Any:
        at, level, its = of(splits, s)
        return at, level, slice(its.start, its.start + 1)

    return mutated


def kept_by_no_merge_join(starts: Callable[..., Starts]) -> Callable[..., Starts]:
    def mutated(*args: Any) -> Starts:
        right = starts(*args)
        return right._replace(shared=0, alone=right.shared | right.alone)

    return mutated


def without_costs_of_relations(make: Callable[..., None]) -> Callable[..., None]:
    return lambda table, *args: make(table, *args[:5], [0.0] * len(args[5]), *args[6:])


def twice_the_rows_of_pairs(region_rows: Callable[..., Any]) -> Callable[..., Any]:
    def mutated(*args: Any) -> Any:
        right = region_rows(*args)

        def rows(s: int) -> float:
            return float(right.rows(s)) * (2.0 if s.bit_count() == 2 else 1.0)

        return SimpleNamespace(rows=rows, vector=lambda sets: np.array([rows(s) for s in sets.tolist()]))

    return mutated


def a_seed_without_a_plan(install: Callable[..., None]) -> Callable[..., None]:
    def mutated(region: RegionWays, tree: Any) -> None:
        install(region, tree)
        for a, b in joins_of(tree):
            region.sets[a | b].goal.way = None

    return mutated


class Mutation(NamedTuple):
    """`pitfall`: its row in the lists, or what of a region's joins is wrong; `by`: the checks that may be the first to notice."""

    name: str
    pitfall: str
    override: Override
    settings: Options
    by: set[str]


def bug(name: str, pitfall: str, override: Override, *settings: Options, by: set[str] = WRONG) -> list[Mutation]:
    """One bug under one setting or several."""
    return [Mutation(name, pitfall, override, each, by) for each in settings]


MUTATIONS = (
    *bug("a failure is remembered as there being no plan", "S1, §1.7", concluding(no_plan), LIMITS, TASKS),
    *bug("the first complete plan is the winner, whatever its limit cut", "§1.7", before(GroupOptimized, take_any_plan), LIMITS,
        TASKS_WITHOUT_BOUNDS),
    *bug("after a plan is found the limit is what it leaves of the old one", "S7, §1.7",
        before(OptimizeInputs, spend_the_best_plan), LIMITS),
    *bug("failures are not remembered", "S2, §1.7", concluding(nothing_learnt), LIMITS, by={*WRONG, *WORK}),
    *bug("a seed is a bound without a plan", "§1.7", (RegionWays, "install", a_seed_without_a_plan), SEEDED),
    *bug("plans that cost exactly the limit are cut", "S10", asking(lambda goal, left, asks: nextafter(left, 0.0)), RULES, TASKS),
    *bug("an input's own bound is counted against its limit", "S8",
        asking(lambda goal, left, asks: left if asks is None else left - goal.lower), RULES, TASKS),
    *bug("an input gets the limit of the whole", "S8, §1.7", asking(of_the_whole), LIMITS, by=WORK),
    *bug("limits are not tightened by the best plan", "S4", asking(of_the_limit_alone), LIMITS, by=WORK),
    *bug("the first finite limit is ignored", "S3", before(OptimizeGroup, forget_the_first_limit), LIMITS, by={*WRONG, *WORK}),
    *bug("rounding is not allowed for in limits", "S11", (optimize_inputs, "SLACK", instead(0.0)), TASKS),
    *bug("an alternative that is too dear ends the loop over all", "S9", (optimize_mexpr, "add_way", ends_the_loop), RULES),
    *bug("a split that is too dear ends the loop, although they are not in order", "S9",
        listing(lambda ways, dropped: (ways[::-1], dropped)), SEEDED, TASKS_WITHOUT_BOUNDS, by={*WRONG, *WORK}),
    *bug("what a stronger goal found is the winner of a weaker one", "S16", before(OptimizeGroup, take_the_winner_of_another),
        WITHOUT_HASH),
    *bug("explored is taken for implemented", "S17", before(OptimizeMExpr, explored_is_implemented), RULES, by={"no plan"}),
    *bug("a group counts as explored before anything of it is", "S17", before(ExploreInput, explored_already), RULES),
    *bug("a group that is being explored does not explore what arrives late", "S18",
        (driver, "ExploreMExpr", instead(Unexplored)), RULES),
    *bug("an open goal is not told of what arrives late", "S19", (Search, "_tell", instead(nothing)), INTERLEAVED),
    *bug("a goal under a limit does not explore its group", "S20", (GroupWays, "ready", explores_without_a_limit), ON_DEMAND),
    *bug("a goal is settled before its group is explored", "S20", (GroupOptimized, "_explores", instead(nothing)),
        INTERLEAVED),
    *bug("an enforcer is fed by the goal that it serves", "S21", (group_ways, "enforcing", fed_by_themselves), RULES, TASKS,
        TABLE),
    *bug("the bound of groups is too high", "S14, §1.5", (ArrowCost, "lower_bound", times(1.3)), RULES),
    *bug("the bound of sets of relations is too high", "S14, §1.5", (region_start, "set_bound", too_high(1.3)), TASKS),
    *bug("the bound of sets in an order is too high", "S14, §1.5", (SetTable, "_kept", times(1.3)), TABLE),
    *bug("no merge join keeps an order in the table", "S14, §1.5", (SetOrders, "starts", kept_by_no_merge_join),
        TABLE_WITHOUT_HASH),
    *bug("an input that is not settled is expected to cost more than its bound", "§1.7",
        (group_ways, "at_least", instead(dearer_unless_settled)), RULES),
    *bug("what a limit cut is never tried again", "T6, §1.3", (GroupWays, "ways", cut_for_good), RULES, by={*WRONG, *WORK}),
    *bug("splits that a bound dropped leave no trace in what is proved", "S1", listing(lambda ways, dropped: (ways, INFINITY)),
        TASKS),
    *bug("a plan within the gap is taken for a lower bound", "§1.6", concluding(as_cheap_as_its_plan, Status.BOUNDED), GAP),
    *bug("nothing is passed through", "T7",
        (optimize_mexpr, "passed_through", nothing_for_traits),
        RULES, WITHOUT_HASH),
    *bug("a seed is no plan of the space", "§5", (region_start, "one_by_one", instead(lambda tree: True)), LEFT_DEEP,
        by={"cheaper than the optimum"}),
    *bug("a join of sets builds on the other side", "build side", listing(lists_mirrored), TASKS),
    *bug("the table builds on the other side", "build side", (SetGoals, "_cheapest", chooses_mirrored), TABLE),
    *bug("sets are not joined by nested loops", "methods", (regions, "Methods", without_loops), TASKS_WITHOUT_BOUNDS, TABLE),
    *bug("the last split of a set is not looked at", "splits", (region_start, "splitter", without_the_last_split), TASKS,
        TASKS_WITHOUT_BOUNDS, TASKS_WITHOUT_HASH),
    *bug("sets are joined in one direction", "splits", (RegionWays, "expressions", one_direction), TASKS_WITHOUT_HASH,
        TABLE_WITHOUT_HASH),
    *bug("the table is filled without the first split of a set", "splits", (SetTable, "_cost", without_the_first_split), TABLE,
        TABLE_WITHOUT_HASH),
    *bug("the table has a cost and a split of another cost", "splits", (SetSplits, "of", the_first_split), TABLE,
        TABLE_WITHOUT_HASH),
    *bug("the table joins relations that cost nothing", "costs", (SetTable, "__init__", without_costs_of_relations), TABLE),
    *bug("joins cost more in the table", "costs", (SetTable, "_cost", times(1.5)), TABLE, TABLE_WITHOUT_HASH),
    *bug("sets have other rows than their groups", "rows", (Figures, "region_rows", twice_the_rows_of_pairs), TASKS, TABLE),
)  # fmt: skip


class Elsewhere(NamedTuple):
    """A mutation that random join graphs do not show, and the test of another file that notices it."""

    name: str
    pitfall: str
    override: Override
    test: Callable[[], None]


def budgets() -> None:
    test_dead_ends.test_every_budget_ends_with_a_complete_plan({"enumeration": "rules"})


ELSEWHERE = (
    Elsewhere("no plan is a winner of infinite cost", "S5", concluding(a_winner_of_infinite_cost, Status.IMPOSSIBLE),
        lambda: test_dead_ends.test_a_goal_that_nobody_can_meet_is_impossible({"enumeration": "rules"}, "join")),
    Elsewhere("a goal that is its own input is searched again", "S6, S21",
        (optimize_inputs, "Status", instead(SimpleNamespace(OPEN=None, IMPOSSIBLE=Status.IMPOSSIBLE))),
        lambda: test_audit.test_groups_that_contain_each_other("none")),
    Elsewhere("parents do not see a new member of an input", "S18, S19", (Search, "_rebind", instead(nothing)),
        test_memo.test_a_late_member_reaches_patterns_that_look_deeper),
    Elsewhere("what inputs can deliver is not looked at", "T3", (DeriveTraits, "perform", instead(nothing)),
        test_trait_plans.test_a_merge_join_takes_its_keys_in_the_order_its_inputs_have),
    Elsewhere("a spent budget leaves no plan", "S22", (Search, "_take_first_plan", instead(nothing)), budgets),
    Elsewhere("a spent budget leaves goals open", "S22",
        (driver, "Status", instead(SimpleNamespace(OPEN=Status.OPEN, IMPOSSIBLE=Status.IMPOSSIBLE, ABANDONED=Status.OPEN))),
        budgets),
)  # fmt: skip


@cache
def known(number: int, settings: tuple[tuple[str, Any], ...]) -> Query:
    """A query as it is planned, and nobody complains about, while nothing is mutated."""
    options = dict(settings)
    query = random_query(number, options, 5 if "region" in options else 4)
    assert noticed(query, options) is None
    return query


@pytest.mark.few(5)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: f"{mutation.name}, {mutation.settings}")
def test_a_mutation_is_noticed(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(QUERIES):
        query = known(number, tuple(mutation.settings.items()))
        with monkeypatch.context() as mutated:
            plant(mutation.override, mutated)
            check = noticed(query, mutation.settings)
        if check is not None:
            assert check in mutation.by
            return
    pytest.fail(f"nobody noticed in {QUERIES} queries: {mutation.name} ({mutation.pitfall})")


@pytest.mark.parametrize("mutation", ELSEWHERE, ids=lambda mutation: mutation.name)
def test_a_mutation_is_noticed_elsewhere(mutation: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation.test()
    plant(mutation.override, monkeypatch)
    with pytest.raises((AssertionError, NoPlan)):
        mutation.test()
