"""A spool keeps its rows in memory."""

from collections.abc import Sequence

from optimizer.algebra.physical import FillSpool, PhysicalOperator
from optimizer.algebra.spools import Spool
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ImplementationRule, RuleContext, node


class SpoolToFillSpool(ImplementationRule):
    name = "spool_to_fill_spool"
    pattern = node(Spool)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case Spool(id, title):
                return (FillSpool(id, title),)
        return ()
