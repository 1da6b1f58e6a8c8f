"""What a scalar or predicate says of NULLs: when it cannot be NULL, and which columns it keeps from being NULL."""

from __future__ import annotations

from functools import lru_cache

from optimizer.algebra.columns import ColumnSet, union
from optimizer.algebra.scalar_functions import SCALAR_FUNCTIONS
from optimizer.algebra.scalars import Call, Case, Cast, ColumnRef, InList, Literal, Predicate, Scalar

NULL_OF_VALUES = ("//", "%", "try_strptime")  # strict functions that are NULL of some values too


def is_not_null(scalar: Scalar, not_null: ColumnSet) -> bool:
    """Whether `scalar` is never NULL when the columns of `not_null` are not; sound, not complete."""
    match scalar:
        case ColumnRef():
            return bool(not_null >> scalar.id & 1)
        case Literal():
            return scalar.value is not None
        case Call() if scalar.function in NULL_OF_VALUES:
            return False
        case Call(function="is_null" | "is_not_null" | "is_distinct_from" | "is_not_distinct_from"):
            return True
        case Call(function="coalesce" | "greatest" | "least"):
            return any(is_not_null(arg, not_null) for arg in scalar.args)
        case Call(function="and" | "or"):
            return all(is_not_null(arg, not_null) for arg in scalar.args)
        case Call() if SCALAR_FUNCTIONS[scalar.function].strict and scalar.args:
            return all(is_not_null(arg, not_null) for arg in scalar.args)
        case Cast() if not scalar.lenient:
            return is_not_null(scalar.arg, not_null)
        case Case():
            return all(is_not_null(v, not_null) for v in (*(v for _, v in scalar.branches), scalar.otherwise))
    return scalar.never_null


def null_rejected(predicate: Predicate) -> ColumnSet:
    """Columns that are not NULL in every row where the predicate is TRUE; sound, not complete."""
    return union(map(_rejected, predicate))


@lru_cache(maxsize=16384)
def _rejected(conjunct: Scalar) -> ColumnSet:
    match conjunct:
        case Call(function="=" | "<>" | "<" | "<=" | ">" | ">=" | "like" | "ilike" | "starts_with"):
            return union(map(strict_columns, conjunct.args))
        case Call(function="is_not_null"):
            return strict_columns(conjunct.args[0])
        case Call(function="or"):
            common, *others = map(_rejected, conjunct.args)
            for other in others:
                common &= other
            return common
        case Call(function="and"):
            return null_rejected(conjunct.args)
        case Call(function="not", args=(inner,)) | inner:
            return strict_columns(inner)


def strict_columns(scalar: Scalar) -> ColumnSet:
    """Columns whose NULL makes `scalar` NULL."""
    match scalar:
        case ColumnRef():
            return scalar.columns
        case Call() if SCALAR_FUNCTIONS[scalar.function].strict:
            return union(map(strict_columns, scalar.args))
        case Cast():
            return strict_columns(scalar.arg)
        case InList():
            return strict_columns(scalar.arg)
    return 0
