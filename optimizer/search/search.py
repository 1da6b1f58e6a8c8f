"""The driver of the task stack, and what all tasks share.

First everything reachable is explored: transformation rules run to a fixpoint, groups are merged where a rule shows two to
be one. Then the root goal is optimized: groups are implemented and costed only as far as the bounds let plans through.
Exploration is never pruned, so which plans exist does not depend on bounds; bounds only skip costing.
"""

from __future__ import annotations

from time import perf_counter

from optimizer.algebra.traits import ANY, TraitSet, reduce_traits
from optimizer.algebra.trees import Tree
from optimizer.cost.model import CostModel
from optimizer.errors import NoPlan
from optimizer.memo.goal import INFINITY, Goal, Status
from optimizer.memo.group import LogicalExpr, PhysicalExpr
from optimizer.memo.memo import Memo
from optimizer.rules.catalog import RuleSet
from optimizer.rules.interface import RuleContext
from optimizer.search.counters import Counters
from optimizer.search.failures import why_no_plan
from optimizer.search.tasks.apply_rule import ApplyRule
from optimizer.search.tasks.explore_input import ExploreInput, ExploreMExpr
from optimizer.search.tasks.optimize_group import OptimizeGroup
from optimizer.search.tasks.task import Task
from optimizer.trace.recorder import Trace


