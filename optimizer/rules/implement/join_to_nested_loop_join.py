"""Any join can run as nested loops over blocks of its inputs, testing every pair of rows; the only way without an equality."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.logical import IndependentJoin
from optimizer.algebra.physical import NestedLoopJoin, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class JoinToNestedLoopJoin(ImplementationRule):
    name = "join_to_nested_loop_join"
    pattern = node(IndependentJoin, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case IndependentJoin() as join:
                return (NestedLoopJoin(join.kind, join.predicate, join.mark),)
        return ()
