"""DeriveTraits: what the inputs of an expression can deliver without a sort becomes further ways."""

from optimizer.algebra.traits import Alternative
from optimizer.memo.alternatives import Offered, Offers, derive
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

    __slots__ = ("by", "goal", "helpful", "known", "mexpr")

    def __init__(
        self, goal: Goal, mexpr: LogicalExpr, known: list[list[Alternative]], by: Offered, helpful: list[Offers]
    ) -> None:
        """For each physical expression: what was passed through to it (`known`), and the offers that may help it."""
        self.goal, self.mexpr, self.known, self.by, self.helpful = goal, mexpr, known, by, helpful

    def perform(self, search: SearchContext) -> None:
        goal = self.goal
        for physical, known, offers in zip(self.mexpr.physical, self.known, self.helpful, strict=True):
            for derived in derive(goal, physical.op, known, self.by, offers):
                emit_alternatives(search, "derive", goal, physical, derived.alternatives, derived.input, derived.offer)
                for alternative in derived.alternatives:
                    add_way(search, goal, implementation_way(search, goal, self.mexpr, physical, alternative))

    def describe(self, search: SearchContext) -> str:
        return f"derive traits from the inputs of expression {self.mexpr.id} for goal {self.goal.id}"
