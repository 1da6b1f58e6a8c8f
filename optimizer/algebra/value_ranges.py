"""Between which values those of a scalar lie, from what is known of its columns: what shows that an operation cannot overflow.

    x in [1, 20000]  ⇒  x + 1 in [2, 20001], and no overflow        year(d) + 1 never overflows

An operation that rises or falls with each operand takes its least and its greatest value where the operands take theirs: so
it is carried out there, at most four times, with the reference semantics (Moore, Interval Analysis, 1966). NULLs are no values.
Floating-point numbers have no range here: their arithmetic does not raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import reduce
from itertools import product
from typing import Any, NamedTuple

import pyarrow as pa

from optimizer.algebra.columns import ColumnId, DataType
from optimizer.algebra.evaluate import called
from optimizer.algebra.evaluate_casts import cast as converted
from optimizer.algebra.evaluate_dates import FURTHER_PARTS, PARTS
from optimizer.algebra.scalar_trees import rewrite
from optimizer.algebra.scalars import (
    AggregateCall,
    Call,
    Case,
    Cast,
    ColumnRef,
    Literal,
    OuterRef,
    Safe,
    SafeCall,
    SafeCast,
    Scalar,
    WindowCall,
    is_null_literal,
)
from optimizer.algebra.types import INT64, integer_range, is_date, is_exact, is_integer, is_timestamp
from optimizer.errors import ExecutionError


class Range(NamedTuple):
    """All values lie between `low` and `high`, which need not be among them."""

    low: Any
    high: Any


Columns = Callable[[ColumnId], Range | None]

ROWS = Range(0, 1 << 48)  # no table, and no group of it, has more rows
OVERFLOWING = frozenset(("+", "-", "*", "//", "%", "neg", "abs", "date_add", "date_add_days", "interval_times"))
_MONOTONE = frozenset({"+", "-", "*", "neg", "abs", "floor", "ceil"})
_MONOTONE |= {"date_add", "date_add_days", "date_diff_days", "interval_times"}
_TEXT_LENGTHS = frozenset({"length", "strlen", "bit_length", "strpos", "ascii", "unicode", "levenshtein"})
_MOMENT_PARTS = frozenset({*PARTS, *(name for name, *_ in FURTHER_PARTS), "isodow", "isoyear"})
_COUNTS = frozenset({"count", "count_if", "row_number", "rank", "dense_rank", "ntile"})
_SOME_VALUE = frozenset({"min", "max", "any_value", "first", "last", "arg_min", "arg_max", "mode", "quantile_disc"}) | {
    "lag", "lead", "first_value", "last_value", "nth_value"
}  # fmt: skip
_WIDTH = 1 << 34  # bits of a text at most, and parts of a moment
_DAY = timedelta(days=1)


class Ranges:
    """The ranges of scalars, by those of columns; each is found once."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._found: dict[Scalar, Range | None] = {}

    def safe(self, scalar: Scalar) -> Scalar:
        """The scalar with the operations that cannot raise for such operands known to be so."""

        def change(part: Scalar) -> Scalar | None:
            match part:
                case Safe() | Cast(lenient=True):
                    return None
                case Call(function=function, args=args) if part.raises and function in OVERFLOWING and self.of(part) is not None:
                    return SafeCall(function, args, part.type)
                case Cast(arg=arg) if part.raises and self.of(part) is not None:
                    return SafeCast(arg, part.type, False)
            return None

        return rewrite(scalar, change)

    def of(self, scalar: Scalar) -> Range | None:
        """The range of its values; None where nothing is known, or where its operation may raise for such operands."""
        if scalar not in self._found:
            self._found[scalar] = self._of(scalar)
        return self._found[scalar]

    def of_any(self, scalars: Iterable[Scalar]) -> Range | None:
        """Of what takes one of these values."""
        ranges = [self.of(scalar) for scalar in scalars if not is_null_literal(scalar)]
        return reduce(united, ranges) if ranges else None

    def _of(self, scalar: Scalar) -> Range | None:
        match scalar:
            case ColumnRef(id=id) | OuterRef(id=id):
                return self.columns(id) or _of_type(scalar.type)
            case Literal(value=value):
                return None if value is None or not _has_range(scalar.type) else Range(value, value)
            case Cast(arg=arg):
                return _cast(scalar, self.of(arg))
            case Case(branches=branches, otherwise=otherwise):
                return self.of_any([*(value for _, value in branches), otherwise])
            case Call(function="coalesce" | "greatest" | "least", args=args):
                return self.of_any(args)
            case Call():
                return _call(scalar, [self.of(arg) for arg in scalar.args])
            case AggregateCall() | WindowCall():
                return self._over_rows(scalar)
        return _of_type(scalar.type)

    def _over_rows(self, call: AggregateCall | WindowCall) -> Range | None:
        if call.function in _COUNTS:
            return ROWS
        if call.function in _SOME_VALUE and call.args and call.args[0].type == call.type:
            return self.of_any([call.args[0], *call.args[2:3]] if call.function in ("lag", "lead") else call.args[:1])
        each = self.of(call.args[0]) if call.function == "sum" and is_exact(call.type) else None
        return _of_type(call.type) if each is None else _sum(each, call.args[0].type, call.type)


