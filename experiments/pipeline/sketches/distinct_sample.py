"""A sample of the distinct values of a column with their counts: those with the smallest hashes.

The k minimum values of Bar-Yossef et al. (RANDOM 2002), used as by Gibbons (VLDB 2001): whether a value is in depends on its hash
alone, and one that is in a merged sample was in the sample of every part that has it, so its count is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from experiments.pipeline.sketches.counts import Counts
from experiments.pipeline.sketches.order import cut

SIZE = 2048


class DistinctSample:
    """`hashes` ascend; `values` (long texts cut) and `counts` go with them. Of fewer than SIZE distinct values, all."""

    __slots__ = ("counts", "hashes", "values")

    def __init__(self, hashes: np.ndarray, values: pa.Array, counts: np.ndarray) -> None:
        self.hashes, self.values, self.counts = hashes, values, counts

    @property
    def once(self) -> float:
        """The share of distinct values that occur once (0 without any)."""
        return float((self.counts == 1).mean()) if len(self.counts) else 0.0


def sample_of(counts: Counts, hashed: np.ndarray) -> DistinctSample:
    """Of one batch; `hashed`: the hashes of its values."""
    if len(hashed) > SIZE:
        smallest = np.argpartition(hashed, SIZE)[:SIZE]
        smallest = smallest[np.argsort(hashed[smallest])]
    else:
        smallest = np.argsort(hashed)
    return DistinctSample(hashed[smallest], cut(counts.values.take(pa.array(smallest))), counts.counts[smallest])


def merge_samples(parts: Sequence[DistinctSample]) -> DistinctSample:
    if len(parts) == 1:
        return parts[0]
    everything = np.concatenate([part.hashes for part in parts])
    hashes, first, places = np.unique(everything, return_index=True, return_inverse=True)
    counts = np.bincount(places, np.concatenate([part.counts for part in parts]), len(hashes)).astype(np.int64)
    values = pa.concat_arrays([part.values for part in parts])
    return DistinctSample(hashes[:SIZE], values.take(pa.array(first[:SIZE])), counts[:SIZE])