class Search:
    """One search over one memo. `stack`: tasks, the last runs next. Goals are searched with inclusive limits.

    `finishing`: a budget is spent. What was found stays, and goals without a plan get one from the first expression of
    their group, the query as it was given; that takes a few tasks for each operator of the query, and proves nothing.
    """

    def __init__(self, memo: Memo, rules: RuleSet, context: RuleContext, cost: CostModel, trace: Trace | None = None) -> None:
        self.memo, self.rules, self.context, self.cost, self.trace = memo, rules, context, cost, trace
        self.pass_limits = context.settings.pruning in ("upper", "both")
        self.use_bounds = context.settings.pruning in ("lower", "both")
        self.prune = context.settings.pruning != "none"
        self.finishing = False
        self.stack: list[Task] = []
        self.counters = Counters()
        self.root: Goal | None = None
        self._goals: dict[tuple[int, TraitSet], Goal] = {}
        self._deep = tuple((1 << i, rule) for i, rule in enumerate(rules.transformations) if rule.pattern.depth > 1)
        self._deepest = max((rule.pattern.depth for rule in rules.transformations), default=1)
        self._next_task = 0
        self._budget = context.settings.budget_tasks or INFINITY
        milliseconds = context.settings.budget_ms
        self._deadline = perf_counter() + milliseconds / 1000 if milliseconds else INFINITY
        self._most_mexprs = context.settings.budget_mexprs or INFINITY

    # -- running ----------------------------------------------------------------------------------------------------------

    def explore(self, tree: Tree) -> int:
        """Insert the query and apply transformation rules to a fixpoint. Returns the root group."""
        root, _ = self.memo.insert(tree)
        self.push(ExploreInput(root))
        self._drain()
        if self.memo.merges:  # a merged group may be cheaper than the bounds of its parents assumed
            for group in self.memo.live_groups():
                group.lower = 0.0
                if self.trace is not None:
                    self.trace.emit("lower", group=group.id, lower=0.0, because="merge")
        return self.memo.find(root)

    def optimize(self, root: int, required: TraitSet = ANY, limit: float = INFINITY) -> Goal:
        """Search the root group for `required` under an inclusive limit; the goal says what was found or proved."""
        goal = self.goal(root, required)
        self.root = goal
        if self.trace is not None:
            self.trace.emit("root", goal=goal.id)
        if not self.finishing:
            self.push(OptimizeGroup(goal, limit))
            self._drain()
        if self.finishing and goal.best is None:
            self._budget = INFINITY
            self.push(OptimizeGroup(goal, INFINITY))
            self._drain()
        return goal

    def run(self, tree: Tree, required: TraitSet = ANY) -> Goal:
        """Explore, then optimize; the returned goal has a plan. Raises NoPlan."""
        goal = self.optimize(self.explore(tree), required)
        if goal.best is None:
            raise NoPlan(why_no_plan(self, goal))
        return goal

    def push(self, task: Task) -> None:
        if self.trace is not None:
            task.id = self._next_task
            self._next_task += 1
            self.trace.emit("task_push", id=task.id, name=type(task).__name__, parent=self.trace.task, text=task.describe(self))
        self.stack.append(task)

    def _drain(self) -> None:
        stack, counters, trace = self.stack, self.counters, self.trace
        while stack:
            if counters.tasks >= self._budget or (self._deadline < INFINITY and perf_counter() > self._deadline):
                self._abandon()
                return
            task = stack.pop()
            counters.tasks += 1
            if trace is None:
                task.perform(self)
            else:
                trace.task = task.id
                trace.emit("task_start", id=task.id)
                task.perform(self)
                trace.emit("task_end", id=task.id)
                trace.task = None

    def _abandon(self) -> None:
        """The budget is spent: every open goal is left as it stands, and nothing more is proved."""
        if self.trace is not None:
            self.trace.emit("budget", tasks=self.counters.tasks, left=[task.id for task in self.stack])
        self.stack.clear()
        self.finishing = True
        self.prune = False
        self._deadline = INFINITY
        self.counters.proven = False
        for goal in self.memo.goals:
            if goal.status is Status.OPEN:
                goal.status = Status.ABANDONED
                if self.trace is not None:
                    self.trace.emit("goal_close", goal=goal.id, result="abandoned", cost=goal.best_cost, lower=goal.lower)

    # -- goals and bounds ---------------------------------------------------------------------------------------------------

    def goal(self, gid: int, required: TraitSet) -> Goal:
        """The goal of a group for traits, reduced in the group's context."""
        known = self._goals.get((gid, required))
        if known is None:
            group = self.memo.group(gid)
            reduced = reduce_traits(required, group.props)
            made = len(self.memo.goals)
            known = self.memo.goal(group.id, reduced, group.lower if self.use_bounds else 0.0)
            self._goals[gid, required] = known
            if self.trace is not None and len(self.memo.goals) > made:
                traits = reduced.show(self.context.columns.label)
                self.trace.emit("goal", goal=known.id, group=group.id, traits=traits, lower=known.lower)
        return known

    def lower(self, goal: Goal) -> float:
        """What a plan for `goal` costs at least, as proved so far.

        The optimum for any traits is no bound for stronger traits: a requirement passed through may reach an order that
        the group's own alternatives never ask for, and so a cheaper plan.
        """
        return goal.lower

    def expected(self, goal: Goal) -> float:
        """What an input costs, or at least costs: its plan's cost once it is settled, else its bound."""
        return goal.best_cost if self.finishing and goal.best is not None else self.lower(goal)

    def least(self, mexpr: LogicalExpr) -> float:
        """The cheapest local cost that any implementation of `mexpr` can have."""
        if mexpr.least < 0.0:
            group = self.memo.groups
            out = group[mexpr.group].stats
            mexpr.least = self.cost.least(mexpr.op, out, [self.memo.group(g).stats for g in mexpr.inputs])
        return mexpr.least

    def expression_bound(self, mexpr: LogicalExpr) -> float:
        """What any plan through a logical expression costs at least: its cheapest local cost and its inputs' bounds."""
        bound = self.least(mexpr) if self.use_bounds else 0.0
        groups = self.memo.groups
        if self.use_bounds:
            for gid in mexpr.inputs:
                bound += groups[gid].lower
        return bound

    def local_cost(self, goal: Goal, physical: PhysicalExpr, delivered: TraitSet) -> float:
        """Local cost of a physical expression, computed once for each delivered traits."""
        known = physical.costs.get(delivered)
        if known is None:
            groups = self.memo.groups
            stats = groups[goal.group].stats
            known = self.cost.local(physical.op, delivered, stats, [groups[g].stats for g in physical.inputs])
            assert known >= 0.0, f"{self.cost.name} gives {physical.op.name} the negative cost {known}"
            physical.costs[delivered] = known
            self.counters.costed += 1
            if self.trace is not None:
                traits = delivered.show(self.context.columns.label)
                self.trace.emit("cost", goal=goal.id, mexpr=physical.id, local=known, delivered=traits)
        return known

    def open_goal(self, goal: Goal, limit: float) -> None:
        self.push(OptimizeGroup(goal, limit))

    def cut(self, goal: Goal, bound: float) -> bool:
        """Whether a plan that costs at least `bound` can neither meet the goal's limit nor beat its best plan."""
        return self.prune and (bound > goal.limit or bound >= goal.best_cost)

    def may_explore(self) -> bool:
        """Whether transformation rules may still add to the memo. Once they may not, nothing is proven any more: what was
        not explored might have been cheaper. The query as given is in the memo before the first rule, so there is a plan."""
        if self.memo.logical_count < self._most_mexprs:
            return True
        if self.counters.proven:
            self.counters.proven = False
            if self.trace is not None:
                self.trace.emit("budget", mexprs=self.memo.logical_count, left=len(self.stack))
        return False

    # -- after rules --------------------------------------------------------------------------------------------------------

    def schedule_new(self, new: list[LogicalExpr]) -> None:
        """Explore new logical expressions, and let rules that have already bound their parents see them.

        Members of groups that are still to be explored need no task: exploring the group will find them.
        """
        for mexpr in new:
            group = self.memo.group(mexpr.group)
            self._rebind(group.parents, [mexpr])
            if group.exploring or group.explored:
                self.push(ExploreMExpr(mexpr))
        while self.memo.news:
            parents, members = self.memo.news.pop()
            self._rebind(parents, members)
            for mexpr in members:
                group = self.memo.group(mexpr.group)
                if group.exploring or group.explored:
                    self.push(ExploreMExpr(mexpr))

    def _rebind(self, parents: list[LogicalExpr], members: list[LogicalExpr]) -> None:
        """Let rules that have already bound above see new members: as many levels up as their patterns look down."""
        scheduled: set[tuple[int, int]] = set()
        level = parents
        for distance in range(1, self._deepest):
            for parent in level:
                for bit, rule in self._deep:
                    if rule.pattern.depth > distance and parent.applied & bit and (parent.id, bit) not in scheduled:
                        scheduled.add((parent.id, bit))
                        for mexpr in members:
                            self.push(ApplyRule(rule, parent, mexpr))
            if distance + 1 < self._deepest:
                level = [above for parent in level for above in self.memo.group(parent.group).parents]
