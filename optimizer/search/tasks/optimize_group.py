"""OptimizeGroup: settle a goal under a limit."""

from optimizer.memo.goal import INFINITY, Goal, Status
from optimizer.search.context import SearchContext, Task
from optimizer.search.tasks.group_optimized import GroupOptimized
from optimizer.search.tasks.optimize_inputs import OptimizeInputs

RAISE_AFTER = 2  # searches of one goal after which its limit is raised beyond what is asked


class OptimizeGroup(Task):
    """Find the cheapest plan for a goal, or prove that none costs at most `limit`.

        OptimizeGroup(goal, limit) …  →  …                                            settled, or failed at this limit before
        OptimizeGroup(goal, limit) …  →  what its ways wait for … OptimizeGroup(goal, limit) …      see the goal's source
        OptimizeGroup(goal, limit) …  →  OptimizeInputs(goal) GroupOptimized(goal) …

    The ways of the goal are put in order of their bounds, so that a good plan soon lowers the bar for the rest.
    """

    __slots__ = ("goal", "limit")

    def __init__(self, goal: Goal, limit: float) -> None:
        self.goal, self.limit = goal, limit

    def perform(self, search: SearchContext) -> None:
        goal, limit = self.goal, self.limit
        if goal.settled or goal.status is Status.IMPOSSIBLE or goal.lower > limit:
            return
        assert goal.status is not Status.OPEN, f"goal {goal.id} was entered while it is open"
        if goal.opened >= RAISE_AFTER and limit < INFINITY:  # asked again and again with a little more: jump
            limit = max(limit, goal.lower * 2.0 ** (goal.opened + 1 - RAISE_AFTER))
        source = search.sources.of(goal)
        if not source.ready(search, goal, limit):
            return
        if search.trace is not None and search.stack and isinstance(asking := search.stack[-1], OptimizeInputs):
            search.emit_limit(goal, goal.limit if goal.opened else INFINITY, limit, asking.goal)
        search.open(goal, limit)
        goal.ways, goal.dropped = source.ways(search, goal)
        search.push(GroupOptimized(goal))
        search.push(OptimizeInputs(goal))

    def describe(self, search: SearchContext) -> str:
        goal = self.goal
        what = f"group {goal.group}" if goal.group >= 0 else f"goal {goal.id}"
        limit = "no limit" if self.limit == INFINITY else f"limit {self.limit:.6g}"
        return f"optimize {what} for {goal.required.show(search.context.columns.label)}, {limit}"
