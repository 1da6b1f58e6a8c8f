"""Any mark join can test its predicate on every pair of rows; the only way without an equality."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import MarkJoin
from optimizer.algebra.physical import NestedLoopJoin, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class MarkJoinToNestedLoopJoin(ImplementationRule):
    name = "mark_join_to_nested_loop_join"
    pattern = node(MarkJoin, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case MarkJoin(predicate, mark):
                return (NestedLoopJoin(JoinKind.MARK, predicate, mark),)
        return ()
