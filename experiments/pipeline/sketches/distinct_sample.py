"""A sample of the distinct values of a column, each with its exact count (Gibbons, VLDB 2001).

A value is in the sample of level k when the lowest k bits of its hash are 0, one value in 2^k; the level rises when the sample
outgrows CAPACITY. Whether a value is in depends on nothing but the value, so its count is complete in every merged sample.
At level 0 the sample is all there is.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from experiments.pipeline.sketches.counts import Counts, hashes, merged, no_counts

CAPACITY = 1 << 16
_PENDING = 4


class DistinctSample:
    __slots__ = ("_parts", "level")

    def __init__(self, type: pa.DataType, kept: Counts | None = None, level: int = 0) -> None:
        self._parts = [no_counts(type) if kept is None else kept]
        self.level = level

    @property
    def kept(self) -> Counts:
        """In ascending order of values."""
        self._reduce(always=True)
        return self._parts[0]

    def add(self, counts: Counts, hashed: np.ndarray) -> None:
        """`hashed`: the hashes of the values."""
        if self.level:
            counts = counts.take(_at(self.level, hashed))
        if len(counts.counts) > 2 * CAPACITY:  # level up before work is put into what would be dropped
            while self.level < 63 and int(_at(self.level, hashed).sum()) > CAPACITY:
                self.level += 1
            counts = counts.take(_at(self.level, hashes(counts.values)))
        self._parts.append(counts)
        if len(self._parts) > _PENDING:
            self._reduce()

    def merge(self, other: DistinctSample) -> None:
        self.level = max(self.level, other.level)
        kept = other.kept
        self.add(kept, hashes(kept.values))

    def _reduce(self, always: bool = False) -> None:
        if len(self._parts) == 1 and not always:
            return
        whole = merged(self._parts)
        hashed = hashes(whole.values)
        while int(_at(self.level, hashed).sum()) > CAPACITY:
            self.level += 1
        self._parts = [whole.take(_at(self.level, hashed)) if self.level else whole]


def _at(level: int, hashed: np.ndarray) -> np.ndarray:
    return (hashed & np.uint64((1 << level) - 1)) == 0
