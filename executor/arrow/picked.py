"""Values of groups that are those of one row, or made of the group's rows in order: first and last, smallest and largest beside
another, most frequent, joined texts, combined bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.batches import single_array
from executor.arrow.comparisons import normalized
from executor.arrow.segments import Direction, grouped_rows, segment_of, sorted_within
from optimizer.algebra.columns import DataType

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


def string_agg(columns: Columns, offsets: np.ndarray, constants: Sequence[Any], type: DataType) -> pa.Array:
    (separator,) = constants
    size = np.diff(offsets)
    if separator is None:
        return pa.nulls(len(size), type)
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), columns[0])
    joined = single_array(pc.binary_join(lists, separator))
    return pc.if_else(pa.array(size > 0), joined, pa.scalar(None, type))
