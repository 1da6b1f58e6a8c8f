"""An equi-depth histogram of the values of a column that are not among its most common ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from experiments.pipeline.sketches.column import ColumnSketch
from experiments.pipeline.sketches.counts import Counts
from experiments.pipeline.sketches.order import sorted_order
from optimizer.catalog.histogram import Histogram

BUCKETS = 100


def exact_histogram(others: Counts) -> Histogram | None:
    """Of counted values, ascending."""
    if not len(others.counts):
        return None
    upto = np.cumsum(others.counts)
    ends = _ends(upto.astype(float))
    rows = np.diff(upto[ends], prepend=0).astype(float)
    ndv = np.diff(ends, prepend=-1)
    bounds = others.values.take(pa.array(np.concatenate([[0], ends])))
    return Histogram(tuple(bounds.to_pylist()), tuple(rows.tolist()), tuple(ndv.astype(float).tolist()))


def estimated_histogram(sketch: ColumnSketch, common: Counts, ndv: float, scale: float) -> Histogram | None:
    """From the ranks of some values. `common`: the values left out, ascending, and their rows; `ndv`: distinct others, all told.

    A range of values is off by 1/BUCKETS of the rows at most at each end, besides the error of the ranks, 1/2,000 or so.
    """
    ranks = sketch.ranks
    total = float(ranks.rows - common.total)
    codes = sorted_order(pa.concat_arrays([ranks.values, common.values])).codes
    points, mine = codes[: len(ranks.values)], codes[len(ranks.values) :]
    below = np.concatenate([[0], np.cumsum(common.counts)])[np.searchsorted(mine, points, side="right")]
    upto = np.clip(np.maximum.accumulate(ranks.upto.mean(axis=1) - below), 0.0, total)
    other = np.flatnonzero(~np.isin(points, mine))
    if not len(other) or total <= 0:
        return None
    upto[other[-1] :] = total
    first, last = int(other[0]), int(other[-1])
    ends = _ends(upto[first : last + 1]) + first
    ends[-1] = last
    rows = np.diff(upto[ends], prepend=0.0)
    bounds = ranks.values.take(pa.array(np.concatenate([[first], ends])))
    filled = np.maximum(rows * scale, 1.0)
    values = np.clip(_distinct(sketch, common, bounds[1:], rows, ndv), 1.0, filled)
    return Histogram(tuple(bounds.to_pylist()), tuple(filled.tolist()), tuple(values.tolist()))


def _ends(upto: np.ndarray) -> np.ndarray:
    """The positions at which buckets of about as many rows end; `upto`: rows up to each position."""
    wanted = upto[-1] * np.arange(1, BUCKETS + 1) / BUCKETS
    return np.unique(np.minimum(np.searchsorted(upto, wanted * (1 - 1e-12)), len(upto) - 1))


def _distinct(sketch: ColumnSketch, common: Counts, ends: pa.Array, rows: np.ndarray, ndv: float) -> np.ndarray:
    """Distinct values by bucket, `ndv` together, from the sample of distinct values.

    Where values occur about equally often their mean frequency in a bucket says how many there are; else how many of the
    sample fall into it. A bucket without any has less than one of the sample stands for.
    """
    sample = sketch.sample
    keep = ~pc.is_in(sample.values, value_set=common.values).to_numpy(zero_copy_only=False)
    values, counts = sample.values.take(pa.array(np.flatnonzero(keep))), sample.counts[keep]
    each = ndv / max(1, len(counts))
    codes = sorted_order(pa.concat_arrays([ends, values])).codes
    bucket = np.minimum(np.searchsorted(codes[: len(ends)], codes[len(ends) :]), len(ends) - 1)
    found = np.bincount(bucket, minlength=len(ends))
    occurrences = np.bincount(bucket, counts, len(ends))
    spread = float(counts.std() / counts.mean()) if len(counts) else 1.0
    if spread < 1.0:
        estimate = np.where(found > 0, rows * found / np.maximum(occurrences, 1), each / 2)
    else:
        estimate = np.where(found > 0, found * each, each / 2)
    return estimate * (ndv / max(float(estimate.sum()), 1e-9))
