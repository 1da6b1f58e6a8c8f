"""A first complete plan: the query as it was given, for a search whose budget is spent before it has one.

The same tasks find it, from a source that gives few ways: of a group one expression whose order is chosen, and of a region one
order. Goals that have a plan keep it.
"""

from __future__ import annotations

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.traits import TraitSet
from optimizer.memo.alternatives import alternatives
from optimizer.memo.goal import Goal, Implementation, Way
from optimizer.memo.group import Group
from optimizer.search.context import SearchContext, Source
from optimizer.search.firing import implement
from optimizer.search.group_ways import enforcing, given, implementation_way
from optimizer.search.region_start import begin_with_one_order, take_one_order
from optimizer.search.regions import Regions


class GivenWays:
    """The sources of a search that wants a plan and no more (`context.Sources`), and the source of its groups."""

    each = 0
    bounded = False
    enough = -1.0

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        for region in regions.made:
            if region.begun:
                take_one_order(region, "a budget was spent")
            region.start, region.waited = begin_with_one_order, False

    def of(self, search: SearchContext, goal: Goal) -> Source:
        source = self._regions.of(search, goal)
        return self if source is self._regions.groups else source

    def goal(self, search: SearchContext, group: Group, required: TraitSet) -> Goal:
        return self._regions.goal(search, group, required)

    def output(self, search: SearchContext, goal: Goal) -> tuple[ColumnSet, float]:
        return self._regions.output(search, goal)

    def group(self, search: SearchContext, goal: Goal) -> int:
        return self._regions.group(search, goal)

    def outgrown(self) -> bool:
        return self._regions.outgrown()

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

    def expressions(self, search: SearchContext, goal: Goal, way: Way) -> list[Way]:
        return []

    def costed(self, search: SearchContext, goal: Goal) -> list[Way]:
        return self._regions.groups.costed(search, goal)

    def implementation(self, search: SearchContext, goal: Goal, way: Way) -> Implementation:
        return self._regions.groups.implementation(search, goal, way)
