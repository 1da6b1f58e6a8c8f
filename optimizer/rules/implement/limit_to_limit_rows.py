"""A limit passes the first rows of an input that comes in its order, then stops it."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.logical import Limit
from optimizer.algebra.physical import LimitRows, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class LimitToLimitRows(ImplementationRule):
    name = "limit_to_limit_rows"
    pattern = node(Limit, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case Limit(order, offset, count):
                return (LimitRows(order, offset, count),)
        return ()