def _has_range(type: DataType) -> bool:
    return is_exact(type) or is_date(type) or is_timestamp(type) or bool(pa.types.is_interval(type))


def _of_type(type: DataType) -> Range | None:
    return Range(*integer_range(type)) if is_integer(type) else None


def united(a: Range | None, b: Range | None) -> Range | None:
    return None if a is None or b is None else Range(min(a.low, b.low), max(a.high, b.high))


def _cast(cast: Cast, inner: Range | None) -> Range | None:
    if inner is None or not _has_range(cast.arg.type) or not _has_range(cast.type):
        return _of_type(cast.type) if cast.lenient or not cast.raises else None
    return _corners(lambda value: converted(value, cast.arg.type, cast.type), [inner])


def _call(call: Call, operands: list[Range | None]) -> Range | None:
    function = call.function
    if function in _MOMENT_PARTS or function in _TEXT_LENGTHS:
        return Range(-_WIDTH, _WIDTH)
    if function in ("%", "//") and is_integer(call.type) and operands[0] is not None:  # no further from 0 than the dividend
        most = max(abs(operands[0].low), abs(operands[0].high))
        return Range(-most, most) if most <= integer_range(call.type)[1] else None
    if function not in _MONOTONE or not _has_range(call.type):
        return None if call.raises else _of_type(call.type)
    ranges = [each for each in operands if each is not None]
    if len(ranges) < len(operands):
        return None
    found = _corners(lambda *values: called(function, values, call.type), ranges)
    if found is None:
        return None
    if function == "date_add":
        return _a_day_around(found)
    return Range(type(found.low)(0), found.high) if function == "abs" else found


def _a_day_around(moments: Range) -> Range | None:
    """Days are cut off at the end of a month, so a later moment may become an earlier one, by less than a day."""
    try:
        return Range(moments.low - _DAY, moments.high + _DAY)
    except OverflowError:
        return None


def _corners(value: Callable[..., Any], operands: list[Range]) -> Range | None:
    """The range of an operation that rises or falls with each operand; None where it raises at a corner."""
    try:
        values = [value(*corner) for corner in product(*map(set, operands))]
    except ExecutionError:
        return None
    return None if None in values else Range(min(values), max(values))


def _sum(each: Range, type: DataType, sum: DataType) -> Range | None:
    """Of up to `ROWS.high` values."""
    nothing = each.low * 0
    ends = Range(min(each.low, nothing), max(each.high, nothing))
    return _corners(lambda end: called("*", (converted(end, type, sum), converted(ROWS.high, INT64, sum)), sum), [ends])
