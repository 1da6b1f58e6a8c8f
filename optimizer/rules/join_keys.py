"""Which conjuncts of a join are keys, each said once."""

from typing import NamedTuple

from optimizer.algebra.columns import ColumnId
from optimizer.algebra.predicates import key_sides
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Call, ColumnRef, Predicate, Scalar


class SplitPredicate(NamedTuple):
    """`keys`: (left scalar, right scalar). Bit i of `null_safe`: NULLs of key i are equal. `residual`: the other conjuncts."""

    keys: tuple[tuple[Scalar, Scalar], ...]
    null_safe: int
    residual: Predicate


def split_keys(predicate: Predicate, left: LogicalProps, right: LogicalProps) -> SplitPredicate:
    """Takes the equalities between a scalar of `left` columns and one of `right` columns out of a predicate."""
    keys: list[tuple[Scalar, Scalar]] = []
    seen: set[tuple[ColumnId, ColumnId, bool]] = set()
    null_safe = 0
    residual: list[Scalar] = []
    for conjunct in predicate:
        sides = None if conjunct.volatile else key_sides(conjunct, left.columns, right.columns)
        if sides is None:
            residual.append(conjunct)
            continue
        safe = isinstance(conjunct, Call) and conjunct.function == "is_not_distinct_from"
        if is_again(sides, safe, left, right, seen):
            continue
        null_safe |= safe << len(keys)
        keys.append(sides)
    return SplitPredicate(tuple(keys), null_safe, tuple(residual))


def is_again(
    sides: tuple[Scalar, Scalar], safe: bool, left: LogicalProps, right: LogicalProps, seen: set[tuple[ColumnId, ColumnId, bool]]
) -> bool:
    """Whether these columns equal those of a key that was `seen`, to which they are added if not."""
    match sides:
        case ColumnRef(id=a), ColumnRef(id=b):
            key = left.representative(a), right.representative(b), safe
            if key in seen:
                return True
            seen.add(key)
    return False
