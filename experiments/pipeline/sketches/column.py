"""All summaries of one column, fed batch by batch; those of parts merge into that of the whole.

Everything is made of the distinct values of a batch with their counts, so rows are looked at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from experiments.pipeline.sketches.counts import DistinctSample, count_values, merge_samples, sample_of
from experiments.pipeline.sketches.frequent import Frequent, frequent_of, merge_frequent
from experiments.pipeline.sketches.hyperloglog import HyperLogLog, counter_of, hashes, merge_counters
from experiments.pipeline.sketches.order import cut
from experiments.pipeline.sketches.ranks import Ranks, merge_ranks, ranks_of
from optimizer.catalog.types import fixed_width


@dataclass(frozen=True, slots=True)
class ColumnSketch:
    """Of values of a canonical type. `rows`, `nulls`, `nans`: numbers of rows. `bytes`: of all values in memory but NULLs.
    `bounds`: least and greatest value (long texts cut), empty without any. The summaries know nothing of NULL and NaN."""

    rows: int
    nulls: int
    nans: int
    bytes: float
    bounds: pa.Array
    distinct: HyperLogLog
    frequent: Frequent
    ranks: Ranks
    sample: DistinctSample

    @property
    def type(self) -> pa.DataType:
        return self.bounds.type

    @property
    def present(self) -> int:
        """Rows other than NULL."""
        return self.rows - self.nulls


def sketch_of(array: pa.Array) -> ColumnSketch:
    """Of the rows of one batch, of a canonical type."""
    counts, nans = count_values(array)
    width = fixed_width(array.type)
    present = len(array) - array.null_count
    total = float(pc.sum(pc.binary_length(array)).as_py() or 0) if width is None else width * present
    hashed = hashes(counts.values)
    return ColumnSketch(
        rows=len(array), nulls=array.null_count, nans=nans, bytes=total,
        bounds=pa.concat_arrays([cut(counts.values[:1]), cut(counts.values[-1:], upwards=True)]),
        distinct=counter_of(hashed), frequent=frequent_of(counts), ranks=ranks_of(counts), sample=sample_of(counts, hashed),
    )  # fmt: skip


def merge_sketches(parts: Sequence[ColumnSketch]) -> ColumnSketch:
    """Of at least one part, all of one type. The order of the parts matters little, and not at all for exact figures."""
    if len(parts) == 1:
        return parts[0]
    bounds = pa.concat_arrays([part.bounds for part in parts])
    if len(bounds):
        order = pc.sort_indices(bounds)
        bounds = bounds.take(pa.array([order[0].as_py(), order[-1].as_py()]))
    return ColumnSketch(
        **{name: sum(getattr(part, name) for part in parts) for name in ("rows", "nulls", "nans", "bytes")},
        bounds=bounds,
        distinct=merge_counters([part.distinct for part in parts]),
        frequent=merge_frequent([part.frequent for part in parts]),
        ranks=merge_ranks([part.ranks for part in parts]),
        sample=merge_samples([part.sample for part in parts]),
    )
