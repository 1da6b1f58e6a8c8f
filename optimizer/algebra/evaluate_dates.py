"""Reference semantics of dates and timestamps. Years 1 to 9999: what Python's (and so Arrow's `as_py`) values can say."""

import calendar
import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa

from optimizer.algebra.columns import DataType
from optimizer.errors import ExecutionError

DAY = 86_400_000_000  # microseconds

PARTS: dict[str, Callable[[date | datetime], int]] = {
    "year": lambda d: d.year,
    "quarter": lambda d: (d.month + 2) // 3,
    "month": lambda d: d.month,
    "day": lambda d: d.day,
    "hour": lambda d: as_timestamp(d).hour,
    "minute": lambda d: as_timestamp(d).minute,
    "second": lambda d: as_timestamp(d).second,
    "dayofweek": lambda d: d.isoweekday() % 7,  # Sunday is 0
    "dayofyear": lambda d: d.timetuple().tm_yday,
    "week": lambda d: d.isocalendar().week,
}

FURTHER_PARTS: tuple[tuple[str, str, Callable[[date | datetime], int]], ...] = (
    ("microsecond", "microseconds of its minute", lambda d: as_timestamp(d).second * 1_000_000 + as_timestamp(d).microsecond),
    ("millisecond", "milliseconds of its minute", lambda d: as_timestamp(d).second * 1000 + as_timestamp(d).microsecond // 1000),
    ("decade", "its year without the last digit", lambda d: d.year // 10),
    ("century", "of its year, the year 2000 is in the 20th", lambda d: (d.year + 99) // 100),
    ("millennium", "of its year, the year 2000 is in the 2nd", lambda d: (d.year + 999) // 1000),
    ("yearweek", "year and number of its week, as 202001", lambda d: d.isocalendar().year * 100 + d.isocalendar().week),
)


def as_timestamp(value: date | datetime) -> datetime:
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def date_add(start: date | datetime, interval: Any) -> datetime:
    """Months first, with the day clipped to the month's length, then days, then time (whole microseconds)."""
    moment = as_timestamp(start)
    year, month = divmod(moment.year * 12 + moment.month - 1 + interval.months, 12)
    try:
        day = min(moment.day, calendar.monthrange(year, month + 1)[1])
        moved = moment.replace(year=year, month=month + 1, day=day)
        return moved + timedelta(days=interval.days) + timedelta(microseconds=interval.nanoseconds // 1000)
    except (ValueError, OverflowError):
        raise ExecutionError(f"{start} plus {interval.months} months, {interval.days} days is out of range") from None


def date_add_days(start: date, days: int) -> date:
    try:
        return start + timedelta(days=days)
    except OverflowError:
        raise ExecutionError(f"{start} plus {days} days is out of range") from None


def microseconds_between(a: datetime, b: datetime) -> int:
    return (a - b) // timedelta(microseconds=1)


def to_interval(microseconds: int) -> pa.MonthDayNano:
    """Whole days and the rest, both of one sign."""
    days, rest = divmod(abs(microseconds), DAY)
    sign = 1 if microseconds >= 0 else -1
    return pa.MonthDayNano((0, sign * days, sign * rest * 1000))


def interval_times(interval: Any, count: float) -> pa.MonthDayNano:
    """Of a fraction, what is left of a month is 30 days, what is left of a day time; rounded as in PostgreSQL and DuckDB."""
    months, days, nanoseconds = (count * part for part in interval)
    try:
        if isinstance(count, float):
            more = round((months - math.trunc(months)) * 30 * 1e6) / 1e6  # days
            below = round((days - math.trunc(days) + more - math.trunc(more)) * DAY)  # microseconds
            further = math.trunc(below / DAY)
            months, days = math.trunc(months), math.trunc(days) + math.trunc(more) + further
            nanoseconds = round(count * (interval.nanoseconds // 1000) + (below - further * DAY)) * 1000
        if max(abs(months), abs(days)) < 1 << 31 and abs(nanoseconds) < 1 << 63:
            return pa.MonthDayNano((months, days, nanoseconds))
    except (ValueError, OverflowError):  # NaN, an infinity
        pass
    raise ExecutionError(f"{count} times an INTERVAL is too long for one")


MICROSECONDS = {
    "microsecond": 1, "millisecond": 1000, "second": 1_000_000, "minute": 60_000_000,
    "hour": DAY // 24, "day": DAY, "week": 7 * DAY,
}  # fmt: skip
MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12_000}


def months_since(moment: date) -> int:
    """Whole months since the beginning of the year 0."""
    return moment.year * 12 + moment.month - 1


def date_trunc(unit: str, value: date | datetime, type: DataType) -> date | datetime:
    """The start of the `unit` that `value` lies in; weeks start on Monday, centuries in a year divisible by 100."""
    moment = as_timestamp(value)
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    unit = unit.lower().removesuffix("s")
    if unit == "week":
        start = midnight - timedelta(days=midnight.weekday())
    elif unit in MICROSECONDS:
        start = moment - timedelta(microseconds=microseconds_between(moment, midnight) % MICROSECONDS[unit])
    elif unit not in MONTHS:
        raise ExecutionError(f"date_trunc does not know the unit {unit!r}")
    else:
        months = months_since(moment) // MONTHS[unit] * MONTHS[unit]
        if months < 12:
            raise ExecutionError(f"{midnight.date()} truncated to {MONTHS[unit] // 12} years is before year 1")
        start = datetime(months // 12, months % 12 + 1, 1)
    return start.date() if pa.types.is_date(type) else start


def time_bucket(width: Any, value: datetime, origin: datetime) -> datetime:
    """The start of the stretch of `width`, counted from `origin`, that `value` lies in: whole months, or days and time."""
    try:
        if width.months:
            month = months_since(value)
            month -= (month - months_since(origin)) % width.months
            return datetime(month // 12, month % 12 + 1, 1)
        length = width.days * DAY + width.nanoseconds // 1000
        return value - timedelta(microseconds=microseconds_between(value, origin) % length)
    except (ValueError, OverflowError):
        raise ExecutionError(f"the time_bucket of {value} starts before year 1") from None
