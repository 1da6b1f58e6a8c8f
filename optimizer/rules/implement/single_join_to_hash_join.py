"""A single join with an equality between its inputs becomes a hash join, built on the right, that fails at a second match."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import SingleJoin
from optimizer.algebra.physical import HashJoin, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.implement.join_to_hash_join import split_keys
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class SingleJoinToHashJoin(ImplementationRule):
    name = "single_join_to_hash_join"
    pattern = node(SingleJoin, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound:
            case Tree(SingleJoin(predicate), (left, right)):
                keys, null_safe, residual = split_keys(predicate, left.columns, right.columns)
                if keys:
                    return (HashJoin(JoinKind.SINGLE, keys, residual, False, null_safe),)
        return ()
