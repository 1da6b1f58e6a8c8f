"""RANGE frames with an offset: places found by value, with a binary search for all rows at once.

    x PRECEDING, ascending:  first row with key >= own key - x, row after the last one with key <= own key - x

Values that are no numbers become some: dates days, timestamps microseconds, decimals whole multiples of a common unit. NULLs
have only their peers in reach. NaN is above every number and at distance 0 from itself.
"""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow import decimals
from executor.arrow.dates import moved
from executor.arrow.window_layout import Layout
from executor.arrow.window_scans import ordered_bits
from optimizer.algebra.evaluate_order import order_key
from optimizer.algebra.scalars import Literal
from optimizer.algebra.traits import SortKey

_SAFE = 1 << 62


class RangeKey:
    """The order key's values with the layout of their rows."""

    def __init__(self, values: pa.Array, key: SortKey, layout: Layout) -> None:
        self._values, self._key, self._layout = values, key, layout
        self._valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
        nulls = np.concatenate(([0], np.cumsum(~self._valid)))
        missing = nulls[layout.end] - nulls[layout.start]
        self._low = layout.start + missing if key.nulls_first else layout.start
        self._high = layout.end if key.nulls_first else layout.end - missing

    def place(self, offset: Literal, following: bool, end: bool) -> np.ndarray:
        """The first row that is not before the bound; as an `end` the row after the last one that is not after it."""
        keys, bounds = self._measured(offset, following)
        return np.where(self._valid, self._search(keys, bounds, end), self._layout.peer_end if end else self._layout.peer_start)

    def _measured(self, offset: Literal, following: bool) -> tuple[np.ndarray, np.ndarray]:
        """Numbers for the keys, and for each row's bound; what stands for NULL means nothing. Descending keys are negated."""
        down = self._key.descending
        keys, bounds = _numbers(self._values, offset, 1 if following != down else -1)
        if not down:
            return keys, bounds
        return (~keys, ~bounds) if keys.dtype == np.int64 else (-keys, -bounds)  # ~ cannot overflow

    def _search(self, keys: np.ndarray, bounds: np.ndarray, past_equal: bool) -> np.ndarray:
        """Binary search of every row's bound among the keys of its partition that are not NULL."""
        low, high = self._low.copy(), self._high.copy()
        open_rows = np.flatnonzero((low < high) & self._valid)
        compare: Callable[[Any, Any], Any] = np.less_equal if past_equal else np.less
        while len(open_rows):
            middle = (low[open_rows] + high[open_rows]) >> 1
            before = compare(keys[middle], bounds[open_rows]).astype(np.bool_)
            low[open_rows[before]] = middle[before] + 1
            high[open_rows[~before]] = middle[~before]
            open_rows = open_rows[low[open_rows] < high[open_rows]]
        return low


def _numbers(values: pa.Array, offset: Literal, sign: int) -> tuple[np.ndarray, np.ndarray]:
    """The keys, and the keys moved by `sign` times the offset, as numbers that order as they do."""
    t, type, distance = pa.types, values.type, offset.value
    if t.is_floating(offset.type):
        return _floats(values, offset, sign)
    if t.is_interval(type):
        return _whole(_objects(values, order_key), sign * order_key(distance))
    if isinstance(distance, pa.MonthDayNano):
        return _moments(values, distance, sign)
    if t.is_date32(type):
        return _whole(values.cast(pa.int32()).cast(pa.int64()).fill_null(0).to_numpy(), sign * distance)
    scale = max(_scale(type), -int(distance.as_tuple().exponent) if isinstance(distance, Decimal) else 0)
    return _whole(_scaled(values, scale), sign * int(Fraction(distance) * 10**scale))


def _floats(values: pa.Array, offset: Literal, sign: int) -> tuple[np.ndarray, np.ndarray]:
    number = np.float32 if offset.type == pa.float32() else np.float64
    exact = decimals.to_double(values) if pa.types.is_decimal(values.type) else values.cast(pa.float64(), safe=False)
    keys = exact.fill_null(0.0).to_numpy().astype(number)
    with np.errstate(over="ignore", invalid="ignore"):
        moved = keys + number(sign * offset.value)
    return ordered_bits(keys.astype(np.float64)), ordered_bits(moved.astype(np.float64))


def _moments(values: pa.Array, distance: pa.MonthDayNano, sign: int) -> tuple[np.ndarray, np.ndarray]:
    keys = values.cast(pa.timestamp("us"))
    bounds = moved(keys, sign * distance.months, sign * distance.days, sign * distance.nanoseconds)
    return keys.cast(pa.int64()).fill_null(0).to_numpy(), bounds


def _scale(type: pa.DataType) -> int:
    return int(type.scale) if pa.types.is_decimal(type) else 0


def _scaled(values: pa.Array, scale: int) -> np.ndarray:
    """Integers and decimals in units of 10^-scale; Python integers where int64 could be too small."""
    whole = decimals.unscaled(values)
    factor = 10 ** (scale - _scale(values.type))
    if whole is not None and max(decimals.largest(whole), 1) * factor < _SAFE:
        return whole * factor
    return _objects(values, lambda value: int(Fraction(value) * 10**scale))


def _objects(values: pa.Array, number: Callable[[Any], int]) -> np.ndarray:
    result = np.zeros(len(values), np.object_)
    result[:] = [0 if value is None else number(value) for value in values.to_pylist()]
    return result


def _whole(keys: np.ndarray, distance: int) -> tuple[np.ndarray, np.ndarray]:
    if keys.dtype == np.int64 and decimals.largest(keys) + abs(distance) >= _SAFE:
        keys = keys.astype(np.object_)
    return keys, keys + distance
