"""All summaries of one column, fed batch by batch; sketches of two parts merge into the sketch of both.

Everything is made from the distinct values of a batch with their counts, which Arrow finds in one pass over the rows.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from experiments.pipeline.sketches.counts import count_values, hashes
from experiments.pipeline.sketches.distinct_sample import DistinctSample
from experiments.pipeline.sketches.frequent import Frequent
from experiments.pipeline.sketches.hyperloglog import HyperLogLog
from optimizer.catalog.types import type_width


class ColumnSketch:
    """`rows`, `nulls`, `nans`: numbers of rows. `bytes`: of all values in memory, NULLs not counted. `low`, `high`: bounds of the
    other values as Python objects, None without any. `type` is canonical."""

    __slots__ = ("bytes", "distinct", "frequent", "high", "low", "nans", "nulls", "rows", "sample", "type")

    def __init__(self, type: pa.DataType) -> None:
        self.type = type
        self.rows = self.nulls = self.nans = 0
        self.bytes = 0.0
        self.low: Any = None
        self.high: Any = None
        self.distinct = HyperLogLog()
        self.frequent = Frequent(type)
        self.sample = DistinctSample(type)

    def add(self, array: pa.Array) -> None:
        """See the rows of a batch."""
        self.rows += len(array)
        self.nulls += array.null_count
        counts, nans = count_values(array)
        self.nans += nans
        width = type_width(self.type)
        if width is not None:
            self.bytes += width * (len(array) - array.null_count)
        if not len(counts.counts):
            return
        if width is None:
            self.bytes += float((pc.binary_length(counts.values).to_numpy().astype(float) * counts.counts).sum())
        bounds = pc.min_max(counts.values).as_py()
        self._widen(bounds["min"], bounds["max"])
        hashed = hashes(counts.values)
        self.distinct.add(hashed)
        self.frequent.add(counts)
        self.sample.add(counts, hashed)

    def merge(self, other: ColumnSketch) -> None:
        self.rows += other.rows
        self.nulls += other.nulls
        self.nans += other.nans
        self.bytes += other.bytes
        self._widen(other.low, other.high)
        self.distinct.merge(other.distinct)
        self.frequent.merge(other.frequent)
        self.sample.merge(other.sample)

    def _widen(self, low: Any, high: Any) -> None:
        if low is not None:
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)
