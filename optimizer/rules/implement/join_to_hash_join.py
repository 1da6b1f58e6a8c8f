"""A join with an equality between its inputs becomes a hash join.

The build side is the right input; join_commute supplies the other one. Semi and anti joins have no mirror image, so for
them both build sides are offered here; nor have mark and single joins, which are built on the right. Equalities become keys,
the other conjuncts the residual: a pair of rows matches when both hold, so every kind may be split this way. NULL keys of =
match nothing, those of IS NOT DISTINCT FROM match NULL, as in SQL. The mark of a mark join is three-valued over the whole
conjunction: where a key is NULL the executor matches rows on the keys that are left. Keys are computed for every row of an
input; where one raises, an executor tests whole pairs, since another conjunct may keep the key from all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.logical_joins import IndependentJoin
from optimizer.algebra.physical import HashJoin, PhysicalOperator
from optimizer.algebra.predicates import key_sides
from optimizer.algebra.scalars import Call, Predicate, Scalar
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class JoinToHashJoin(ImplementationRule):
    name = "join_to_hash_join"
    pattern = node(IndependentJoin, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound:
            case Tree(IndependentJoin() as join, (left, right)):
                keys, null_safe, residual = split_keys(join.predicate, left.columns, right.columns)
                if keys:
                    builds = (False, True) if join.kind.left_only else (False,)
                    return tuple(HashJoin(join.kind, keys, residual, build, null_safe, join.mark) for build in builds)
        return ()


class SplitPredicate(NamedTuple):
    """`keys`: (left scalar, right scalar). Bit i of `null_safe`: NULLs of key i are equal. `residual`: the other conjuncts."""

    keys: tuple[tuple[Scalar, Scalar], ...]
    null_safe: int
    residual: Predicate


def split_keys(predicate: Predicate, left: ColumnSet, right: ColumnSet) -> SplitPredicate:
    """Takes the equalities between a scalar of `left` columns and one of `right` columns out of a predicate."""
    keys: list[tuple[Scalar, Scalar]] = []
    null_safe = 0
    residual: list[Scalar] = []
    for conjunct in predicate:
        sides = None if conjunct.volatile else key_sides(conjunct, left, right)
        if sides is None:
            residual.append(conjunct)
            continue
        if isinstance(conjunct, Call) and conjunct.function == "is_not_distinct_from":
            null_safe |= 1 << len(keys)
        keys.append(sides)
    return SplitPredicate(tuple(keys), null_safe, tuple(residual))
