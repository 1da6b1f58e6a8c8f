"""A mark join with an equality between its inputs becomes a hash join that marks the left rows.

Equalities become keys, the other conjuncts the residual, as for other joins. The mark is three-valued over the whole
conjunction: where a key is NULL the executor matches rows on the keys that are left, so no key has to be free of NULLs.
A mark join with nothing but the mark to add has no mirror image: the build side is the right input.
"""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import MarkJoin
from optimizer.algebra.physical import HashJoin, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.implement.join_to_hash_join import split_keys
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class MarkJoinToHashJoin(ImplementationRule):
    name = "mark_join_to_hash_join"
    pattern = node(MarkJoin, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound:
            case Tree(MarkJoin(predicate, mark), (left, right)):
                keys, null_safe, residual = split_keys(predicate, left.columns, right.columns)
                if keys:
                    return (HashJoin(JoinKind.MARK, keys, residual, False, null_safe, mark),)
        return ()
