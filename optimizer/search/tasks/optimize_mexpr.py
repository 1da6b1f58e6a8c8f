"""OptimizeMExpr: implement one logical multi-expression and cost it for a goal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.memo.goal import Candidate, Goal, Status
from optimizer.memo.group import LogicalExpr
from optimizer.search.alternatives import alternatives
from optimizer.search.tasks.apply_rules import ApplyRules
from optimizer.search.tasks.optimize_inputs import OptimizeInputs
from optimizer.search.tasks.task import Task

if TYPE_CHECKING:
    from optimizer.search.search import Search


class OptimizeMExpr(Task):
    """Implement a logical expression, unless its bound says that no plan through it can matter, and cost it for a goal.

    OptimizeMExpr(goal, e) …  →  ApplyRules(e, implement) OptimizeMExpr(goal, e) …          not implemented yet
    OptimizeMExpr(goal, e) …  →  OptimizeInputs(cheapest) OptimizeInputs(dearer) …          candidates within the bounds
    """

    __slots__ = ("goal", "mexpr")

    def __init__(self, goal: Goal, mexpr: LogicalExpr) -> None:
        self.goal, self.mexpr = goal, mexpr

    def perform(self, search: Search) -> None:
        goal, mexpr = self.goal, self.mexpr
        if mexpr.dropped:  # a merge found it to be the same as another, which the goal has too
            goal.waiting.pop(mexpr, None)
            return
        bound = search.expression_bound(mexpr)
        goal.waiting[mexpr] = bound
        if search.cut(goal, bound):
            search.counters.pruned["group_bound"] += 1
            if search.trace is not None:
                search.trace.emit(
                    "prune", goal=goal.id, mexpr=mexpr.id, mechanism="group_bound", spent=search.least(mexpr),
                    lower=bound, limit=min(goal.limit, goal.best_cost), sources=list(mexpr.inputs),
                )  # fmt: skip
            return
        if not mexpr.implemented:
            search.push(self)
            search.push(ApplyRules(mexpr, implement=True))
            return
        del goal.waiting[mexpr]
        made: list[tuple[float, int, Candidate]] = []
        for physical in mexpr.physical:
            for alternative in alternatives(search, goal, physical):
                inputs = tuple(search.goal(g, t) for g, t in zip(physical.inputs, alternative.inputs, strict=True))
                if any(i.status is Status.OPEN for i in inputs):
                    search.counters.cycles += 1
                    if search.trace is not None:
                        search.trace.emit("cycle", goal=goal.id, mexpr=physical.id)
                    continue
                local = search.local_cost(goal, physical, alternative.delivered)
                candidate = Candidate(goal, physical, physical.op, alternative, inputs, local)
                goal.candidates.append(candidate)
                search.counters.candidates += 1
                made.append((local + sum(search.lower(i) for i in inputs), len(made), candidate))
        made.sort(reverse=True)
        for _, _, candidate in made:
            search.push(OptimizeInputs(candidate))

    def describe(self, search: Search) -> str:
        traits = self.goal.required.show(search.context.columns.label)
        return f"optimize expression {self.mexpr.id} of group {self.goal.group} for {traits}"
