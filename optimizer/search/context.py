"""What all tasks share: the memo, the rules, the cost model, the goals, the stack, the budgets. It does nothing by itself.

`Search` (`search.py`) is the driver over it. Tasks know this class and no driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Protocol
from weakref import ref

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.traits import TraitSet, reduce_traits
from optimizer.cost.model import CostModel, Reruns, linear_joins
from optimizer.memo.goal import INFINITY, Goal, Implementation, Split, Status, Way
from optimizer.memo.group import Group
from optimizer.memo.memo import Memo
from optimizer.memo.mexpr import LogicalExpr, PhysicalExpr
from optimizer.plugin_code import number_from, written_in
from optimizer.rules.interface import RuleContext
from optimizer.rules.rule_set import RuleSet
from optimizer.search.counters import Counters
from optimizer.trace.recorder import Trace

RESULTS = {
    Status.OPTIMAL: "win", Status.BOUNDED: "bounded", Status.BELOW: "fail", Status.IMPOSSIBLE: "impossible",
    Status.ABANDONED: "abandoned",
}  # fmt: skip


class Task:
    """One step popped from the stack. It may push further tasks; it never calls one."""

    __slots__ = ("id",)
    id: int

    def perform(self, search: SearchContext) -> None:
        raise AssertionError(f"{type(self).__name__} does nothing")

    def describe(self, search: SearchContext) -> str:
        """The one-line form for traces."""
        return type(self).__name__


class Source(Protocol):
    """Where the ways of a goal come from. `each`: alternatives that are costed when one of its ways is worked through, 0 where
    they are counted when they are listed. `enough`: a plan that costs no more is not improved. `bounded`: its bounds cut ways
    whatever the search prunes."""

    each: int
    bounded: bool
    enough: float

    def ready(self, search: SearchContext, goal: Goal, limit: float) -> bool:
        """Whether the ways of a goal can be listed. If not, what has to run before was pushed, above the goal asked anew."""
        ...

    def ways(self, search: SearchContext, goal: Goal) -> tuple[list[Way], float]:
        """The ways that the goal's limit and best plan leave, cheapest bound first, and the least bound of the others."""
        ...

    def expressions(self, search: SearchContext, goal: Goal, way: Way) -> list[Way]:
        """The logical expressions of a split for which no join was chosen yet."""
        ...

    def costed(self, search: SearchContext, goal: Goal) -> list[Way]:
        """The ways that were costed to the end, for those who look."""
        ...

    def implementation(self, search: SearchContext, goal: Goal, way: Way) -> Implementation:
        """The physical operator of a way: for the chosen plan, and for those who look."""
        ...


class Sources(Protocol):
    """Which source a goal has; goals of groups; what sets of relations give, and groups for them; whether what they took for
    granted of the memo is no longer so; which joins that rules make stay in their places."""

    def of(self, goal: Goal) -> Source: ...

    def goal(self, search: SearchContext, group: Group, required: TraitSet) -> Goal: ...

    def output(self, goal: Goal) -> tuple[ColumnSet, float]: ...

    def group(self, goal: Goal) -> int: ...

    def outgrown(self) -> bool: ...

    def stay(self, made: list[LogicalExpr]) -> bool: ...


TIE = 4e-12  # of a cost: plans that differ by less cost the same, since bounds leave room for rounding


