"""Any single join can test its predicate on every pair of rows, and fail at a row's second match."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import SingleJoin
from optimizer.algebra.physical import NestedLoopJoin, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class SingleJoinToNestedLoopJoin(ImplementationRule):
    name = "single_join_to_nested_loop_join"
    pattern = node(SingleJoin, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case SingleJoin(predicate):
                return (NestedLoopJoin(JoinKind.SINGLE, predicate),)
        return ()
