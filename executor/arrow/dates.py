"""Functions of dates and timestamps, semantics as in `algebra.evaluate_dates`: years 1 to 9999."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.distinct import Value, as_array
from executor.arrow.intervals import LAYOUT
from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate_dates import DAY
from optimizer.errors import ExecutionError

_TIMESTAMP, _INT64 = pa.timestamp("us"), pa.int64()
_MOST_DAYS = 106_000_000  # whose microseconds, and those of an interval's time, fit 64 bits
_INFINITE = (1 << 63) - 1  # microseconds
_FIRST_DAY, _LAST_DAY = int(np.datetime64("0001-01-01").astype(int)), int(np.datetime64("9999-12-31").astype(int))

_PARTS = {
    "year": pc.year, "quarter": pc.quarter, "month": pc.month, "day": pc.day, "hour": pc.hour, "minute": pc.minute,
    "second": pc.second, "dayofyear": pc.day_of_year, "week": pc.iso_week,
}  # fmt: skip
PART_NAMES = (*_PARTS, "dayofweek")
_FLOORED = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year")
_YEARS = {"decade": 10, "century": 100, "centurie": 100, "millennium": 1000, "millenium": 1000}


def part(name: str, value: Value) -> Value:
    """extract(name from value), int64."""
    moment = _moments(value)
    if name == "dayofweek":
        return pc.cast(pc.day_of_week(moment, count_from_zero=True, week_start=7), _INT64)
    return pc.cast(_PARTS[name](moment), _INT64)


def _moments(value: Value) -> Value:
    """As timestamps. Raises ExecutionError for what DuckDB writes for infinite ones, of which it has no parts."""
    try:
        moments = pc.cast(value, _TIMESTAMP)
    except pa.ArrowInvalid:
        raise ExecutionError("a date is infinite, or too far away to take parts of it") from None
    ends = pc.min_max(pc.cast(moments, _INT64))
    if ends["max"].as_py() == _INFINITE or ends["min"].as_py() == -_INFINITE:
        raise ExecutionError("a timestamp is infinite and has no parts")
    return moments


def moved(moments: pa.Array, months: Any, days: int, nanoseconds: int) -> np.ndarray:
    """Microseconds, anything for NULL, after `date_add` without bounds: bounds of values, which need not be dates themselves."""
    return _sum(moments, months, days, nanoseconds, lambda days: np.clip(days, -_MOST_DAYS, _MOST_DAYS))


def date_add(start: Value, interval: Value, rows: int) -> pa.Array:
    """Months first, with the day clipped to the month's length, then days, then time."""
    moments = pc.cast(as_array(start, rows), _TIMESTAMP)
    if isinstance(interval, pa.Scalar):
        if not interval.is_valid:
            return pa.nulls(rows, _TIMESTAMP)
        value = interval.as_py()
        return _moved(moments, pc.is_valid(moments), value.months, value.days, value.nanoseconds)
    parts = np.frombuffer(interval.buffers()[1], LAYOUT)[interval.offset : interval.offset + rows]
    valid = pc.and_(pc.is_valid(moments), pc.is_valid(interval))
    return _moved(moments, valid, *(parts[name].astype(np.int64) for name in ("months", "days", "nanoseconds")))


def _moved(moments: pa.Array, is_valid: pa.Array, add_months: Any, add_days: Any, add_nanoseconds: Any) -> pa.Array:
    """What is added may be numbers or arrays of numbers, one a row."""
    valid = is_valid.to_numpy(zero_copy_only=False)

    def within(days: np.ndarray) -> np.ndarray:
        _check_days(days[valid])
        return days

    result = _sum(moments, add_months, add_days, add_nanoseconds, within)
    within(result // DAY)
    return pa.array(result, mask=~valid).cast(_TIMESTAMP)


def _sum(
    moments: pa.Array, add_months: Any, add_days: Any, add_nanoseconds: Any, within: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Microseconds; `within` says what becomes of days that are too far away."""
    days, time = np.divmod(moments.cast(_INT64).fill_null(0).to_numpy(), DAY)
    if np.any(add_months):
        dates = days.astype("M8[D]")
        months = dates.astype("M8[M]")
        day = (dates - months.astype("M8[D]")).astype(np.int64)
        target = (months.astype(np.int64) + add_months).astype("M8[M]")
        first = target.astype("M8[D]")
        length = ((target + np.timedelta64(1, "M")).astype("M8[D]") - first).astype(np.int64)
        days = within(first.astype(np.int64) + np.minimum(day, length - 1))
    return within(days + add_days) * DAY + time + add_nanoseconds // 1000


def days_of(moments: pa.Array) -> pa.Array:
    """As dates. Raises ExecutionError for what is beyond the years."""
    days = moments.cast(pa.date32())
    _check_days(days.cast(pa.int32()).drop_null().to_numpy())
    return days


def microseconds_of(moments: pa.Array) -> np.ndarray:
    """Since 1970, 0 for NULL. Raises ExecutionError for what is beyond the years."""
    days_of(moments)
    return moments.cast(_TIMESTAMP).cast(_INT64).fill_null(0).to_numpy()


def _check_days(days: np.ndarray) -> None:
    if len(days) and (days.min() < _FIRST_DAY or days.max() > _LAST_DAY):
        raise ExecutionError("a date is out of range (years 1 to 9999)")


def date_add_days(start: Value, days: Value, rows: int) -> pa.Array:
    dates, counts = as_array(start, rows), pc.cast(as_array(days, rows), _INT64)
    total = pc.add(pc.cast(pc.cast(dates, pa.int32()), _INT64), pc.if_else(_far(counts), _LAST_DAY * 2, counts))
    valid = total.drop_null()
    _check_days(valid.to_numpy())
    return pc.cast(pc.cast(total, pa.int32()), pa.date32())


def _far(days: pa.Array) -> pa.Array:
    """Counts that lead out of the range from any date; replaced before the addition, so that it cannot wrap around."""
    bound = _LAST_DAY - _FIRST_DAY
    return pc.or_(pc.greater(days, bound), pc.less(days, -bound))


def date_diff_days(a: Value, b: Value) -> Value:
    x, y = (pc.cast(pc.cast(v, pa.int32()), _INT64) for v in (a, b))
    return pc.subtract(x, y)


def microseconds_between(a: Value, b: Value) -> Value:
    return pc.subtract(pc.cast(a, _INT64), pc.cast(b, _INT64))


def date_trunc(unit: str, value: Value, rows: int, type: DataType) -> pa.Array:
    """The start of the unit that `value` lies in; weeks start on Monday, centuries in a year divisible by 100."""
    name = unit.lower().removesuffix("s")
    moments = _moments(as_array(value, rows))
    if name in _FLOORED:
        return pc.cast(pc.floor_temporal(moments, unit=name), type)
    if name not in _YEARS:
        raise ExecutionError(f"date_trunc does not know the unit {unit!r}")
    valid = pc.is_valid(moments).to_numpy(zero_copy_only=False)
    years = moments.fill_null(0).to_numpy(zero_copy_only=False).astype("M8[Y]").astype(np.int64) + 1970
    starts = years // _YEARS[name] * _YEARS[name]
    if (starts[valid] < 1).any():
        raise ExecutionError(f"a date truncated to {_YEARS[name]} years is before year 1")
    days = (starts - 1970).astype("M8[Y]").astype("M8[D]").astype(np.int64).astype(np.int32)
    return pc.cast(pa.array(days, mask=~valid).cast(pa.date32()), type)
