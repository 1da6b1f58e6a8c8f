"""A join with an equality between its inputs becomes a hash join.

The build side is the right input; join_commute supplies the other one. Semi and anti joins have no mirror image, so for
them both build sides are offered here. Equalities become keys, the other conjuncts the residual: a pair of rows matches
when both hold, so every kind may be split this way. NULL keys match nothing, as in SQL. Keys are computed for every row
of an input, so an equality that may raise is a key only when no other conjunct could have kept it from a pair.
"""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.logical import Join
from optimizer.algebra.physical import HashJoin, PhysicalOperator
from optimizer.algebra.scalars import Predicate, Scalar, equality_sides
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class JoinToHashJoin(ImplementationRule):
    name = "join_to_hash_join"
    pattern = node(Join, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound:
            case Tree(Join(kind, predicate), (left, right)):
                keys, residual = split_keys(predicate, left.columns, right.columns)
                if keys and kind.left_only:
                    return HashJoin(kind, keys, residual), HashJoin(kind, keys, residual, build_left=True)
                if keys:
                    return (HashJoin(kind, keys, residual),)
        return ()


def split_keys(predicate: Predicate, left: int, right: int) -> tuple[tuple[tuple[Scalar, Scalar], ...], Predicate]:
    """Equalities between a scalar of `left` columns and one of `right` columns, as pairs; and the other conjuncts."""
    keys: list[tuple[Scalar, Scalar]] = []
    residual: list[Scalar] = []
    for conjunct in predicate:
        guarded = conjunct.volatile or (conjunct.raises and len(predicate) > 1)
        sides = None if guarded else equality_sides(conjunct, left, right)
        if sides is None:
            residual.append(conjunct)
        else:
            keys.append(sides)
    return tuple(keys), tuple(residual)
