"""Spans between moments, counted in microseconds or in months; semantics as in `algebra.evaluate_more`."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from executor.arrow.dates import microseconds_of, moved
from executor.arrow.decimals import with_nulls
from executor.arrow.distinct import Value, as_array
from executor.arrow.intervals import LAYOUT
from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate_dates import DAY, MICROSECONDS, MONTHS


def since_1970(count: Callable[[np.ndarray], np.ndarray], moment: Value, rows: int, type: DataType) -> pa.Array:
    """What `count` makes of a moment's microseconds."""
    array = as_array(moment, rows)
    return with_nulls(count(microseconds_of(array)), type, array)


def between(count: Callable[..., np.ndarray], unit: str, start: Value, end: Value, rows: int) -> pa.Array:
    """What `count` finds of a unit between the microseconds of two moments."""
    a, b = as_array(start, rows), as_array(end, rows)
    return with_nulls(count(unit, microseconds_of(a), microseconds_of(b)), pa.int64(), a, b)


def boundaries(unit: str, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """How many starts of a unit lie between."""
    if unit == "week":  # in DuckDB whole ones of the days between
        return whole_units("week", start // DAY * DAY, end // DAY * DAY)
    if unit in MONTHS:
        return _month(end) // MONTHS[unit] - _month(start) // MONTHS[unit]
    return end // MICROSECONDS[unit] - start // MICROSECONDS[unit]


def whole_units(unit: str, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """How many whole ones of a unit lie between."""
    low, high = np.minimum(start, end), np.maximum(start, end)
    if unit in MONTHS:
        months = _month(high) - _month(low)
        whole = (months - (moved(pa.array(low), months, 0, 0) > high)) // MONTHS[unit]
    else:
        whole = (high - low) // MICROSECONDS[unit]
    return np.where(start > end, -whole, whole)


def _month(microseconds: np.ndarray) -> np.ndarray:
    """Months since the year 0."""
    return (microseconds // DAY).astype("M8[D]").astype("M8[M]").astype(np.int64) + 1970 * 12


def to_interval(microseconds: Value, rows: int) -> pa.Array:
    """Whole days and the rest, both of one sign."""
    array = as_array(microseconds, rows)
    count = array.fill_null(0).to_numpy()
    rest = np.fmod(count, DAY)
    parts = np.zeros(rows, LAYOUT)
    parts["days"], parts["nanoseconds"] = (count - rest) // DAY, rest * 1000
    return with_nulls(parts, pa.month_day_nano_interval(), array)
