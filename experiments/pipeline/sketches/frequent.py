"""The most common values of a column, with counts that are at most a known number too low.

The summary of Misra and Gries (1982) in the mergeable form of Agarwal et al. (PODS 2012): of more than CAPACITY counted values the
CAPACITY most common are kept and the count of the next one is subtracted from all. A value that is not kept occurred `error`
times at most; one that is kept, `error` times more than its count at most.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from experiments.pipeline.sketches.counts import Counts, merged, no_counts

CAPACITY = 4096
_PENDING = 4  # parts gathered before they are merged


class Frequent:
    __slots__ = ("_parts", "error")

    def __init__(self, type: pa.DataType, kept: Counts | None = None, error: int = 0) -> None:
        self._parts = [no_counts(type) if kept is None else kept]
        self.error = error

    @property
    def kept(self) -> Counts:
        self._reduce()
        return self._parts[0]

    def add(self, counts: Counts) -> None:
        self._parts.append(self._most_common(counts))
        if len(self._parts) > _PENDING:
            self._reduce()

    def merge(self, other: Frequent) -> None:
        self.error += other.error
        self.add(other.kept)

    def _reduce(self) -> None:
        if len(self._parts) > 1:
            self._parts = [self._most_common(merged(self._parts))]

    def _most_common(self, counts: Counts) -> Counts:
        if len(counts.counts) <= CAPACITY:
            return counts
        cut = int(np.partition(counts.counts, -CAPACITY - 1)[-CAPACITY - 1])
        self.error += cut
        left = counts.take(counts.counts > cut)
        return Counts(left.values, left.counts - cut)
