"""Distinct values with how often each occurs: what every summary of a column is fed with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.comparisons import normalized
from executor.arrow.key_words import key_words, mix


class Counts(NamedTuple):
    """`values`: an Arrow array of distinct values, no NULL and no NaN; `counts`: int64, one for each."""

    values: pa.Array
    counts: np.ndarray

    def take(self, positions: np.ndarray) -> Counts:
        """Of those positions; a boolean array keeps where it is True."""
        if positions.dtype == bool:
            positions = np.flatnonzero(positions)
        return Counts(self.values.take(pa.array(positions)), self.counts[positions])

    @property
    def total(self) -> int:
        return int(self.counts.sum())


def no_counts(type: pa.DataType) -> Counts:
    return Counts(pa.array([], type), np.empty(0, np.int64))


def count_values(array: pa.Array) -> tuple[Counts, int]:
    """Values other than NULL and NaN, counted, and the number of NaNs."""
    present = normalized(array.drop_null() if array.null_count else array)
    nans = 0
    if pa.types.is_floating(present.type):
        is_nan = pc.is_nan(present)
        nans = pc.sum(is_nan).as_py() or 0
        if nans:
            present = present.filter(pc.invert(is_nan))
    found = present.value_counts()
    return Counts(found.field("values"), found.field("counts").to_numpy()), nans


def merged(parts: Sequence[Counts]) -> Counts:
    """The counts of all parts, values of several added up, in ascending order of values."""
    if not parts:
        raise ValueError("nothing to merge")
    if len(parts) > 1:
        table = pa.table(
            {
                "values": pa.chunked_array([part.values for part in parts]),
                "counts": pa.chunked_array([pa.array(part.counts) for part in parts]),
            }
        )
        grouped = table.group_by("values").aggregate([("counts", "sum")])
        whole = Counts(_one_array(grouped["values"]), grouped["counts_sum"].to_numpy())
    else:
        whole = parts[0]
    return whole.take(pc.sort_indices(whole.values).to_numpy())


def hashes(*columns: pa.Array) -> np.ndarray:
    """64 well mixed bits (uint64) for each row of one column or of several: equal for equal values, NULL being one."""
    everything = (1 << len(columns)) - 1
    words, _ = key_words(columns, null_safe=everything)
    mixed = np.zeros(len(columns[0]), np.uint64)
    for word in words:
        mixed = mix(mix(mixed ^ word.view(np.uint64)) + np.uint64(0x632BE59BD9B4E019))
    return mixed


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