class SearchContext:
    """`stack`: tasks, the last runs next. Goals are searched with inclusive limits. `stale`: a group grew after something was
    concluded about it; the driver then begins anew over the larger memo."""

    sources: Sources
    explores_first = True  # a group is explored before it has goals, so its bound holds for them; where it grows they begin anew

    def __init__(self, memo: Memo, rules: RuleSet, context: RuleContext, cost: CostModel, trace: Trace | None = None) -> None:
        self.memo, self.rules, self.cost, self.trace = memo, rules, cost, trace
        settings = context.settings
        by_rules = settings.enumeration not in ("adaptive", "partition", "left_deep")
        self.context = context._replace(grouped_share=memo.grouped_share, join_graph=memo.join_graph if by_rules else None)
        exact = not settings.gap and not settings.epsilon  # a plan that is not the best may lie above a limit the optimum keeps
        self.pass_limits = settings.pruning in ("upper", "both") and exact
        self.use_bounds = settings.pruning in ("lower", "both")
        self.prune = settings.pruning not in ("none", "dominance")
        self.dominance = settings.pruning in ("dominance", "lower", "both")
        self.linear = linear_joins(cost)
        self.orders_cost = self.use_bounds and self.linear is not None  # no rows in an order cost less than rows in any
        self.grace = 1.0 + max(settings.gap, TIE)
        self.exploration = settings.exploration
        self.known_regions = settings.enumeration == "duplicate_free_rules"  # a join whose region has a group is that group
        self.open_splits = False  # a join that may raise is beside a join graph: rules have to see its splits like other joins
        self.hurried = False  # a budget is spent: ways are left out
        self.orderless = False  # of these, the alternatives that ask an input for an order
        self.forbidden: dict[str, str] = {}  # physical operators that cost infinity -> where that is written
        self.stack: list[Task] = []
        self.counters = Counters()
        self.root: Goal | None = None
        self.stale = False
        self._known: dict[tuple[int, TraitSet], Goal] = {}
        self._pushed = 0
        self.deadline = perf_counter() + settings.budget_ms / 1000 if settings.budget_ms else INFINITY
        self._most_groups = settings.budget_groups or INFINITY
        self._most_mexprs = settings.budget_mexprs or INFINITY

    def barred(self, rule: str) -> int:
        """The bits of the rules that are never tried on what this rule makes."""
        return 0 if self.open_splits else self.rules.barred.get(rule, 0)

    def push(self, task: Task) -> None:
        if self.trace is not None:
            task.id = self._pushed
            self._pushed += 1
            self.trace.emit("task_push", id=task.id, name=type(task).__name__, parent=self.trace.task, text=task.describe(self))
        self.stack.append(task)

    def late(self) -> bool:
        """Whether the time allowed is over."""
        return self.deadline < INFINITY and perf_counter() > self.deadline

    def may_explore(self) -> bool:
        """Whether transformation rules may still add to the memo. Once they may not, nothing is proven any more: what was
        not explored might have been cheaper. The query as given is in the memo before the first rule, so there is a plan."""
        if self.memo.logical_count < self._most_mexprs and len(self.memo.groups) < self._most_groups:
            return True
        if not self.counters.budget:
            self.spent("budget_mexprs" if self.memo.logical_count >= self._most_mexprs else "budget_groups")
            if self.trace is not None:
                self.trace.emit("budget", mexprs=self.memo.logical_count, left=len(self.stack))
        return False

    def spent(self, setting: str) -> None:
        """A budget is spent: nothing is proven any more."""
        counters = self.counters
        counters.proven = False
        if not counters.budget:
            counters.budget = f"{setting}={getattr(self.context.settings, setting)} ended the search{self.fired_most()}"

    def fired_most(self) -> str:
        """The transformation rule that made most of the memo, as the end of a sentence."""
        fired = [(self.counters.rules_fired[rule.name], rule.name) for rule in self.rules.transformations]
        times, rule = max(fired, default=(0, ""))
        return f"; of the transformation rules {rule} fired most, {times:,} times" if times else ""

    # -- goals --------------------------------------------------------------------------------------------------------------

    def goal(self, gid: int, required: TraitSet) -> Goal:
        """The goal of a group for traits, reduced in the group's context."""
        known = self._known.get((gid, required))
        if known is None:
            group = self.memo.group(gid)
            reduced = reduce_traits(required, group.props)
            known = group.goals.get(reduced)
            if known is None:
                known = self.sources.goal(self, group, reduced)
            self._known[gid, required] = group.goals[reduced] = known
        return known

    def open(self, goal: Goal, limit: float) -> None:
        """A search of a goal begins."""
        goal.opened += 1
        because = "first" if goal.opened == 1 else "budget" if goal.status is Status.ABANDONED else "limit"
        if self.trace is not None:
            self.trace.emit("goal_open", goal=goal.id, limit=limit, attempt=goal.opened, because=because)
        goal.status, goal.limit = Status.OPEN, limit
        goal.next, goal.asked = 0, None
        self.counters.goals_opened += 1
        if goal.opened > 1:
            self.counters.reopened[because] += 1

    def output(self, goal: Goal) -> tuple[ColumnSet, float]:
        """The columns and the estimated rows of a goal's plans."""
        if goal.group < 0:
            return self.sources.output(goal)
        group = self.memo.group(goal.group)
        return group.props.columns, group.stats.rows

    def outdated(self) -> bool:
        """Whether the memo grew after something was concluded about it."""
        self.stale = self.stale or self.sources.outgrown()
        return self.stale

    def forget_merged(self) -> None:
        """Forget which goals stood for traits of groups that are no more; goals of all others stay."""
        find = self.memo.find
        self._known = {key: goal for key, goal in self._known.items() if find(key[0]) == key[0] == goal.group}

    def cut(self, goal: Goal, bound: float) -> bool:
        """Whether a plan that costs at least `bound` can neither meet the goal's limit nor beat its best plan."""
        grace = self.grace if goal.best_cost <= goal.limit else 1.0
        return self.prune and (bound > goal.limit or bound * grace >= goal.best_cost)

    # -- costs --------------------------------------------------------------------------------------------------------------

    def least(self, mexpr: LogicalExpr) -> float:
        """The cheapest local cost that any implementation of `mexpr` can have."""
        if mexpr.least < 0.0:
            own = self.memo.group(mexpr.group)
            inputs = [self.memo.group(g).stats for g in mexpr.inputs]
            each = self.cost.least(mexpr.op, own.stats, inputs)
            runs = self.memo.runs(own)
            if runs > 1.0:
                each += (runs - 1.0) * (self.cost.least_rerun(mexpr.op) if isinstance(self.cost, Reruns) else each)
            if type(each) is not float or not 0.0 <= each < INFINITY:
                finite = max([own.stats.rows, *(stats.rows for stats in inputs)]) < INFINITY
                said = f"the cost model {self.cost.name} says that {mexpr.op.name} costs at least"
                each = number_from(said, each, finite, self.cost.least)
            mexpr.least = each
        return mexpr.least

    def expression_bound(self, mexpr: LogicalExpr) -> float:
        """What any plan through a logical expression costs at least: its cheapest local cost and its inputs' bounds."""
        if not self.use_bounds:
            return 0.0
        groups = self.memo.groups
        return self.least(mexpr) + sum(groups[gid].lower for gid in mexpr.inputs)

    def local_cost(self, goal: Goal, physical: PhysicalExpr, delivered: TraitSet) -> float:
        """Local cost of a physical expression, computed and counted once for each delivered traits."""
        known = physical.costs.get(delivered)
        if known is None:
            groups = self.memo.groups
            known = self.local(groups[physical.group], physical.op, delivered, [groups[g] for g in physical.inputs])
            physical.costs[delivered] = known
            self.counters.costed += 1
            if self.trace is not None:
                traits = delivered.show(self.context.columns.label)
                self.trace.emit("cost", goal=goal.id, mexpr=physical.id, local=known, delivered=traits)
        return known

    def local(self, group: Group, op: PhysicalOperator, delivered: TraitSet, inputs: Sequence[Group]) -> float:
        """Local cost of an operator in a group, over all evaluations of the group."""
        stats = [each.stats for each in inputs]
        first, runs = self.cost.local(op, delivered, group.stats, stats), self.memo.runs(group)
        if type(first) is not float or not 0.0 <= first < INFINITY:
            first = number_from(f"the cost model {self.cost.name} gives {op.name} the cost", first, by=self.cost.local)
            if first == INFINITY and op.name not in self.forbidden:
                self.forbidden[op.name] = written_in(self.cost.local) or written_in(getattr(op, "cost", None))
        if runs == 1.0:
            return first
        if not isinstance(self.cost, Reruns):
            return runs * first
        kept = [not each.outer and not each.volatile for each in inputs]
        return first + (runs - 1.0) * self.cost.rerun(op, delivered, group.stats, stats, kept)

    # -- what traces are told -----------------------------------------------------------------------------------------------

    def emit_goal(self, goal: Goal, **region: object) -> None:
        """A goal was made; `region`: what a set of relations has beside that."""
        if self.trace is not None:
            traits = goal.required.show(self.context.columns.label)
            self.trace.emit("goal", goal=goal.id, group=goal.group, traits=traits, lower=goal.lower, **region)

    def emit_limit(self, goal: Goal, old: float, new: float, source: Goal) -> None:
        """What a plan for a goal may cost changed: by a limit that goal `source` passes down, or by a cheaper plan of its own."""
        if self.trace is not None and old != new < INFINITY:
            self.trace.emit("limit", goal=goal.id, old=old, new=new, source=source.id)

    def emit_best(self, goal: Goal, old: float) -> None:
        """A cheaper plan was found."""
        if self.trace is not None:
            label, way = self.context.columns.label, goal.way
            assert way is not None
            if isinstance(way.what, Split):
                mexpr, op, detail, delivered = None, way.what.method.name, "", "any"
            else:
                assert isinstance(way.what, Implementation)
                chosen = way.what
                mexpr = None if chosen.mexpr is None else chosen.mexpr.id
                op, detail, delivered = chosen.op.name, chosen.op.describe(label), chosen.alternative.delivered.show(label)
            self.trace.emit(
                "best", goal=goal.id, mexpr=mexpr, op=op, detail=detail, local=way.local, cost=goal.best_cost, old=old,
                inputs=[i.id for i in way.inputs], delivered=delivered, split=isinstance(way.what, Split),
            )  # fmt: skip

    def emit_recost(self, goals: Sequence[Goal]) -> None:
        """Plans were forgotten, since groups that turned out to be one may have made them dearer."""
        if self.trace is not None:
            self.trace.emit("recost", goals=[goal.id for goal in goals], plans=len(goals))

    def emit_prune(self, goal: Goal, way: Way, mechanism: str, lower: float, limit: float = INFINITY, **parts: list[int]) -> None:
        """A way was cut: by what, and with which numbers; for a split of sets that are no goals also their relations. `limit`: of
        a plan that is known and was not added up yet."""
        if self.trace is not None:
            what = way.what
            mexpr = what if isinstance(what, LogicalExpr) else what.mexpr if isinstance(what, Implementation) else None
            sources = list(what.inputs) if isinstance(what, LogicalExpr) else [i.id for i in way.inputs]
            fields = {"split": [what.left, what.right], **parts} if isinstance(what, Split) else {}
            local = self.least(what) if isinstance(what, LogicalExpr) else way.local
            spent = local + sum(i.best_cost for i in way.inputs if i.settled)
            self.trace.emit(
                "prune", goal=goal.id, mexpr=None if mexpr is None else mexpr.id, mechanism=mechanism, local=local, spent=spent,
                lower=lower, limit=min(limit, goal.limit, goal.best_cost), sources=sources, **fields,
            )  # fmt: skip

    def emit_close(self, goal: Goal) -> None:
        if self.trace is not None:
            result = RESULTS[goal.status]
            self.trace.emit("goal_close", goal=goal.id, result=result, cost=goal.best_cost, lower=goal.lower, limit=goal.limit)

    # -- what tasks ask of the driver ---------------------------------------------------------------------------------------

    def ask(self, goal: Goal, limit: float = INFINITY) -> None:
        """Have a goal searched next, under an inclusive limit."""
        raise AssertionError("a context without a driver")

    def arrived(self, new: list[LogicalExpr]) -> None:
        """Have new logical expressions explored, costed for the goals that are open, and seen by the rules above them."""
        raise AssertionError("a context without a driver")


class OfSearch:
    """What a search made for itself and asks it back: it holds the search weakly, so that all of a search is freed at once."""

    def __init__(self, search: SearchContext) -> None:
        self._search = ref(search)

    @property
    def search(self) -> SearchContext:
        search = self._search()
        assert search is not None, "the search is gone"
        return search
