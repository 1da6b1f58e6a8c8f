"""What a sketch says of its column: distinct values, common values, a histogram of the others, how often values occur."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from experiments.pipeline.sketches.buckets import estimated_histogram, exact_histogram
from experiments.pipeline.sketches.column import ColumnSketch
from experiments.pipeline.sketches.counts import Counts
from experiments.pipeline.sketches.degrees import degree_steps
from optimizer.catalog.histogram import Histogram
from optimizer.catalog.table import ColumnStats

MOST_COMMON = 100  # values listed at most
ABOVE_AVERAGE = 1.25  # times the average frequency that a common value has at least
LEAST_SHARE = 1e-4  # of the rows that a common value has at least
CERTAIN = 0.1  # of its count that the count of a common value may be off by
SEEN_OFTEN = 10  # rows of a sample that a common value has at least


def column_stats(sketch: ColumnSketch, scale: float = 1.0) -> ColumnStats:
    """Figures of the column. `scale`: rows of the table for each row seen, more than 1 for a sample of the rows."""
    present = sketch.present
    if not present:
        return ColumnStats(round(sketch.nulls * scale), ndv=0.0)
    ndv = distinct_values(sketch, scale)
    common = _common(sketch, ndv, scale)
    stats = ColumnStats(
        nulls=round(sketch.nulls * scale),
        ndv=ndv,
        avg_width=sketch.bytes / present,
        degrees=degree_steps(sketch.frequent, present, sketch.nans) if scale == 1.0 else (),
    )
    try:
        low, high = sketch.bounds.to_pylist() or (None, None)
        histogram = _histogram(sketch, common, ndv, scale)
        return replace(stats, min=low, max=high, mcv=_shares(sketch, common), histogram=histogram)
    except (ValueError, OverflowError):  # a date or time of a year that Python lacks, such as "infinity"
        return stats


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
    listed: list[tuple[object, int]] = list(zip(common.values.to_pylist(), common.counts.tolist(), strict=True))
    if sketch.nans and (len(listed) == len(sketch.frequent.values) or sketch.nans >= LEAST_SHARE * sketch.present):
        listed.append((math.nan, sketch.nans))
    listed.sort(key=lambda pair: -pair[1])
    return tuple((value, count / sketch.rows) for value, count in listed)


def _histogram(sketch: ColumnSketch, common: Counts, ndv: float, scale: float) -> Histogram | None:
    frequent = sketch.frequent
    if frequent.is_exact and scale == 1.0:
        listed = pc.is_in(frequent.values, value_set=common.values).to_numpy(zero_copy_only=False)
        return exact_histogram(Counts(frequent.values, frequent.lower).take(~listed))
    others = ndv - len(common.counts) - (1.0 if sketch.nans else 0.0)
    return estimated_histogram(sketch, common, max(1.0, others), scale)
