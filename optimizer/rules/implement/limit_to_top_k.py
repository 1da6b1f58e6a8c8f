"""A limit with an order and a count becomes a top-k: sorts while holding only the rows it will return."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.logical import Limit
from optimizer.algebra.physical import PhysicalOperator, TopK
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class LimitToTopK(ImplementationRule):
    name = "limit_to_top_k"
    pattern = node(Limit, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case Limit(order, offset, int() as count) if order:
                return (TopK(order, offset, count),)
        return ()
