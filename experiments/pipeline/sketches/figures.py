"""What a sketch says of its column: distinct values, common values, a histogram of the others, how often values occur."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pyarrow.compute as pc

from experiments.pipeline.sketches.buckets import estimated_histogram, exact_histogram
from experiments.pipeline.sketches.column import ColumnSketch
from experiments.pipeline.sketches.counts import Counts
from experiments.pipeline.sketches.frequent import Frequent
from experiments.pipeline.sketches.order import python_values
from optimizer.catalog.histogram import Histogram
from optimizer.catalog.table import ColumnStats

MOST_COMMON = 100  # values listed at most
ABOVE_AVERAGE = 1.25  # times the average frequency that a common value has at least
LEAST_SHARE = 1e-4  # of the rows that a common value has at least
CERTAIN = 0.1  # of its count that the count of a common value may be off by
SEEN_OFTEN = 10  # rows of a sample that a common value has at least
STEPS = 32  # of how often values occur
_LEVELS = 256  # degrees told apart before the cheapest steps are looked for


def column_stats(sketch: ColumnSketch, scale: float = 1.0) -> ColumnStats:
    """Figures of the column. `scale`: rows of the table for each row seen, more than 1 for a sample of the rows."""
    present = sketch.present
    if not present:
        return ColumnStats(round(sketch.nulls * scale), ndv=0.0 if scale == 1.0 else None)
    ndv = distinct_values(sketch, scale)
    common = _common(sketch, ndv, scale)
    low, high = python_values(sketch.bounds) or (None, None)
    return ColumnStats(
        nulls=round(sketch.nulls * scale),
        ndv=ndv,
        min=low,
        max=high,
        avg_width=sketch.bytes / present,
        mcv=_shares(sketch, common),
        histogram=_histogram(sketch, common, ndv, scale),
        degrees=degree_steps(sketch.frequent, present, sketch.nans) if scale == 1.0 else (),
    )


def is_unique(sketch: ColumnSketch) -> bool | None:
    """Whether no two rows have the same value, NULLs left out; None: the sketch cannot tell."""
    if (sketch.frequent.lower > 1).any() or (sketch.sample.counts > 1).any() or sketch.nans > 1:
        return False
    degrees = degree_steps(sketch.frequent, sketch.present, sketch.nans)
    return True if not degrees or degrees[0][1] <= 1 else None


def distinct_values(sketch: ColumnSketch, scale: float) -> float:
    """Other than NULL. Exact while all values are kept with their counts or none repeats, else HyperLogLog's.

    Of n of N rows with d values, f1 of them seen once: Duj1, n·d / (n - f1 + f1·n/N) (Haas and Stokes, 1998), which assumes that
    all values are about as common; where they are not, GEE, √(N/n)·f1 + d - f1 (Charikar et al., PODS 2000).
    """
    present = sketch.present - sketch.nans
    if sketch.frequent.is_exact:
        found = float(len(sketch.frequent.values))
    elif is_unique(sketch):
        found = float(present)
    else:
        found = min(max(sketch.distinct.estimate(), float(len(sketch.frequent.values))), float(present))
    if scale > 1.0 and present:
        once, counts = found * sketch.sample.once, sketch.sample.counts
        if counts.var() > 2 * counts.mean():  # chance alone would make them equal
            found = math.sqrt(scale) * once + found - once
        else:
            found = present * found / (present - once + once / scale)
        found = min(found, present * scale)
    return found + (1.0 if sketch.nans else 0.0)


def _common(sketch: ColumnSketch, ndv: float, scale: float) -> Counts:
    """The most common values, ascending: all where there are few, else those whose counts are certain and above the average."""
    frequent, present = sketch.frequent, sketch.present
    if frequent.is_exact and ndv <= MOST_COMMON and len(frequent.values) + bool(sketch.nans) >= ndv:
        return Counts(frequent.values, frequent.lower)
    counts = (frequent.lower + frequent.upper + 1) // 2
    average = present / max(1.0, ndv)
    least = max(ABOVE_AVERAGE * average, LEAST_SHARE * present, 1)
    if scale > 1.0:  # some of many equally common values are seen more often than others by chance
        least = max(least, SEEN_OFTEN, average + 5 * math.sqrt(average))
    good = np.flatnonzero((frequent.upper - frequent.lower <= CERTAIN * frequent.lower) & (counts > least))
    good = good[np.argsort(-counts[good], kind="stable")][:MOST_COMMON]
    return Counts(frequent.values, counts).take(np.sort(good))


def _shares(sketch: ColumnSketch, common: Counts) -> tuple[tuple[object, float], ...]:
    """Common values with their share of all rows, from the most common down; NaN among them if it is one."""
    listed = Counter[object]()
    for value, count in zip(python_values(common.values), common.counts.tolist(), strict=True):
        listed[value] += count
    if sketch.nans and (len(common.values) == len(sketch.frequent.values) or sketch.nans >= LEAST_SHARE * sketch.present):
        listed[math.nan] = sketch.nans
    return tuple((value, count / sketch.rows) for value, count in listed.most_common())


def _histogram(sketch: ColumnSketch, common: Counts, ndv: float, scale: float) -> Histogram | None:
    frequent = sketch.frequent
    if frequent.is_exact and scale == 1.0:
        listed = pc.is_in(frequent.values, value_set=common.values).to_numpy(zero_copy_only=False)
        return exact_histogram(Counts(frequent.values, frequent.lower).take(~listed))
    others = ndv - len(common.counts) - (1.0 if sketch.nans else 0.0)
    return estimated_histogram(sketch, common, max(1.0, others), scale)


def degree_steps(frequent: Frequent, rows: int, nans: int) -> tuple[tuple[int, int], ...]:
    """(values, rows of each at most), at most STEPS of them; the k most common values have no more rows together.

    `rows`: other than NULL, `nans` of them NaN. The rows that are left for values that were not kept are given to as few of them
    as the bound on each allows, so that any k of them have no more.
    """
    degrees = np.append(frequent.upper, [nans]) if nans else frequent.upper
    counts = np.ones(len(degrees), np.int64)
    left = rows - nans - int(frequent.lower.sum())
    some, others = frequent.errors
    if left > 0:
        others = max(1, min(others, left))
        degrees = np.concatenate([degrees, np.minimum(some, left), [others]])
        counts = np.concatenate([counts, np.ones(len(some), np.int64), [-(-left // others)]])
    order = np.argsort(-degrees, kind="stable")
    return tuple((int(count), int(degree)) for count, degree in _fewer(*_merged(counts[order], degrees[order])))


def _merged(counts: np.ndarray, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Equal degrees become one step; of very many different ones, those that differ by little become the greatest of them."""
    if not len(degrees):
        return counts, degrees
    level = degrees
    if len(np.unique(degrees)) > _LEVELS:
        level = np.floor(np.log(degrees) * ((_LEVELS - 1) / np.log(max(2, int(degrees[0])))))
    starts = np.flatnonzero(np.concatenate([[True], level[1:] != level[:-1]]))
    return np.add.reduceat(counts, starts), degrees[starts]


def _fewer(counts: np.ndarray, degrees: np.ndarray) -> list[tuple[int, int]]:
    """Raise steps to the one before, each time the step that adds the fewest rows, until STEPS are left."""
    while len(counts) > STEPS:
        added = counts[1:] * (degrees[:-1] - degrees[1:])
        i = int(np.argmin(added)) + 1
        counts = np.concatenate([counts[: i - 1], [counts[i - 1] + counts[i]], counts[i + 1 :]])
        degrees = np.delete(degrees, i)
    return list(zip(counts.tolist(), degrees.tolist(), strict=True))
