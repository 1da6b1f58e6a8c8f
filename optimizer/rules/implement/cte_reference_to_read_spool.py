"""A reference to a common table expression reads its spool."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.physical import PhysicalOperator, ReadSpool
from optimizer.algebra.spools import CteReference
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ImplementationRule, RuleContext, node


class CteReferenceToReadSpool(ImplementationRule):
    name = "cte_reference_to_read_spool"
    pattern = node(CteReference)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case CteReference(spool, title, columns):
                return (ReadSpool(spool, title, columns),)
        return ()
