"""Distinct values with how often each occurs: what every summary of a column is fed with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.comparisons import normalized
from experiments.pipeline.sketches.order import from_sortable, is_text, run_starts, sortable, sorted_order

_LOOK = 4096  # values that are looked at to see whether most differ


class Counts(NamedTuple):
    """`values`: an Arrow array of distinct values in ascending order, no NULL and no NaN; `counts`: int64, one for each."""

    values: pa.Array
    counts: np.ndarray

    def take(self, positions: np.ndarray) -> Counts:
        """Of those positions, ascending; a boolean array keeps where it is True."""
        if positions.dtype == bool:
            positions = np.flatnonzero(positions)
        return Counts(self.values.take(pa.array(positions)), self.counts[positions])

    @property
    def total(self) -> int:
        return int(self.counts.sum())


def count_values(array: pa.Array) -> tuple[Counts, int]:
    """Values other than NULL and NaN, counted, and the number of NaNs. -0.0 is 0.0."""
    present = normalized(array.drop_null() if array.null_count else array)
    nans = 0
    if pa.types.is_floating(present.type):
        is_nan = pc.is_nan(present)
        nans = int(pc.sum(is_nan).as_py() or 0)
        if nans:
            present = present.filter(pc.invert(is_nan))
    if not len(present):
        return Counts(pa.array([], array.type), np.empty(0, np.int64)), nans
    words = None if is_text(present.type) else sortable(present)
    if words is not None:
        ascending = np.sort(words)
        starts = run_starts(ascending)
        return Counts(from_sortable(ascending[starts], array.type), np.diff(starts, append=len(ascending))), nans
    if not _mostly_distinct(present):  # hashing few values is faster than sorting them all
        found = present.value_counts()
        order = sorted_order(values := found.field("values"))
        return Counts(values.take(pa.array(order.first)), order.sums(found.field("counts").to_numpy())), nans
    order = sorted_order(present)
    return Counts(present.take(pa.array(order.first)), order.lengths), nans


def _mostly_distinct(values: pa.Array) -> bool:
    step = max(1, len(values) // _LOOK)
    looked_at = values.take(pa.array(np.arange(0, len(values), step)))
    return bool(pc.count_distinct(looked_at).as_py() * 4 > len(looked_at))
