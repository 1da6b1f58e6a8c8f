"""GroupOptimized: draw the conclusion once a goal's ways have been worked through."""

from optimizer.memo.goal import INFINITY, Goal, Status
from optimizer.search.context import TIE, SearchContext, Task
from optimizer.search.tasks.explore_input import ExploreInput
from optimizer.search.tasks.optimize_inputs import OptimizeInputs


class GroupOptimized(Task):
    """Settle a goal: OPTIMAL when its best plan is within what every other way costs at least, else BELOW that cost.

        GroupOptimized(goal) …  →  …
        GroupOptimized(goal) …  →  ExploreInput(G) OptimizeInputs(goal) GroupOptimized(goal) …      exploration=interleaved

    Ways that were cut keep the bound that cut them. The smallest of these bounds is proved for the goal, and it lies
    above the limit; so a failure is remembered as a bound, and only a larger limit than that opens the goal again.

    Inputs that a gap, an epsilon or a heuristic left BOUNDED may cost more than they are known to cost at least. Where that keeps
    the best plan above the limit while the limit is not refuted, the goal is BOUNDED too: its plan is as good as its inputs'.
    """

    __slots__ = ("goal",)

    def __init__(self, goal: Goal) -> None:
        self.goal = goal

    def perform(self, search: SearchContext) -> None:
        goal = self.goal
        if search.exploration == "interleaved" and goal.group >= 0 and self._explores(search):
            return
        goal.ways = []
        if search.hurried:  # what was left out costs at least what is proved
            goal.dropped = min(goal.dropped, goal.lower)
        proved = min(goal.best_cost, goal.dropped)
        if goal.best_cost == goal.dropped == INFINITY:
            goal.status, goal.lower = Status.IMPOSSIBLE, INFINITY
        elif goal.best_cost <= goal.dropped * (1.0 + 2.0 * TIE):  # cut by a plan that gave way to one that costs the same
            goal.status, goal.lower, goal.settled = Status.OPTIMAL, goal.best_cost, True
        elif proved <= goal.limit and goal.best_cost < INFINITY:
            goal.status, goal.lower, goal.settled = Status.BOUNDED, max(goal.lower, proved), True
        else:
            goal.status, goal.lower = Status.BELOW, max(goal.lower, proved)
        search.emit_close(goal)

    def _explores(self, search: SearchContext) -> bool:
        """Whether the group is to be explored now: what was known of it is costed, and a plan that it lacks might matter."""
        goal = self.goal
        group = search.memo.group(goal.group)
        if group.explored or group.exploring:
            return False
        if search.cut(goal, group.lower):
            goal.dropped = min(goal.dropped, group.lower)
            return False
        search.push(self)
        search.push(OptimizeInputs(goal))
        search.push(ExploreInput(group.id))
        return True

    def describe(self, search: SearchContext) -> str:
        return f"settle goal {self.goal.id}"
