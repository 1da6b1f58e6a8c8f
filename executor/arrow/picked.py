"""Values of groups that are those of one row, or made of the group's rows in order: first and last, smallest and largest beside
another, most frequent, at a fraction, joined texts, combined bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow import decimals
from executor.arrow.batches import single_array
from executor.arrow.comparisons import normalized
from executor.arrow.distinct import spread
from executor.arrow.segments import Direction, grouped_rows, segment_of, sorted_within
from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate_aggregates import between
from optimizer.algebra.types import TIMESTAMP

Columns = list[pa.Array]
_ASCENDING, _DESCENDING = Direction(False, False), Direction(True, False)


def _taken(columns: Columns, rows: np.ndarray) -> Columns:
    chosen = pa.array(rows)
    return [column.take(chosen) for column in columns]


def first_rows(columns: Columns, offsets: np.ndarray) -> Columns:
    return _taken(columns, offsets[:-1])


def last_rows(columns: Columns, offsets: np.ndarray) -> Columns:
    return _taken(columns, offsets[1:] - 1)


def smallest(columns: Columns, offsets: np.ndarray) -> Columns:
    """The first row of each segment that has the smallest of the second column."""
    return _taken(sorted_within(columns, [1], [_ASCENDING], offsets), offsets[:-1])


def largest(columns: Columns, offsets: np.ndarray) -> Columns:
    return _taken(sorted_within(columns, [1], [_DESCENDING], offsets), offsets[:-1])


def one_value(columns: Columns, offsets: np.ndarray, constants: Sequence[Any], type: DataType) -> pa.Array:
    """The value of the segment's only row; NULL where it has none."""
    full = offsets[1:] > offsets[:-1]
    return columns[0].take(pa.array(np.where(full, offsets[:-1], 0), mask=~full))


def folded(fold: np.ufunc) -> Callable[[Columns, np.ndarray], Columns]:
    """The values of each segment combined."""

    def merge(columns: Columns, offsets: np.ndarray) -> Columns:
        values = columns[0].to_numpy()
        with np.errstate(all="ignore"):
            return [pa.array(fold.reduceat(values, offsets[:-1]) if len(offsets) > 1 else values, columns[0].type)]

    return merge


def mode(columns: Columns, offsets: np.ndarray, constants: Sequence[Any], type: DataType) -> pa.Array:
    """The most frequent value; of several the first."""
    segment = segment_of(offsets)
    table = pa.table({"segment": segment, "value": normalized(columns[0])})
    rows, groups = grouped_rows(table, ["segment", "value"])
    first = rows[groups[:-1]]
    order = np.lexsort((first, -np.diff(groups), segment[first]))
    best, place = np.unique(segment[first][order], return_index=True)
    source, found = np.zeros(len(offsets) - 1, np.int64), np.zeros(len(offsets) - 1, np.bool_)
    source[best], found[best] = first[order][place], True
    return columns[0].take(pa.array(source, mask=~found))


def quantile_disc(columns: Columns, offsets: np.ndarray, constants: Sequence[Any], type: DataType) -> pa.Array:
    (fraction,) = constants
    values, size = _sorted(columns, offsets, fraction), np.diff(offsets)
    place = np.maximum(1, size - np.floor(size - size * abs(fraction)).astype(np.int64)) - 1
    return values.take(pa.array(np.where(size > 0, offsets[:-1] + place, 0), mask=size == 0))


def quantile_cont(columns: Columns, offsets: np.ndarray, constants: Sequence[Any], type: DataType) -> pa.Array:
    """Of floats and integers."""
    (fraction,) = constants
    values = _sorted(columns, offsets, fraction).cast(pa.float64(), safe=False).to_numpy()
    low, high, part = _neighbours(offsets, fraction)
    a, b = values[low], values[high]
    with np.errstate(all="ignore"):
        found = np.where(low == high, a, a * (1.0 - part) + b * part)
    return _of_segments(pa.array(found).cast(type, safe=False), offsets)


def quantile_cont_exact(columns: Columns, offsets: np.ndarray, constants: Sequence[Any], type: DataType) -> pa.Array:
    """Of decimals and times, in whole steps of the type."""
    (fraction,) = constants
    low, high, part = _neighbours(offsets, fraction)
    steps = _steps(columns[0])
    if steps is None:
        values = _sorted(columns, offsets, fraction)
        a, b = (values.take(pa.array(rows)).to_pylist() for rows in (low, high))
        return _of_segments(pa.array(list(map(between, a, b, part.tolist())), type), offsets)
    values = _sorted([pa.array(steps)], offsets, fraction).to_numpy()
    start, way = values[low], (values[high] - values[low]) * part
    if pa.types.is_decimal(type):
        return _of_segments(decimals.from_unscaled(start + way.astype(np.int64), type, None), offsets)
    whole = np.floor(way)
    moment, rest = start + whole.astype(np.int64), way - whole
    moment += (rest > 0.5) | ((rest == 0.5) & (moment >= 0))  # half away from 1970
    return _of_segments(pa.array(moment, type), offsets)


def _steps(values: pa.Array) -> np.ndarray | None:
    """Valid decimals and times as numbers whose differences fit int64; None where they may not."""
    try:
        decimal = pa.types.is_decimal(values.type)
        steps = decimals.unscaled(values) if decimal else values.cast(TIMESTAMP).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:  # a date beyond the timestamps
        return None
    return steps if steps is not None and decimals.largest(steps) < 1 << 62 else None


def _neighbours(offsets: np.ndarray, fraction: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each segment that is not empty the two rows around its fraction, and which part of the way lies before it."""
    some = offsets[1:] > offsets[:-1]
    start, place = offsets[:-1][some], (np.diff(offsets)[some] - 1) * abs(fraction)
    low, high = np.floor(place).astype(np.int64), np.ceil(place).astype(np.int64)
    return start + low, start + high, place - low


def _of_segments(found: pa.Array, offsets: np.ndarray) -> pa.Array:
    """The values of segments that are not empty, NULL for others."""
    return spread(found, pa.array(offsets[1:] > offsets[:-1]))


def _sorted(columns: Columns, offsets: np.ndarray, fraction: float) -> pa.Array:
    return sorted_within(columns, [0], [_DESCENDING if fraction < 0 else _ASCENDING], offsets)[0]


def string_agg(columns: Columns, offsets: np.ndarray, constants: Sequence[Any], type: DataType) -> pa.Array:
    (separator,) = constants
    size = np.diff(offsets)
    if separator is None:
        return pa.nulls(len(size), type)
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), columns[0])
    joined = single_array(pc.binary_join(lists, separator))
    return pc.if_else(pa.array(size > 0), joined, pa.scalar(None, type))
