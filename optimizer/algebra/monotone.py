"""Which scalars follow the order of one column: rows sorted by the column are sorted by the scalar too.

`date_trunc('month', d)` follows `d`: an input sorted on d serves GROUP BY and ORDER BY of the month. Where two values of
the column may give one result (the scalar is not `strict`), rows are sorted by the scalar and by nothing after it.

A scalar counts only if it is NULL exactly where the column is, so that NULLs stay at their end. Floats: NaN is above all
other numbers and stays NaN, so no descending function of a float qualifies; roundings of IEEE 754 keep the order.
"""

import math
from typing import NamedTuple

import pyarrow as pa

from optimizer.algebra.columns import ColumnId, DataType
from optimizer.algebra.scalars import Call, Cast, ColumnRef, Literal, Scalar
from optimizer.algebra.types import is_exact


class Monotone(NamedTuple):
    """The scalar rises (falls, with `descending`) with `column`; `strict`: different values give different results."""

    column: ColumnId
    descending: bool = False
    strict: bool = True


def monotone(scalar: Scalar) -> Monotone | None:
    """The column whose order a scalar follows; None where that is not known. A column follows itself."""
    if isinstance(scalar, ColumnRef):
        return Monotone(scalar.id)
    step = _step(scalar)
    if step is None:
        return None
    inner, descending, strict = step
    below = monotone(inner)
    if below is None:
        return None
    return Monotone(below.column, below.descending != descending, below.strict and strict)


def _step(scalar: Scalar) -> tuple[Scalar, bool, bool] | None:
    """One operation: its varying operand, whether it turns the order round, whether it is strict."""
    match scalar:
        case Cast(arg=arg, lenient=False):
            strict = _cast(arg.type, scalar.type)
            return None if strict is None else (arg, False, strict)
        case Call(function="+" | "-" | "*" | "/" | "//", args=(a, b)):
            if isinstance(b, Literal):
                return _arithmetic(scalar.function, a, b, literal_first=False)
            if isinstance(a, Literal):
                return _arithmetic(scalar.function, b, a, literal_first=True)
        case Call(function="neg", args=(a,)) if not pa.types.is_floating(a.type):
            return a, True, True
        case Call(function="floor" | "ceil" | "year", args=(a,)):
            return a, False, False
        case Call(function="round", args=(a, Literal())) if not pa.types.is_floating(a.type):
            return a, False, False
        case Call(function="date_trunc", args=(Literal(), a)):
            return a, False, False
        case Call(function="date_add_days", args=(a, Literal() as days)) if days.value is not None:
            return a, False, True
        case Call(function="date_diff_days", args=(a, Literal() as other)) if other.value is not None:
            return a, False, True
        case Call(function="date_diff_days", args=(Literal() as other, a)) if other.value is not None:
            return a, True, True
        case Call(function="substring", args=(a, Literal() as start, Literal() as length)):
            if start.value == 1 and length.value is not None and length.value >= 0:
                return a, False, False
    return None


def _arithmetic(function: str, value: Scalar, literal: Literal, literal_first: bool) -> tuple[Scalar, bool, bool] | None:
    number = literal.value
    floating = pa.types.is_floating(value.type)
    if number is None or isinstance(number, bool) or not (floating or is_exact(value.type)):
        return None
    if not isinstance(number, float | int) and not pa.types.is_decimal(literal.type):
        return None  # an interval, a date
    if floating and not math.isfinite(number):
        return None
    match function:
        case "+":
            return value, False, not floating
        case "-":
            if literal_first:
                return None if floating else (value, True, True)
            return value, False, not floating
        case "*" if number > 0:
            return value, False, not floating
        case "*" if number < 0 and not floating:
            return value, True, True
        case "/" if floating and not literal_first and number > 0:
            return value, False, False
        case "//" if not floating and not literal_first and number > 0:
            return value, False, False
    return None


def _cast(source: DataType, target: DataType) -> bool | None:
    """Whether a cast that keeps the order is strict; None where it may not keep it. What does not fit raises."""
    t = pa.types
    if source == target:
        return True
    if (is_exact(source) or t.is_boolean(source)) and t.is_integer(target):
        return not t.is_decimal(source) or source.scale <= 0
    if is_exact(source) and t.is_decimal(target):
        return not t.is_decimal(source) or target.scale >= source.scale
    if (is_exact(source) or t.is_floating(source)) and t.is_floating(target):
        return bool(t.is_float32(source) and t.is_float64(target))
    if t.is_date32(source) and t.is_timestamp(target):
        return target.tz is None
    if t.is_timestamp(source) and source.tz is None and t.is_date32(target):
        return False
    return None
