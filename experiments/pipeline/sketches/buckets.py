"""An equi-depth histogram of the values of a column that are not among its most common ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from experiments.pipeline.sketches.column import ColumnSketch
from experiments.pipeline.sketches.counts import Counts
from experiments.pipeline.sketches.order import python_values, ranked
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
    return Histogram(tuple(python_values(bounds)), tuple(rows.tolist()), tuple(ndv.astype(float).tolist()))


def estimated_histogram(sketch: ColumnSketch, common: Counts, ndv: float, scale: float) -> Histogram | None:
    """From the ranks of some values. `common`: the values left out, ascending, and their rows; `ndv`: distinct others, all told.

    A range of values is off by 1/BUCKETS of the rows at most at each end, besides the error of the ranks, 1/2,000 or so.
    """
    ranks = sketch.ranks
    total = float(ranks.rows - common.total)
    codes, _ = ranked(pa.concat_arrays([ranks.values, common.values]))
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
    return Histogram(tuple(python_values(bounds)), tuple(filled.tolist()), tuple(values.tolist()))


def _ends(upto: np.ndarray) -> np.ndarray:
    """The positions at which buckets of about as many rows end; `upto`: rows up to each position."""
    wanted = upto[-1] * np.arange(1, BUCKETS + 1) / BUCKETS
    return np.unique(np.minimum(np.searchsorted(upto, wanted * (1 - 1e-12)), len(upto) - 1))


def _distinct(sketch: ColumnSketch, common: Counts, ends: pa.Array, rows: np.ndarray, ndv: float) -> np.ndarray:
    """Distinct values by bucket, `ndv` together.

    Values whose counts are kept are counted. What is left of the rows of a bucket is divided by how often its other values occur
    on average, according to the sample of distinct values: a sample of some twenty a bucket, so that the averages are drawn
    towards the one of the whole column as far as their differences may be chance (James and Stein, 1961).
    """
    frequent, sample = sketch.frequent, sketch.sample
    counted = _without(Counts(frequent.values, (frequent.lower + frequent.upper) // 2), common.values)
    sampled = _without(_without(Counts(sample.values, sample.counts), common.values), frequent.values)
    place, _ = ranked(pa.concat_arrays([ends, counted.values, sampled.values]))
    bucket = np.minimum(np.searchsorted(place[: len(ends)], place[len(ends) :]), len(ends) - 1)
    of_counted, of_sampled = bucket[: len(counted.counts)], bucket[len(counted.counts) :]
    known = np.bincount(of_counted, minlength=len(ends)).astype(float)
    left = np.maximum(rows - np.bincount(of_counted, counted.counts, len(ends)), 0.0)
    others = left / _drawn_to_mean(of_sampled, sampled.counts, len(ends))
    return known + others * (max(0.0, ndv - len(counted.counts)) / max(float(others.sum()), 1e-9))


def _drawn_to_mean(group: np.ndarray, numbers: np.ndarray, groups: int) -> np.ndarray:
    """The averages of the groups' numbers, nearer to the average of all by the share of their variance that chance explains; 1
    without numbers."""
    mean, size = float(numbers.mean()) if len(numbers) else 1.0, np.bincount(group, minlength=groups)
    averages = np.where(size > 0, np.bincount(group, numbers, groups) / np.maximum(size, 1), mean)
    within = float(((numbers - averages[group]) ** 2).sum()) / max(1, len(numbers) - int((size > 0).sum()))
    by_chance = (int((size > 0).sum()) - 3) * within
    observed = float((size * (averages - mean) ** 2).sum())
    return mean + (averages - mean) * max(0.0, 1.0 - by_chance / observed if observed > 0 else 0.0)


def _without(counts: Counts, values: pa.Array) -> Counts:
    return counts.take(~pc.is_in(counts.values, value_set=values).to_numpy(zero_copy_only=False))
