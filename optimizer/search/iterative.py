"""The iterative driver: rule matches from one queue, by importance, as the classic Volcano planners take them.

First the query as given is implemented, so there is a plan before any rule fires. Then the most important match is taken, again
and again: a transformation rule at a binding, or all implementation rules at an expression. What is new in the memo is
matched at once, and every plan that gets cheaper is passed up (`cost_graph`), so the root's plan is at any moment the
cheapest over all that was implemented. Memo, rules, alternatives and enforcers are those of the task stack; nothing is pruned,
no limit is passed, and bounds serve importance alone. When the queue is empty everything was tried, and the plan costs what
the task stack finds.

A binding is queued when its last expression arrives, so each is seen once, whatever the order.

`budget_tasks` and `budget_ms` count from the first plan; `budget_mexprs` and `budget_groups` stop the transformations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.logical import Join
from optimizer.algebra.traits import TraitSet
from optimizer.algebra.trees import Tree
from optimizer.joins.collect import collect_join_graphs
from optimizer.memo.binding import bindings, matches
from optimizer.memo.bounds import lower_bounds_fall
from optimizer.memo.goal import INFINITY, Goal, Status
from optimizer.memo.group import Group, LogicalExpr
from optimizer.rules.interface import TransformationRule
from optimizer.search.cost_graph import CostGraph
from optimizer.search.first_order import insert_greedy_order, why_not_exact
from optimizer.search.importance import MatchQueue
from optimizer.search.match import Match
from optimizer.search.tasks.apply_rule import apply_binding

if TYPE_CHECKING:
    from optimizer.search.search import Search

PARTITION = "partition_joins"


class Iterative:
    """One search. What it counts as tasks are the matches it took, those of the first plan included."""

    def __init__(self, search: Search) -> None:
        self.search, self.memo = search, search.memo
        self.queue = MatchQueue(search.memo)
        self.costs = CostGraph(search)
        self._budget = search.context.settings.budget_tasks or INFINITY
        self._skipped: list[Match] = []  # because the memo is as large as it may be
        self._bits = {rule.name: 1 << i for i, rule in enumerate(search.rules.transformations)}
        self._rules = tuple((1 << i, i, rule) for i, rule in enumerate(search.rules.transformations))
        self._deep = tuple((bit, i, rule) for bit, i, rule in self._rules if rule.pattern.depth > 1)
        self._deepest = max((rule.pattern.depth for rule in search.rules.transformations), default=1)

    def run(self, tree: Tree, required: TraitSet) -> Goal:
        """Search until the queue is empty or a budget is spent. The goal has the best plan found, if there is any."""
        search = self.search
        gid, new = self.memo.insert(collect_join_graphs(tree, self.search.takes) if search.join_graphs else tree)
        self._new_root(search.goal(gid, required))
        self._arrive(new)
        self._first_plan()
        while self.queue.size and not self._spent():
            self._perform(self.queue.take())
        self._conclude()
        assert search.root is not None
        return search.root

    def _new_root(self, goal: Goal) -> None:
        search = self.search
        search.root = goal
        if search.trace is not None:
            search.trace.emit("root", goal=goal.id)
        self.queue.refresh(goal.group)
        self.costs.restart(goal)

    def _spent(self) -> bool:
        search = self.search
        assert search.root is not None
        if search.root.best_cost == INFINITY:
            return False
        return search.counters.tasks >= self._budget or search.late()

    # -- steps ------------------------------------------------------------------------------------------------------------

    def _first_plan(self) -> None:
        """Implement the first expression of every group that the query as given reaches; of a join graph, one order."""
        assert self.search.root is not None
        seen: set[int] = set()
        pending = [self.search.root.group]
        while pending:
            group = self.memo.group(pending.pop())
            if group.id in seen:
                continue
            seen.add(group.id)
            if all(isinstance(mexpr.op, JoinGraph) for mexpr in group.logical):
                self._apply(PARTITION, group.logical[0])
            first = self._first_of(group)
            if first is not None:
                self._perform(Match(first))
                pending += (self.memo.find(gid) for gid in first.inputs)

    def _first_of(self, group: Group) -> LogicalExpr | None:
        """The expression given; of the splits of a join graph, that whose inputs have the fewest rows."""
        given = [mexpr for mexpr in group.logical if not isinstance(mexpr.op, JoinGraph)]
        splits = [mexpr for mexpr in given if mexpr.rule == PARTITION and isinstance(mexpr.op, Join)]
        if len(splits) == len(given):
            return min(splits, key=lambda e: (sum(self.memo.group(g).stats.rows for g in e.inputs), e.id), default=None)
        return given[0]

    def _apply(self, name: str, mexpr: LogicalExpr) -> None:
        """Apply a rule that looks at one operator now rather than when its match is taken."""
        for _, _, rule in self._rules:
            if rule.name == name:
                for bound in list(bindings(self.memo, mexpr, rule.pattern)):
                    self._perform(Match(mexpr, rule, bound))

    def _perform(self, match: Match) -> None:
        """Take one step, unless another has made it superfluous."""
        mexpr, rule, bound = match
        if mexpr.dropped or (mexpr.implemented if rule is None else self._done(mexpr, rule)):
            return
        search = self.search
        if rule is not None and self._has_plan() and not search.may_explore():
            self._skipped.append(match)
            return
        trace, counters = search.trace, search.counters
        if trace is not None:
            what = f"implementation rules for expression {mexpr.id}" if rule is None else f"{rule.name} on expression {mexpr.id}"
            name = "ApplyMatch" if rule is not None else "ImplementExpression"
            trace.emit("task_push", id=counters.tasks, name=name, parent=None, text=what)
            trace.task = counters.tasks
            trace.emit("task_start", id=counters.tasks)
        counters.tasks += 1
        if rule is None:
            search.implement(mexpr)
            self.costs.implemented(mexpr)
        else:
            assert bound is not None
            self._fire(rule, mexpr, bound)
        if trace is not None:
            trace.emit("task_end", id=trace.task)
            trace.task = None

    def _has_plan(self) -> bool:
        return self.search.root is not None and self.search.root.best_cost < INFINITY

    def _done(self, mexpr: LogicalExpr, rule: TransformationRule) -> bool:
        """Whether a rule that looks at one operator has been applied to it; of the others every binding is queued once."""
        return rule.pattern.depth == 1 and bool(mexpr.applied & self._bits[rule.name])

    def _fire(self, rule: TransformationRule, mexpr: LogicalExpr, bound: Tree) -> None:
        merges = self.memo.merges
        mexpr.applied |= self._bits[rule.name]
        new = apply_binding(self.search, rule, mexpr, bound)
        if self.memo.merges > merges:
            self._merged()
        self._arrive(new)

    # -- what is new ------------------------------------------------------------------------------------------------------

    def _arrive(self, new: Sequence[LogicalExpr]) -> None:
        """Queue every match that new expressions give, at their root or below it."""
        for mexpr in new:
            if mexpr.dropped:
                continue
            self._match_above(self.memo.group(mexpr.group).parents, mexpr)
            if isinstance(mexpr.op, JoinGraph):
                self._order_greedily(mexpr)
            else:
                self.queue.add(Match(mexpr), -1)
            for bit, rank, rule in self._rules:
                if not (mexpr.applied | mexpr.closed) & bit and matches(mexpr, rule.pattern):
                    if rule.pattern.depth > 1:
                        mexpr.applied |= bit  # from now on members that arrive below give the other bindings
                    for bound in list(bindings(self.memo, mexpr, rule.pattern)):
                        self.queue.add(Match(mexpr, rule, bound), rank)

    def _match_above(self, parents: list[LogicalExpr], fresh: LogicalExpr) -> None:
        """Queue the matches that hold a new member, as many levels up as patterns look down."""
        level = dict.fromkeys(parents)
        for distance in range(1, self._deepest):
            for parent in level:
                for bit, rank, rule in self._deep:
                    if rule.pattern.depth > distance and parent.applied & bit:
                        for bound in list(bindings(self.memo, parent, rule.pattern, fresh)):
                            self.queue.add(Match(parent, rule, bound), rank)
            if distance + 1 < self._deepest:
                level = dict.fromkeys(above for parent in level for above in self.memo.group(parent.group).parents)

    def _order_greedily(self, mexpr: LogicalExpr) -> None:
        """Give a join graph that is too large for all its orders a greedy one, and leave it at that."""
        search = self.search
        why = "" if mexpr.rule == PARTITION else why_not_exact(search, mexpr)
        if why:
            mexpr.applied |= search.partition_bit
            search.counters.proven, search.counters.heuristic = False, why
            new = insert_greedy_order(search, mexpr, PARTITION)
            for join in new:
                join.closed |= search.closed_rules.get(PARTITION, 0)
            self._arrive(new)

    def _merged(self) -> None:
        """Groups turned out to be one: goals were dropped and figures changed, so everything is costed anew.

        What was implemented of an expression that the merge dropped must not be lost: all expressions are implemented.
        """
        search, memo = self.search, self.memo
        assert search.root is not None
        for group in memo.live_groups():
            for mexpr in list(group.logical):
                if not isinstance(mexpr.op, JoinGraph) and not mexpr.implemented:
                    search.implement(mexpr)
        self._new_root(search.restart(search.root))
        while memo.news:
            parents, members = memo.news.pop()
            for mexpr in members:
                self._match_above([parent for parent in parents if not parent.dropped], mexpr)

    # -- the end ----------------------------------------------------------------------------------------------------------

    def _conclude(self) -> None:
        """Settle every goal, if the queue ran empty; else say what was left."""
        search, memo = self.search, self.memo
        left = self.queue.left()
        if left:
            search.counters.proven = False
            if search.trace is not None:
                search.trace.emit("budget", tasks=search.counters.tasks, left=[])
        left += self._skipped
        for match in left:  # whoever explores further must not take these for applied
            if match.rule is not None:
                match.mexpr.applied &= ~self._bits[match.rule.name]
        complete = search.counters.proven
        self._lower_bounds(complete)
        for group in memo.live_groups() if not left else ():
            group.explored = True
            if search.trace is not None:
                search.trace.emit("explored", group=group.id)
        for goal in memo.goals:
            if not goal.opened:
                continue
            if not complete:
                goal.status = Status.ABANDONED if left else Status.BOUNDED
                goal.lower = min(goal.lower, memo.groups[goal.group].lower)
            elif goal.best is None:
                goal.status, goal.lower = Status.IMPOSSIBLE, INFINITY
            else:
                goal.status, goal.lower, goal.settled = Status.OPTIMAL, goal.best_cost, True
            search.emit_close(goal)

    def _lower_bounds(self, complete: bool) -> None:
        """Groups were made with bounds for their first expression; others may cost less, and so may those not found yet."""
        search, memo = self.search, self.memo
        if complete and not memo.merges:
            fallen = lower_bounds_fall(memo)
        else:
            fallen = [group for group in memo.live_groups() if group.lower > 0.0]
            for group in fallen:
                group.lower = 0.0
        if search.trace is not None:
            for group in fallen:
                because = "other expressions" if complete else "not explored"
                search.trace.emit("lower", group=group.id, lower=group.lower, because=because)
