"""Distinct values with how often each occurs: of a batch all, which every summary is fed with; of a column a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.comparisons import normalized
from experiments.pipeline.sketches.order import cut, from_sortable, is_text, sortable

SAMPLE = 2048  # distinct values of a column that are kept with their counts
_LOOK = 4096  # values that are looked at to see whether most differ


class Counts(NamedTuple):
    """`values`: an Arrow array of distinct values in ascending order, no NULL and no NaN; `counts`: int64, one for each."""

    values: pa.Array
    counts: np.ndarray

    def take(self, positions: np.ndarray) -> Counts:
        """Of those positions, ascending; a boolean array keeps where it is True."""
        positions = np.flatnonzero(positions) if positions.dtype == bool else positions
        return Counts(self.values.take(pa.array(positions)), self.counts[positions])

    @property
    def total(self) -> int:
        return int(self.counts.sum())


def count_values(array: pa.Array) -> tuple[Counts, int]:
    """Values other than NULL and NaN, counted, and the number of NaNs. -0.0 is 0.0."""
    present = normalized(array.drop_null())
    if pa.types.is_floating(present.type):
        present = present.filter(pc.invert(pc.is_nan(present)))
    nans = len(array) - array.null_count - len(present)
    words = None if is_text(present.type) else sortable(present)
    if words is not None:
        found, numbers = np.unique(words, return_counts=True)
        return Counts(from_sortable(found, array.type), numbers), nans
    looked_at = present.take(pa.array(np.arange(0, len(present), max(1, len(present) // _LOOK))))
    if pc.count_distinct(looked_at).as_py() * 4 > len(looked_at):
        runs = pc.run_end_encode(present.take(pc.sort_indices(present)))
        return Counts(runs.values, np.diff(runs.run_ends.to_numpy().astype(np.int64), prepend=0)), nans
    counted = present.value_counts()  # hashing few values is faster than sorting them all
    order = pc.sort_indices(counted.field("values"))
    return Counts(counted.field("values").take(order), counted.field("counts").take(order).to_numpy()), nans


@dataclass(slots=True, eq=False)
class DistinctSample:
    """A sample of the distinct values of a column with their counts: those with the smallest hashes.

    The k minimum values of Bar-Yossef et al. (RANDOM 2002), used as by Gibbons (VLDB 2001): whether a value is in depends on its
    hash alone, and one that is in a merged sample was in the sample of every part that has it, so its count is exact.
    `hashes` ascend; `values` (long texts cut) and `counts` go with them. Of fewer than SAMPLE distinct values, all."""

    hashes: np.ndarray
    values: pa.Array
    counts: np.ndarray

    @property
    def once(self) -> float:
        """The share of distinct values that occur once (0 without any)."""
        return float((self.counts == 1).mean()) if len(self.counts) else 0.0


def sample_of(counts: Counts, hashed: np.ndarray) -> DistinctSample:
    """Of one batch; `hashed`: the hashes of its values."""
    smallest = np.argpartition(hashed, SAMPLE)[:SAMPLE] if len(hashed) > SAMPLE else np.arange(len(hashed))
    smallest = smallest[np.argsort(hashed[smallest])]
    return DistinctSample(hashed[smallest], cut(counts.values.take(pa.array(smallest))), counts.counts[smallest])


def merge_samples(parts: Sequence[DistinctSample]) -> DistinctSample:
    everything = np.concatenate([part.hashes for part in parts])
    hashes, first, places = np.unique(everything, return_index=True, return_inverse=True)
    counts = np.bincount(places, np.concatenate([part.counts for part in parts]), len(hashes)).astype(np.int64)
    values = pa.concat_arrays([part.values for part in parts])
    return DistinctSample(hashes[:SAMPLE], values.take(pa.array(first[:SAMPLE])), counts[:SAMPLE])
