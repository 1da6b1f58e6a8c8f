"""A first complete plan: the query as it was given, for a search whose budget is spent.

The same tasks find it, from a source that gives few ways: of a group one expression whose order is chosen, and of a region one
order. Goals that have a cheaper plan keep it.
"""

from __future__ import annotations

from optimizer.memo.alternatives import alternatives
from optimizer.memo.goal import Goal, Way
from optimizer.search.context import SearchContext
from optimizer.search.firing import implement
from optimizer.search.group_ways import GroupWays, enforcing, given, implementation_way
from optimizer.search.region_start import begin_with_one_order, take_one_order
from optimizer.search.regions import Regions


def want_one_plan(regions: Regions) -> None:
    """Give each region one order, and each group the ways of one expression."""
    for region in regions.made:
        if region.begun:
            take_one_order(region, "a budget was spent")
        region.start, region.waited = begin_with_one_order, False
    regions.start, regions.groups = begin_with_one_order, GivenWays()


class GivenWays(GroupWays):
    """A source (`context.Source`) of groups for a search that wants a plan and no more."""

    def ready(self, search: SearchContext, goal: Goal, limit: float) -> bool:
        return True

    def ways(self, search: SearchContext, goal: Goal) -> tuple[list[Way], float]:
        """Enforcers, and the alternatives of one expression. What is not listed costs at least what is proved of the goal."""
        mexpr = given(search, search.memo.group(goal.group))
        if not mexpr.implemented:
            implement(search, mexpr)
        ways = enforcing(search, goal)
        for physical in mexpr.physical:
            ways += (
                implementation_way(search, goal, mexpr, physical, each) for each in alternatives(search.memo, goal, physical)
            )
        return sorted(ways), goal.lower
