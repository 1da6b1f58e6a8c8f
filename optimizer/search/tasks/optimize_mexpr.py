"""OptimizeMExpr: implement one logical multi-expression and cost it for a goal."""

from optimizer.algebra.traits import ANY
from optimizer.memo.alternatives import helpful, offered, passed_through
from optimizer.memo.goal import Goal, Way
from optimizer.memo.mexpr import LogicalExpr
from optimizer.search.context import SearchContext, Task
from optimizer.search.group_ways import add_way, emit_alternatives, implementation_way
from optimizer.search.tasks.apply_rules import ApplyRules
from optimizer.search.tasks.derive_traits import DeriveTraits


class OptimizeMExpr(Task):
    """Implement a logical expression that may matter, and list its alternatives among the ways of a goal.

    OptimizeMExpr(goal, e) …  →  ApplyRules(e, implement) OptimizeMExpr(goal, e) …      not implemented yet
    OptimizeMExpr(goal, e) …  →  DeriveTraits(goal, e) …                                an input offers an order that may help
    OptimizeMExpr(goal, e) …  →  …
    """

    __slots__ = ("goal", "way")

    def __init__(self, goal: Goal, way: Way) -> None:
        self.goal, self.way = goal, way

    def perform(self, search: SearchContext) -> None:
        goal, mexpr = self.goal, self.way.what
        assert isinstance(mexpr, LogicalExpr)
        if mexpr.dropped:  # a merge found it to be the same as another, which the goal has too
            return
        if not mexpr.implemented:
            search.push(self)
            search.push(ApplyRules(mexpr, implement=True))
            return
        if goal.listed is not None:
            goal.listed.pop(self.way.number, None)
        known = [passed_through(search.memo, goal, physical) for physical in mexpr.physical]
        orderless = search.orderless and not goal.relations  # joins of a region may have orders: it has few
        if orderless:
            known = [[each for each in found if all(traits == ANY for traits in each.inputs)] for found in known]
        for physical, found in zip(mexpr.physical, known, strict=True):
            if goal.required != ANY:
                emit_alternatives(search, "pass_through", goal, physical, found)
            for alternative in found:
                add_way(search, goal, implementation_way(search, goal, mexpr, physical, alternative))
        by = None if orderless else offered(search.memo, goal, mexpr.inputs)
        if by is not None:
            offers = [helpful(goal, physical.op, found, by) for physical, found in zip(mexpr.physical, known, strict=True)]
            if any(offers):
                search.push(DeriveTraits(goal, mexpr, known, by, offers))

    def describe(self, search: SearchContext) -> str:
        assert isinstance(self.way.what, LogicalExpr)
        traits = self.goal.required.show(search.context.columns.label)
        return f"optimize expression {self.way.what.id} of group {self.goal.group} for {traits}"
