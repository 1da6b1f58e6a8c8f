"""UNION ALL merges inputs that all come in one order, and keeps that order."""

from collections.abc import Sequence

from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import SetOp
from optimizer.algebra.physical import MergeUnion, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ImplementationRule, RuleContext, node


class UnionToMergeUnion(ImplementationRule):
    name = "union_to_merge_union"
    pattern = node(SetOp)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case SetOp(SetOpKind.UNION, True, columns, sources):
                return (MergeUnion(columns, sources, "union_to_union_all" in context.settings.disable),)
        return ()
