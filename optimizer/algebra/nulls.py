"""What a scalar or predicate says of NULLs: when it cannot be NULL, and which columns it keeps from being NULL.

For the latter a scalar is evaluated with a set of values instead of one: may it be TRUE (or, when not boolean, some value),
FALSE, NULL? Columns of the NULL side are NULL, other columns may be anything. All answers are sound: what cannot come out never
does.
"""

from collections.abc import Iterable
from functools import lru_cache

from optimizer.algebra.columns import ColumnSet, column_ids, column_set, union
from optimizer.algebra.scalar_functions import SCALAR_FUNCTIONS
from optimizer.algebra.scalars import BOOL, Call, Case, Cast, ColumnRef, InList, Literal, Predicate, Scalar

NULL_OF_VALUES = ("//", "%", "try_strptime")  # strict functions that are NULL of some values too
# bits of a set of outcomes; a value that is not boolean counts as TRUE or FALSE
CAN_BE_TRUE, CAN_BE_FALSE, CAN_BE_NULL = 1, 2, 4
_VALUE = CAN_BE_TRUE | CAN_BE_FALSE
_ANY = _VALUE | CAN_BE_NULL


def is_not_null(scalar: Scalar, not_null: ColumnSet) -> bool:
    """Whether `scalar` is never NULL when the columns of `not_null` are not; sound, not complete."""
    if isinstance(scalar, ColumnRef):
        return bool(not_null >> scalar.id & 1)
    return not outcomes(scalar, 0, not_null) & CAN_BE_NULL


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


def null_rejected(predicate: Predicate) -> ColumnSet:
    """Columns that are not NULL in every row where the predicate is TRUE."""
    return union(map(_rejected, predicate))


@lru_cache(maxsize=16384)
def _rejected(conjunct: Scalar) -> ColumnSet:
    return column_set(id for id in column_ids(conjunct.columns) if _never_true(conjunct, 1 << id))


def rejects_nulls(predicate: Predicate, columns: ColumnSet) -> bool:
    """Whether the predicate is never TRUE when all of `columns` are NULL. It says more than `null_rejected`, which names single
    columns: `b.x = 1 OR b.y = 2` rejects the row in which both are NULL."""
    return any(
        (nulls := conjunct.columns & columns) and not conjunct.volatile and _never_true(conjunct, nulls) for conjunct in predicate
    )


@lru_cache(maxsize=16384)
def _never_true(conjunct: Scalar, nulls: ColumnSet) -> bool:
    return not outcomes(conjunct, nulls) & CAN_BE_TRUE


def outcomes(scalar: Scalar, nulls: ColumnSet, not_null: ColumnSet = 0) -> int:
    """What `scalar` may be when the columns of `nulls` are NULL and those of `not_null` are not: a set of CAN_BE_… bits, perhaps
    too large."""
    match scalar:
        case ColumnRef():
            return CAN_BE_NULL if nulls >> scalar.id & 1 else _VALUE if not_null >> scalar.id & 1 else _ANY
        case Literal(value=None):
            return CAN_BE_NULL
        case Literal(value=bool() as value):
            return CAN_BE_TRUE if value else CAN_BE_FALSE
        case Literal():
            return _VALUE
        case Case(branches=branches, otherwise=otherwise):
            return _case(branches, otherwise, nulls, not_null)
        case Cast(arg=arg, lenient=lenient):
            below = outcomes(arg, nulls, not_null)
            if arg.type == BOOL and scalar.type == BOOL:
                return below
            return below & CAN_BE_NULL | (_VALUE if below & _VALUE else 0) | (CAN_BE_NULL if lenient else 0)
        case InList(arg=arg, items=items) if items:
            return CAN_BE_NULL if outcomes(arg, nulls, not_null) == CAN_BE_NULL else _ANY
        case Call(function=function, args=args):
            return _call(function, [outcomes(arg, nulls, not_null) for arg in args])
    return _VALUE if scalar.never_null else _ANY


def _call(function: str, args: list[int]) -> int:
    match function:
        case "and":
            return _junction(args, CAN_BE_FALSE, CAN_BE_TRUE)
        case "or":
            return _junction(args, CAN_BE_TRUE, CAN_BE_FALSE)
        case "not":
            return _not(args[0])
        case "is_null":
            return _is_null(args[0])
        case "is_not_null":
            return _not(_is_null(args[0]))
        case "is_not_distinct_from":
            return _not_distinct(*args)
        case "is_distinct_from":
            return _not(_not_distinct(*args))
        case "coalesce":
            return _first_value(args)
        case "greatest" | "least":
            return _VALUE if not all(arg & CAN_BE_NULL for arg in args) else _ANY
    if not SCALAR_FUNCTIONS[function].strict:
        return _ANY
    if CAN_BE_NULL in args:  # an argument that is NULL and nothing else
        return CAN_BE_NULL
    if args and function not in NULL_OF_VALUES and not any(arg & CAN_BE_NULL for arg in args):
        return _VALUE
    return _ANY


def _junction(args: Iterable[int], absorbing: int, neutral: int) -> int:
    """AND (FALSE absorbs, TRUE is neutral) or OR (the other way round) of independent operands."""
    result = neutral
    for arg in args:
        now = (result | arg) & absorbing
        if result & neutral and arg & neutral:
            now |= neutral
        if (result & CAN_BE_NULL and arg & ~absorbing) or (arg & CAN_BE_NULL and result & ~absorbing):
            now |= CAN_BE_NULL
        result = now
    return result


def _not(arg: int) -> int:
    return arg & CAN_BE_NULL | (CAN_BE_FALSE if arg & CAN_BE_TRUE else 0) | (CAN_BE_TRUE if arg & CAN_BE_FALSE else 0)


def _is_null(arg: int) -> int:
    return (CAN_BE_TRUE if arg & CAN_BE_NULL else 0) | (CAN_BE_FALSE if arg & _VALUE else 0)


def _not_distinct(a: int, b: int) -> int:
    if a == b == CAN_BE_NULL:
        return CAN_BE_TRUE
    if (a == CAN_BE_NULL and not b & CAN_BE_NULL) or (b == CAN_BE_NULL and not a & CAN_BE_NULL):
        return CAN_BE_FALSE
    return _VALUE


def _first_value(args: Iterable[int]) -> int:
    result = 0
    for arg in args:
        result |= arg & _VALUE
        if not arg & CAN_BE_NULL:
            return result
    return result | CAN_BE_NULL


def _case(branches: Iterable[tuple[Scalar, Scalar]], otherwise: Scalar, nulls: ColumnSet, not_null: ColumnSet) -> int:
    result = 0
    for condition, value in branches:
        taken = outcomes(condition, nulls, not_null)
        if taken & CAN_BE_TRUE:
            result |= outcomes(value, nulls, not_null)
        if taken == CAN_BE_TRUE:
            return result
    return result | outcomes(otherwise, nulls, not_null)
