"""Rows of a group side by side: segments.

Segment g of some columns are their rows offsets[g] … offsets[g + 1]; `offsets` (int64) has an entry more than there are segments.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.batches import column_name, single_array
from executor.arrow.comparisons import normalized
from executor.arrow.ordering import sorted_runs
from optimizer.algebra.traits import SortKey


class Direction(NamedTuple):
    """How a column is sorted by."""

    descending: bool
    nulls_first: bool


def grouped_rows(table: pa.Table, keys: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The rows of `table` group by group, in row order within a group, and the offsets of the groups; NULL equals NULL."""
    rows = pa.array(np.arange(table.num_rows))
    if not keys:
        return rows.to_numpy(), np.array([0, table.num_rows]) if table.num_rows else np.zeros(1, np.int64)
    numbered = table.select(keys).append_column("row", rows)
    lists = single_array(numbered.group_by(keys, use_threads=False).aggregate([("row", "list")])["row_list"])
    return lists.flatten().to_numpy(), lists.offsets.to_numpy().astype(np.int64) - lists.offsets[0].as_py()


def segment_of(offsets: np.ndarray) -> np.ndarray:
    """The number of each row's segment."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def side_by_side(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the ranges [low, high), one range after the other, and the offsets of each range's rows."""
    size = high - low
    offsets = np.concatenate([[0], np.cumsum(size)])
    return np.arange(offsets[-1]) + np.repeat(low - offsets[:-1], size), offsets


def offsets_of(segment: np.ndarray, count: int) -> np.ndarray:
    """The offsets of rows whose segments, of `count`, ascend."""
    return np.concatenate([[0], np.cumsum(np.bincount(segment, minlength=count))]).astype(np.int64)


def sorted_within(
    columns: Sequence[pa.Array], by: Sequence[int], how: Sequence[Direction], offsets: np.ndarray
) -> list[pa.Array]:
    """The columns with the rows of each segment sorted by the columns number `by`; rows equal in those stay as they are."""
    table = pa.table(list(columns), [column_name(i) for i in range(len(columns))])
    order = tuple(SortKey(i, d.descending, d.nulls_first) for i, d in zip(by, how, strict=True))
    size = np.diff(offsets)
    runs = segment_of(np.append(offsets[:-1][size > 0], offsets[-1]))  # numbers without gaps, as `sorted_runs` wants them
    return [single_array(c) for c in sorted_runs(table, runs, order).columns]


def without(columns: Sequence[pa.Array], keep: pa.Array, offsets: np.ndarray) -> tuple[list[pa.Array], np.ndarray]:
    """The rows where `keep` (no NULLs) is TRUE."""
    if keep.true_count == len(keep):
        return list(columns), offsets
    before = np.concatenate([[0], np.cumsum(keep.to_numpy(zero_copy_only=False))])
    return [column.filter(keep) for column in columns], before[offsets]


def distinct_within(columns: Sequence[pa.Array], offsets: np.ndarray) -> tuple[list[pa.Array], np.ndarray]:
    """The first rows of those that are equal in a segment."""
    segment = segment_of(offsets)
    names = [str(i) for i in range(len(columns))]
    table = pa.table([pa.array(segment), *(normalized(c) for c in columns)], ["segment", *names])
    rows, groups = grouped_rows(table, ["segment", *names])
    first = np.sort(rows[groups[:-1]])
    chosen = pa.array(first)
    return [column.take(chosen) for column in columns], offsets_of(segment[first], len(offsets) - 1)


def all_valid(columns: Sequence[pa.Array]) -> pa.Array:
    """Rows without NULL in any of the columns, of which there is at least one."""
    keep = pc.is_valid(columns[0])
    for column in columns[1:]:
        keep = pc.and_(keep, pc.is_valid(column))
    return keep
