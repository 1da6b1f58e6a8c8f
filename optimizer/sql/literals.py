"""Constants: number, date, timestamp and interval texts to Python values, and casts of literals done when a query is bound.

Values are what `pyarrow.Scalar.as_py` gives: Decimal with exactly the type's scale, `datetime.date`, `datetime.datetime`
without zone, `pyarrow.MonthDayNano`. Dates run from year 1 to 9999.
"""

from __future__ import annotations

import datetime
import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from optimizer.algebra.columns import DataType
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
    is_decimal,
    is_integer,
    is_string,
    is_timestamp,
    type_name,
)

_EXACT = Context(prec=100)
_DATE = re.compile(r"\s*(\d{1,4})[-/](\d{1,2})[-/](\d{1,2})")
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?\s*[Zz]?\s*$")
_INTERVAL_PART = re.compile(r"\s*([+-]?\d+)\s*([a-zA-Z]+)")
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?\s*$")
_BOOLEANS = {"true": True, "t": True, "yes": True, "y": True, "1": True} | {
    "false": False,
    "f": False,
    "no": False,
    "n": False,
    "0": False,
}

# unit -> months, days, microseconds
_UNITS = {
    "microsecond": (0, 0, 1),
    "millisecond": (0, 0, 1_000),
    "second": (0, 0, 1_000_000),
    "minute": (0, 0, 60_000_000),
    "hour": (0, 0, 3_600_000_000),
    "day": (0, 1, 0),
    "week": (0, 7, 0),
    "month": (1, 0, 0),
    "quarter": (3, 0, 0),
    "year": (12, 0, 0),
    "decade": (120, 0, 0),
    "century": (1200, 0, 0),
    "millennium": (12_000, 0, 0),
}
_SHORT_UNITS = {
    **dict.fromkeys(("y", "yr", "yrs"), "year"),
    **dict.fromkeys(("mon", "mons"), "month"),
    **dict.fromkeys(("d", "dayofmonth"), "day"),
    **dict.fromkeys(("h", "hr", "hrs"), "hour"),
    **dict.fromkeys(("min", "mins", "m"), "minute"),
    **dict.fromkeys(("s", "sec", "secs"), "second"),
    **dict.fromkeys(("ms", "msec", "msecs"), "millisecond"),
    **dict.fromkeys(("us", "usec", "usecs"), "microsecond"),
    "w": "week",
    "centuries": "century",
    "millennia": "millennium",
}


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


def interval_value(count: int, unit: str) -> Any:
    """`count` units as months, days and nanoseconds; raises DoesNotFit beyond what an interval holds."""
    months, days, microseconds = (count * n for n in _UNITS[unit])
    if max(abs(months), abs(days)) > 0x7FFFFFFF or abs(microseconds) * 1000 > 0x7FFFFFFFFFFFFFFF:
        raise DoesNotFit(f"{count} {unit}s is too long for an INTERVAL")
    return pa.MonthDayNano([months, days, microseconds * 1000])


def parse_interval(text: str) -> Any:
    """`1 year 2 months`, `-3 days`."""
    total = [0, 0, 0]
    at = 0
    while at < len(text.rstrip()):
        part = _INTERVAL_PART.match(text, at)
        unit = unit_name(part[2]) if part else None
        if part is None or unit is None:
            raise DoesNotFit(f"cannot read '{text}' as INTERVAL")
        value = interval_value(int(part[1]), unit)
        total = [a + b for a, b in zip(total, (value.months, value.days, value.nanoseconds), strict=True)]
        at = part.end()
    if not at or max(abs(total[0]), abs(total[1])) > 0x7FFFFFFF or abs(total[2]) > 0x7FFFFFFFFFFFFFFF:
        raise DoesNotFit(f"cannot read '{text}' as INTERVAL")
    return pa.MonthDayNano(total)


