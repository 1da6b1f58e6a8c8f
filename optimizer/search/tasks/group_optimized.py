"""GroupOptimized: draw the conclusion once everything pushed for a goal has drained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.memo.goal import INFINITY, Goal, Status
from optimizer.search.tasks.task import Task

if TYPE_CHECKING:
    from optimizer.search.search import Search


class GroupOptimized(Task):
    """Settle a goal: OPTIMAL when its best plan is within what every other way costs at least, else BELOW that cost.

        GroupOptimized(goal) …  →  …

    Ways that were cut keep the bound that cut them. The smallest of these bounds is proved for the goal, and it lies
    above the limit; so a failure is remembered as a bound, and only a larger limit than that opens the goal again.

    Inputs that a gap or an epsilon left BOUNDED may cost more than they are known to cost at least. Where that keeps the best
    plan above the limit while the limit is not refuted, the goal is BOUNDED too: its plan is as good as that of its inputs.
    """

    __slots__ = ("goal",)

    def __init__(self, goal: Goal) -> None:
        self.goal = goal

    def perform(self, search: Search) -> None:
        goal = self.goal
        cheapest_other = min((c.bound for c in goal.candidates if c is not goal.best), default=INFINITY)
        cheapest_other = min(cheapest_other, min(goal.waiting.values(), default=INFINITY))
        if goal.best is not None:
            cheapest_other = min(cheapest_other, goal.best.bound)
        if search.finishing:
            goal.status = Status.ABANDONED
        elif goal.best is not None and goal.best_cost <= cheapest_other:
            goal.status, goal.lower, goal.settled = Status.OPTIMAL, goal.best_cost, True
        elif goal.best is not None and min(goal.best_cost, cheapest_other) <= goal.limit:
            goal.status, goal.lower, goal.settled = Status.BOUNDED, max(goal.lower, min(cheapest_other, goal.best_cost)), True
        elif goal.best is None and cheapest_other == INFINITY:
            goal.status, goal.lower = Status.IMPOSSIBLE, INFINITY
        else:
            goal.status, goal.lower = Status.BELOW, max(goal.lower, min(cheapest_other, goal.best_cost))
            assert goal.lower > goal.limit, f"goal {goal.id} failed at {goal.limit} but is only proved above {goal.lower}"
        search.emit_close(goal)

    def describe(self, search: Search) -> str:
        return f"settle goal {self.goal.id}"
