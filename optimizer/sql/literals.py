"""Constants: number and interval texts to Python values, and casts of literals done when a query is bound.

A cast gives what it gives of a column (`evaluate_casts`). Values are what `pyarrow.Scalar.as_py` gives: Decimal with exactly the
type's scale, `datetime.date`, `datetime.datetime` without zone, `pyarrow.MonthDayNano`. Dates run from year 1 to 9999.
"""

import re
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate_casts import cast, read_exact
from optimizer.algebra.evaluate_dates import DAY, MICROSECONDS, MONTHS
from optimizer.algebra.scalars import Literal
from optimizer.algebra.types import (
    DATE,
    DOUBLE,
    HUGEINT,
    INT32,
    INT64,
    INTERVAL,
    integer_range,
    is_date,
    is_exact,
    is_integer,
    is_string,
    is_timestamp,
    type_name,
)
from optimizer.errors import ExecutionError

_EXACT = Context(prec=100)
_INTERVAL_PART = re.compile(r"\s*(-?\d+(?:\.\d*)?)\s*([a-zA-Z]+)")
_INTERVAL_TIME = re.compile(r"\s*(-?)(\d+):([0-5]?\d)(?::([0-5]?\d(?:\.\d*)?))?$")
_SECONDS = re.compile(r"-?\d+(?:\.\d*)?")
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?\s*$")

# unit -> months, days, microseconds
_UNITS = {unit: (0, *divmod(microseconds, DAY)) for unit, microseconds in MICROSECONDS.items()} | {
    unit: (months, 0, 0) for unit, months in MONTHS.items()
}
INTERVAL_UNITS = tuple(_UNITS)
_SHORT_UNITS = {
    **dict.fromkeys(("y", "yr", "yrs"), "year"), **dict.fromkeys(("mon", "mons"), "month"),
    **dict.fromkeys(("d", "dayofmonth"), "day"), **dict.fromkeys(("h", "hr", "hrs"), "hour"),
    **dict.fromkeys(("min", "mins", "m"), "minute"), **dict.fromkeys(("s", "sec", "secs"), "second"),
    **dict.fromkeys(("ms", "msec", "msecs"), "millisecond"), **dict.fromkeys(("us", "usec", "usecs"), "microsecond"), "w": "week",
    "centuries": "century", "millennia": "millennium",
}  # fmt: skip


class DoesNotFit(Exception):
    """A constant has no counterpart in the wanted type; the message says so without naming the place."""


def number_literal(text: str) -> Literal:
    """A number as written: 7 is INTEGER, BIGINT or HUGEINT by size, 0.05 is DECIMAL(3,2), 1e3 is DOUBLE.

    Decimals of more than 38 digits become DOUBLE, as in DuckDB, and integers above 2^128 - 1. Raises DoesNotFit for the integers
    between, which DuckDB has exactly and we have not; ValueError for a text that is no number.
    """
    text = text.replace("_", "")
    if "e" in text.lower():
        return Literal(float(text), DOUBLE)
    if _NUMBER.match(text) is None:
        raise ValueError(text)
    whole, point, fraction = text.partition(".")
    if point:
        precision = max(len(whole) + len(fraction), 1)
        if precision > 38:
            return Literal(float(text), DOUBLE)
        return Literal(Decimal(text), pa.decimal128(precision, len(fraction)))
    value = int(text)
    for type in (INT32, INT64):
        if value <= integer_range(type)[1]:
            return Literal(value, type)
    if len(str(value)) <= 38:
        return Literal(Decimal(value), HUGEINT)
    if value < 1 << 128:
        raise DoesNotFit("an integer of more than 38 digits")
    return Literal(float(text), DOUBLE)


def exact_decimal(value: int | Decimal) -> Literal:
    """The value as a decimal of no more digits than it has."""
    number = Decimal(value)
    scale = max(0, -int(number.as_tuple().exponent))
    digits = len(str(abs(int(number.scaleb(scale, _EXACT)))))
    return Literal(number, pa.decimal128(min(38, max(digits, scale, 1)), scale))


