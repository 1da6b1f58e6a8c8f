"""A complete plan for a search whose budget is spent: of what was found without orders, or the query as it was given.

The same tasks find it, from sources that give few ways. The query as it was given: of a group one expression whose order is
chosen, and of a region one order. What was found without orders: also the other expressions, but no alternative of them that
asks an input for an order, so that there are few goals. Goals that have a cheaper plan keep it.
"""

from optimizer.algebra.traits import ANY
from optimizer.memo.alternatives import alternatives
from optimizer.memo.goal import INFINITY, Goal, Way
from optimizer.search.context import SearchContext
from optimizer.search.firing import implement
from optimizer.search.group_ways import GroupWays, enforcing, given, implementation_way, waiting_way
from optimizer.search.region_start import begin_with_one_order, take_one_order
from optimizer.search.regions import Regions


def want_no_orders(search: SearchContext, regions: Regions) -> None:
    """Give each group the ways of one expression, and those of the others that ask nothing of their inputs."""
    for region in regions.made:
        region.begin_anew()
    regions.groups, search.hurried, search.orderless = GivenWays(others=True), True, True


def want_one_plan(search: SearchContext, regions: Regions) -> None:
    """Give each region one order, and each group the ways of one expression."""
    for region in regions.made:
        region.begin_anew()
        if region.begun:
            take_one_order(region, "a budget was spent")
        region.start = begin_with_one_order
    regions.start, regions.groups, search.orderless = begin_with_one_order, GivenWays(), False


class GivenWays(GroupWays):
    """A source (`context.Source`) of groups for a search that wants a plan and no more. `others`: other expressions too, where no
    order is asked for."""

    def __init__(self, others: bool = False) -> None:
        self._others = others

    def ready(self, search: SearchContext, goal: Goal, limit: float) -> bool:
        return True

    def ways(self, search: SearchContext, goal: Goal) -> tuple[list[Way], float]:
        """Enforcers, the alternatives of one expression, and the others."""
        group = search.memo.group(goal.group)
        mexpr = given(search, group)
        if not mexpr.implemented:
            implement(search, mexpr)
        ways = enforcing(search, goal)
        for physical in mexpr.physical:
            ways += (
                implementation_way(search, goal, mexpr, physical, each) for each in alternatives(search.memo, goal, physical)
            )
        if self._others and goal.required == ANY:
            others = [m for m in group.logical if m is not mexpr and not m.op.unordered]
            ways += (waiting_way(search, each) for each in others)
        return sorted(ways), INFINITY
