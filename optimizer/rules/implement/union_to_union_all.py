"""UNION ALL passes its inputs' rows one input after the other."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import SetOp
from optimizer.algebra.physical import PhysicalOperator, UnionAll
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ImplementationRule, RuleContext, node


class UnionToUnionAll(ImplementationRule):
    name = "union_to_union_all"
    pattern = node(SetOp)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case SetOp(SetOpKind.UNION, True, columns, sources):
                return (UnionAll(columns, sources),)
        return ()