def unit_name(text: str) -> str | None:
    """The singular of a date or interval unit (`Years` is year), None when there is no such unit."""
    word = text.lower()
    word = _SHORT_UNITS.get(word, word)
    if word not in _UNITS and word.endswith("s"):
        word = word[:-1]
    return word if word in _UNITS else None


def interval_value(count: int | Fraction, unit: str) -> Any:
    """`count` units as months, days and nanoseconds. Parts are of the next smaller kind: of years whole months, of months whole
    days, 30 to a month. Raises DoesNotFit for too many."""
    months, days, microseconds = (count * n for n in _UNITS[unit])
    days += int((months - int(months)) * 30) if _UNITS[unit][0] < 12 else 0
    text = f"{Decimal(count.numerator) / count.denominator} {unit}s"
    return _interval(int(months), int(days), int(microseconds + (days - int(days)) * DAY), text)


def _interval(months: int, days: int, microseconds: int, text: str) -> Any:
    if max(abs(months), abs(days)) > 0x7FFFFFFF or abs(microseconds) * 1000 > 0x7FFFFFFFFFFFFFFF:
        raise DoesNotFit(f"{text} is too long for an INTERVAL")
    return pa.MonthDayNano([months, days, microseconds * 1000])


def parse_interval(text: str) -> Any:
    """`1 year 2 months`, `-1.5 days`, `1 day 12:30:00`, `2 days ago`; a number alone is seconds. Raises DoesNotFit."""
    rest = text.strip()
    found = [interval_value(Fraction(rest), "second")] if _SECONDS.fullmatch(rest) else []
    rest = "" if found else rest
    sign = 1
    while rest:
        part, time = _INTERVAL_PART.match(rest), _INTERVAL_TIME.match(rest)
        if part is not None and (unit := unit_name(part[2])):
            found.append(interval_value(Fraction(part[1]), unit))
            rest = rest[part.end() :]
        elif time is not None:
            seconds = int(time[2]) * 3600 + int(time[3]) * 60 + Fraction(time[4] or 0)
            found.append(interval_value(-seconds if time[1] else seconds, "second"))
            rest = ""
        elif found and rest.split() == ["ago"]:
            sign, rest = -1, ""
        else:
            found, rest = [], ""
    if not found:
        raise DoesNotFit(f"cannot read '{text}' as INTERVAL")
    months, days, nanoseconds = (sign * sum(parts) for parts in zip(*found, strict=True))
    return _interval(months, days, nanoseconds // 1000, text)


def fold_cast(literal: Literal, type: DataType) -> Literal | None:
    """CAST of a constant, done now. None when it is left to the executor; raises DoesNotFit when it cannot succeed."""
    value, source = literal.value, literal.type
    if value is None or source == type:
        return Literal(value, type)
    if is_string(source) and type == INTERVAL:
        return Literal(parse_interval(value), type)
    if not _folds(source, type):
        return None
    try:
        return Literal(cast(value, source, type), type)
    except ExecutionError:
        raise DoesNotFit(_misfit(value, source, type)) from None


def _folds(source: DataType, type: DataType) -> bool:
    if is_string(source):
        return type == DOUBLE or is_exact(type) or bool(pa.types.is_boolean(type)) or is_date(type) or is_timestamp(type)
    if is_exact(source):
        return type == DOUBLE or is_exact(type) or is_string(type)
    if is_date(source):
        return is_timestamp(type) or is_string(type)
    if is_timestamp(source):
        return bool(type == DATE)
    return bool(pa.types.is_boolean(source)) and (is_integer(type) or is_string(type))


def _misfit(value: Any, source: DataType, type: DataType) -> str:
    if is_string(source) and (is_date(type) or is_timestamp(type)):
        return f"cannot read '{value}' as a date or timestamp; write YYYY-MM-DD or YYYY-MM-DD HH:MM:SS, years 1 to 9999"
    number = value if not is_string(source) else read_exact(value, is_integer(type)) if is_exact(type) else None
    return f"cannot read '{value}' as {type_name(type)}" if number is None else f"{number} does not fit {type_name(type)}"
