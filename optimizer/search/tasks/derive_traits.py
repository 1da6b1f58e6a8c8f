"""DeriveTraits: what the inputs of an expression can deliver without a sort becomes further ways."""

from __future__ import annotations

from optimizer.algebra.traits import Alternative
from optimizer.memo.alternatives import derive, offered
from optimizer.memo.goal import Goal
from optimizer.memo.mexpr import LogicalExpr
from optimizer.search.context import SearchContext, Task
from optimizer.search.group_ways import add_way, emit_alternatives, implementation_way


class DeriveTraits(Task):
    """Ask each physical operator of an expression what the orders that its inputs offer are worth to it: an offer becomes a
    requirement on that input and its siblings, and is delivered to whoever reads the goal.

        DeriveTraits(goal, e) …  →  …

    Offers belong to groups and not to the plans that were looked at, so that pruning cannot hide one.
    """

    __slots__ = ("goal", "known", "mexpr")

    def __init__(self, goal: Goal, mexpr: LogicalExpr, known: list[list[Alternative]]) -> None:
        """`known`: for each physical expression what was passed through to it."""
        self.goal, self.mexpr, self.known = goal, mexpr, known

    def perform(self, search: SearchContext) -> None:
        goal = self.goal
        by = offered(search.memo, goal, self.mexpr.inputs)
        for physical, known in zip(self.mexpr.physical, self.known, strict=True):
            for derived in derive(goal, physical.op, known, by):
                emit_alternatives(search, "derive", goal, physical, derived.alternatives, derived.input, derived.offer)
                for alternative in derived.alternatives:
                    add_way(search, goal, implementation_way(search, goal, self.mexpr, physical, alternative))

    def describe(self, search: SearchContext) -> str:
        return f"derive traits from the inputs of expression {self.mexpr.id} for goal {self.goal.id}"