def parse_timestamp(text: str) -> datetime.datetime:
    """`1994-01-01`, `1994-01-01 12:30:00.25`; the time may follow a T. Digits beyond microseconds are cut."""
    date = _DATE.match(text)
    try:
        if date is None:
            raise ValueError
        day = datetime.datetime(int(date[1]), int(date[2]), int(date[3]))
        rest = text[date.end() :].rstrip()
        if not rest:
            return day
        time = _TIME.match(rest[1:].lstrip()) if rest[0] in "Tt " else None
        if time is None:
            raise ValueError
        micros = int((time[4] or "0")[:6].ljust(6, "0"))
        return day.replace(hour=int(time[1]), minute=int(time[2]), second=int(time[3] or 0), microsecond=micros)
    except ValueError:
        raise DoesNotFit(f"cannot read '{text}' as a date or timestamp; write YYYY-MM-DD or YYYY-MM-DD HH:MM:SS") from None


def parse_number(text: str) -> Decimal:
    """A decimal number, exactly."""
    if _NUMBER.match(text) is None:
        raise ValueError(text)
    return Decimal(text.strip())


def fold_cast(literal: Literal, type: DataType) -> Literal | None:
    """CAST of a constant, done now. None when it is left to the executor; raises DoesNotFit when it cannot succeed."""
    value, source = literal.value, literal.type
    if value is None or source == type:
        return Literal(value, type)
    if is_string(source):
        return _from_text(value, type)
    if is_integer(source) or is_decimal(source):
        if is_integer(type) or is_decimal(type):
            return Literal(*_fit(Decimal(value), type))
        if type == DOUBLE:
            return Literal(float(value), DOUBLE)
        if is_string(type):
            return Literal(format(value, "f") if is_decimal(source) else str(value), type)
    if is_date(source) and is_timestamp(type):
        return Literal(datetime.datetime(value.year, value.month, value.day), type)
    if is_timestamp(source) and type == DATE:
        return Literal(value.date(), type)
    if is_date(source) and is_string(type):
        return Literal(value.isoformat(), type)
    if pa.types.is_boolean(source) and is_integer(type):
        return Literal(int(value), type)
    if pa.types.is_boolean(source) and is_string(type):
        return Literal("true" if value else "false", type)
    return None


def _from_text(text: str, type: DataType) -> Literal | None:
    try:
        if is_string(type):
            return Literal(text, type)
        if is_integer(type) or is_decimal(type):
            return Literal(*_fit(parse_number(text), type))
        if type == DOUBLE:
            number = text.strip().lower()
            if "_" in number:
                raise ValueError(text)
            return Literal(float(number), type)
        if pa.types.is_boolean(type):
            return Literal(_BOOLEANS[text.strip().lower()], type)
    except (ValueError, KeyError):
        raise DoesNotFit(f"cannot read '{text}' as {type_name(type)}") from None
    if is_date(type):
        return Literal(parse_timestamp(text).date(), type)
    if is_timestamp(type):
        return Literal(parse_timestamp(text), type)
    if type == INTERVAL:
        return Literal(parse_interval(text), type)
    return None


def _fit(number: Decimal, type: DataType) -> tuple[Any, DataType]:
    """The number rounded (half away from zero) into an integer or decimal type."""
    try:
        if is_integer(type):
            value = int(number.quantize(Decimal(1), ROUND_HALF_UP, _EXACT))
            low, high = integer_range(type)
            if low <= value <= high:
                return value, type
        else:
            scaled = number.quantize(Decimal(1).scaleb(-type.scale), ROUND_HALF_UP, _EXACT)
            if abs(scaled) < Decimal(10) ** (type.precision - type.scale):
                return scaled, type
    except InvalidOperation:
        pass
    raise DoesNotFit(f"{number} does not fit {type_name(type)}")


def add_interval(moment: datetime.date, interval: Any, sign: int = 1) -> datetime.datetime:
    """date_add: calendar months first (the day clipped to the month's last), then days, then time."""
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime(moment.year, moment.month, moment.day)
    month = moment.month - 1 + sign * interval.months
    year, month = moment.year + math.floor(month / 12), month % 12 + 1
    try:
        first = moment.replace(year=year, month=month, day=1)
        following = datetime.date(year + month // 12, month % 12 + 1, 1) if year < 9999 else None
        last = (following - datetime.timedelta(days=1)).day if following else (31 if month in (1, 3, 5, 7, 8, 10, 12) else 30)
        start = first.replace(day=min(moment.day, last))
        return start + sign * datetime.timedelta(days=interval.days, microseconds=interval.nanoseconds // 1000)
    except (ValueError, OverflowError):
        raise DoesNotFit("the date is beyond years 1 to 9999") from None
