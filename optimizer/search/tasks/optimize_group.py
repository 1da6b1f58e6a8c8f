"""OptimizeGroup: settle a goal under a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.logical import Join
from optimizer.algebra.region_graph import RegionGraph
from optimizer.memo.binding import matches
from optimizer.memo.goal import INFINITY, Goal, Status
from optimizer.search.enforcer import enforcing
from optimizer.search.first_order import insert_first_order, why_not_exact
from optimizer.search.tasks.apply_rule import ApplyRule
from optimizer.search.tasks.explore_input import ExploreInput
from optimizer.search.tasks.group_optimized import GroupOptimized
from optimizer.search.tasks.optimize_inputs import OptimizeInputs
from optimizer.search.tasks.optimize_joins import OptimizeJoins
from optimizer.search.tasks.optimize_mexpr import OptimizeMExpr
from optimizer.search.tasks.task import Task

if TYPE_CHECKING:
    from optimizer.search.search import Search

RAISE_AFTER = 2  # searches of one goal after which its limit is raised beyond what is asked


class OptimizeGroup(Task):
    """Find the cheapest plan of a group with required traits, or prove that none costs at most `limit`.

        OptimizeGroup(goal, limit) …  →  …                                           settled, or failed at this limit before
        OptimizeGroup(goal, limit) …  →  OptimizeJoins(S, limit) …                   a join graph, any traits
        OptimizeGroup(goal, limit) …  →  ApplyRule(partition_joins, e) OptimizeGroup(goal, limit) …   a join graph in some order
        OptimizeGroup(goal, limit) …  →  ExploreInput(G) OptimizeGroup(goal, limit) …                 exploring on demand
        OptimizeGroup(goal, limit) …  →  OptimizeInputs(c) OptimizeMExpr(goal, e) … GroupOptimized(goal) …

    Work that looks cheapest comes first, so that a good plan soon lowers the bar for the rest. A re-opened goal keeps
    its candidates and retries only those that a limit had stopped below the new one.
    """

    __slots__ = ("goal", "limit")

    def __init__(self, goal: Goal, limit: float) -> None:
        self.goal, self.limit = goal, limit

    def perform(self, search: Search) -> None:
        goal, limit = self.goal, self.limit
        if goal.settled or goal.status is Status.IMPOSSIBLE or goal.lower > limit:
            return
        if search.finishing and goal.best_cost < INFINITY:
            return
        joins = search.joins_of(goal)
        if joins is not None and not goal.settled and goal.lower <= limit:
            search.push(OptimizeJoins(*joins, limit))
        if joins is not None:
            return
        if not search.finishing and self._explore(search):
            return
        members = search.memo.groups[goal.group].logical
        if all(isinstance(m.op, JoinGraph | RegionGraph) for m in members):  # the memo may not grow any more
            search.given(goal.group)
        assert goal.status is not Status.OPEN, f"goal {goal.id} was entered while it is open"
        goal.opened += 1
        search.counters.goals_opened += 1
        if goal.opened > 1:
            search.counters.reopened["limit"] += 1
            if goal.opened > RAISE_AFTER and limit < INFINITY:  # asked again and again with a little more: jump
                limit = max(limit, goal.lower * 2.0 ** (goal.opened - RAISE_AFTER))
        first = goal.opened == 1
        goal.limit = limit
        goal.status = Status.OPEN
        if search.trace is not None:
            search.trace.emit("goal_open", goal=goal.id, limit=limit, attempt=goal.opened, because="first" if first else "limit")
        search.push(GroupOptimized(goal))
        if first:
            self._first_look(search)
        candidates = goal.candidates
        if search.finishing:  # the query as it was given is enough
            given = search.given(goal.group)
            candidates = [c for c in candidates if c.mexpr is None or (given is not None and c.mexpr.source == given.id)]
            goal.waiting = {} if given is None or any(c.mexpr is not None for c in candidates) else {given: 0.0}
            for candidate in candidates:
                candidate.asked = -1
        work: list[tuple[float, int, Task]] = []
        for mexpr in goal.waiting:
            work.append((search.expression_bound(mexpr), len(work), OptimizeMExpr(goal, mexpr)))
        for candidate in candidates:
            if not candidate.done:
                work.append((candidate.bound, len(work), OptimizeInputs(candidate)))
        work.sort(key=lambda item: item[:2], reverse=True)
        for _, _, task in work:
            search.push(task)

    def _explore(self, search: Search) -> bool:
        """Whether something of the group must be explored first; then that is pushed, and this task below it."""
        group = search.memo.group(self.goal.group)
        for mexpr in group.logical:
            for bit, rule in search.partitioning:
                if not mexpr.applied & bit and matches(mexpr, rule.pattern):
                    why = why_not_exact(search, search.whole(mexpr)) if isinstance(mexpr.op, JoinGraph) else ""
                    if why:  # one order is all that there will be
                        mexpr.applied |= bit
                        for each in insert_first_order(search, mexpr, rule.name):
                            each.closed |= search.closed_rules[rule.name]
                            each.hidden = isinstance(each.op, Join) and search.hides(mexpr)
                        search.counters.proven, search.counters.heuristic = False, why
                        continue
                    mexpr.applied |= bit
                    search.push(self)
                    search.push(ApplyRule(rule, mexpr))
                    return True
        if search.on_demand and not group.explored and not group.exploring:
            search.push(self)
            search.push(ExploreInput(group.id))
            return True
        return False

    def _first_look(self, search: Search) -> None:
        """List what there is to try: every logical expression, and for required traits the enforcers."""
        goal = self.goal
        group = search.memo.groups[goal.group]
        goal.waiting = {mexpr: 0.0 for mexpr in group.logical if not isinstance(mexpr.op, JoinGraph | RegionGraph)}
        for candidate in enforcing(search, goal):
            candidate.bound = candidate.local + search.lower(candidate.inputs[0])
            goal.candidates.append(candidate)

    def describe(self, search: Search) -> str:
        limit = "no limit" if self.limit == float("inf") else f"limit {self.limit:.6g}"
        return f"optimize group {self.goal.group} for {self.goal.required.show(search.context.columns.label)}, {limit}"
