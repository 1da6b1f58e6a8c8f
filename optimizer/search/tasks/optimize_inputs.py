"""OptimizeInputs: optimize the inputs of one candidate, one after the other, as long as it can still win."""

from __future__ import annotations

from math import nextafter
from typing import TYPE_CHECKING

from optimizer.memo.goal import INFINITY, Candidate, Status
from optimizer.search.tasks.task import Task

if TYPE_CHECKING:
    from optimizer.search.search import Search

SLACK = 1e-12  # of the larger number, when a limit is made by subtraction: rounding must never cost a plan


class OptimizeInputs(Task):
    """Add up local cost, the true cost of settled inputs and the bounds of the others; stop when that is too much.

        OptimizeInputs(c) …  →  OptimizeGroup(next input, what is left) OptimizeInputs(c) …
        OptimizeInputs(c) …  →  …                                             complete, or cut

    The limit for an input is what the goal's limit (or its best plan, if cheaper) leaves after everything else that is
    known: U - local - Σ other inputs. It is read anew at each step, since another candidate may have lowered it.
    """

    __slots__ = ("candidate",)

    def __init__(self, candidate: Candidate) -> None:
        self.candidate = candidate

    def perform(self, search: Search) -> None:
        candidate = self.candidate
        goal = candidate.goal
        while True:
            total = candidate.local
            for below in candidate.inputs:
                total += search.expected(below)
            candidate.bound = total
            if search.cut(goal, total):
                self._pruned(search, self._mechanism())
                return
            if candidate.index == len(candidate.inputs):
                break
            below = candidate.inputs[candidate.index]
            if below.settled or (search.finishing and below.best_cost < INFINITY):
                candidate.index += 1
                continue
            if below.status is Status.IMPOSSIBLE or (search.finishing and candidate.asked == candidate.index):
                candidate.bound = INFINITY
                return
            if below.status is Status.OPEN:  # the goal is its own input: such a plan would never end
                candidate.bound = INFINITY
                search.counters.cycles += 1
                if search.trace is not None:
                    search.trace.emit("cycle", goal=goal.id, mexpr=None if candidate.mexpr is None else candidate.mexpr.id)
                return
            left = INFINITY
            if search.pass_limits and not search.finishing:
                ceiling = min(goal.limit, goal.best_cost)
                left = ceiling - (total - search.lower(below)) + SLACK * (ceiling if ceiling < INFINITY else 0.0)
                if below.lower > left:  # it failed, and only rounding hid that from the test above
                    candidate.bound = max(total, nextafter(ceiling, INFINITY))
                    self._pruned(search, "limit")
                    return
            candidate.asked = candidate.index
            search.push(self)
            search.push_goal(below, left)
            return
        candidate.done = True
        cost = candidate.local
        for below in candidate.inputs:
            cost += below.best_cost
        if cost < goal.best_cost:
            old, goal.best, goal.best_cost = goal.best_cost, candidate, cost
            search.emit_best(goal, candidate, old)

    def _mechanism(self) -> str:
        candidate = self.candidate
        if candidate.asked == candidate.index and candidate.inputs[candidate.asked].status is Status.BELOW:
            return "limit"
        return "accumulated" if candidate.asked >= 0 else "predicted"

    def _pruned(self, search: Search, mechanism: str) -> None:
        candidate = self.candidate
        goal = candidate.goal
        search.counters.pruned[mechanism] += 1
        if search.trace is not None:
            spent = candidate.local + sum(i.best_cost for i in candidate.inputs[: candidate.index])
            search.trace.emit(
                "prune", goal=goal.id, mexpr=None if candidate.mexpr is None else candidate.mexpr.id, mechanism=mechanism,
                spent=spent, lower=candidate.bound, limit=min(goal.limit, goal.best_cost),
                sources=[i.id for i in candidate.inputs],
            )  # fmt: skip

    def describe(self, search: Search) -> str:
        candidate = self.candidate
        what = "enforcer" if candidate.mexpr is None else f"expression {candidate.mexpr.id}"
        return f"inputs of {candidate.op.name} ({what}) for goal {candidate.goal.id}"
