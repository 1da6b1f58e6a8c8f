"""What a sketch says of its column: distinct values, common values, a histogram of the others, how often values occur."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from experiments.pipeline.sketches.column import ColumnSketch
from experiments.pipeline.sketches.counts import Counts
from optimizer.catalog.histogram import Histogram
from optimizer.catalog.table import ColumnStats

MOST_COMMON = 100  # values listed at most
ABOVE_AVERAGE = 1.25  # times the average frequency that a value is common from
CERTAIN = 10  # a count is taken for true when it is this many times its possible error
BUCKETS = 100
STEPS = 32  # of `degrees`


def column_stats(sketch: ColumnSketch, scale: float = 1.0) -> ColumnStats:
    """Figures of the column; `scale`: rows of the table for each row seen, more than 1 for a sample of the rows."""
    present = sketch.rows - sketch.nulls
    if not present:
        return ColumnStats(round(sketch.nulls * scale), ndv=0.0)
    exact = sketch.sample.level == 0
    counted = sketch.sample.kept if exact else _certain(sketch)
    ndv = _distinct(sketch, scale)
    common = _common(counted, present, ndv, exact and scale == 1.0)
    return ColumnStats(
        nulls=round(sketch.nulls * scale),
        min=sketch.low,
        max=sketch.high,
        ndv=ndv,
        avg_width=sketch.bytes / present,
        mcv=tuple(zip(common.values.to_pylist(), (common.counts / sketch.rows).tolist(), strict=True)),
        histogram=_histogram(sketch, counted, common, ndv, scale),
        degrees=_degrees(sketch) if scale == 1.0 else (),
    )


def _certain(sketch: ColumnSketch) -> Counts:
    """The common values whose counts can be trusted, each raised by half of what it may lack."""
    kept, error = sketch.frequent.kept, sketch.frequent.error
    trusted = kept.take(kept.counts >= CERTAIN * error)
    return Counts(trusted.values, trusted.counts + error // 2)


def _distinct(sketch: ColumnSketch, scale: float) -> float:
    """Exact while the sample holds all values, else HyperLogLog's. Of a sample of rows: Duj1 (Haas and Stokes, 1998),
    n·d / (n - f1 + f1·n/N), from d values in n of N rows, f1 of them seen once."""
    kept = sketch.sample.kept
    present = sketch.rows - sketch.nulls
    found = float(len(kept.counts)) if sketch.sample.level == 0 else min(sketch.distinct.estimate(), float(present))
    if scale > 1.0 and len(kept.counts):
        once = found * float((kept.counts == 1).mean())
        found = min(present * scale, present * found / (present - once + once / scale))
    return found + (1.0 if sketch.nans else 0.0)


def _common(counted: Counts, present: int, ndv: float, exact: bool) -> Counts:
    """The most common values, from the most common down; all of them where there are few."""
    enough = int(np.sort(counted.counts)[::-1][:MOST_COMMON][-1]) if len(counted.counts) else 0
    counted = counted.take(counted.counts >= enough).ascending()  # of equally common values the lesser ones, in any split
    order = np.argsort(-counted.counts, kind="stable")[:MOST_COMMON]
    chosen = counted.take(order)
    if exact and ndv <= MOST_COMMON:
        return chosen
    return chosen.take((chosen.counts > 1) & (chosen.counts > ABOVE_AVERAGE * present / max(1.0, ndv)))


def _histogram(sketch: ColumnSketch, counted: Counts, common: Counts, ndv: float, scale: float) -> Histogram | None:
    """Buckets of as many rows over the values that are not common: the other counted ones, and the sample for the rest."""
    parts = [Counts(counted.values, counted.counts)]
    weights = [np.ones(len(counted.counts))]
    if sketch.sample.level:
        kept = sketch.sample.kept
        kept = kept.take(~_is_in(kept.values, counted.values))
        parts.append(kept)
        weights.append(np.full(len(kept.counts), float(1 << sketch.sample.level)))
    values = pa.concat_arrays([part.values for part in parts])
    rows = np.concatenate([part.counts for part in parts]) * np.concatenate(weights)
    distinct = np.concatenate(weights)
    others = ~_is_in(values, common.values)
    positions = np.flatnonzero(others)
    values, rows, distinct = values.take(pa.array(positions)), rows[others], distinct[others]
    all_rows = (sketch.rows - sketch.nulls - sketch.nans) - common.total
    all_values = ndv - (1.0 if sketch.nans else 0.0) - len(common.counts)
    if not len(rows) or all_rows <= 0:
        return None
    order = pc.sort_indices(values).to_numpy()
    upto, seen = np.cumsum(rows[order]), np.cumsum(distinct[order])
    wanted = upto[-1] * np.arange(1, BUCKETS + 1) / BUCKETS
    ends = np.unique(np.minimum(np.searchsorted(upto, wanted * (1 - 1e-12)), len(order) - 1))
    in_bucket = np.diff(upto[ends], prepend=0.0) * (all_rows * scale / upto[-1])
    values_in = np.minimum(np.maximum(np.diff(seen[ends], prepend=0.0) * max(all_values, 1.0) / seen[-1], 1.0), in_bucket)
    bounds = values.take(pa.array(order[np.concatenate([[0], ends])])).to_pylist()
    if sketch.sample.level:  # the least and the greatest value need not be in the sample
        bounds[0], bounds[-1] = min(bounds[0], sketch.low), max(bounds[-1], sketch.high)
    return Histogram(tuple(bounds), tuple(in_bucket.tolist()), tuple(np.maximum(values_in, 1.0).tolist()))


def _is_in(values: pa.Array, others: pa.Array) -> np.ndarray[Any, Any]:
    if not len(others) or not len(values):
        return np.zeros(len(values), bool)
    found: np.ndarray[Any, Any] = pc.is_in(values, value_set=others).to_numpy(zero_copy_only=False)
    return found


def _degrees(sketch: ColumnSketch) -> tuple[tuple[int, int], ...]:
    """How often values occur, never too little: steps of 1, 1, 2, 4 … values, each as high as its first value."""
    exact = sketch.sample.level == 0
    kept = sketch.sample.kept.counts if exact else sketch.frequent.kept.counts + sketch.frequent.error
    counts = np.sort(kept)[::-1]
    if sketch.nans:
        counts = np.sort(np.append(counts, sketch.nans))[::-1]
    steps: list[tuple[int, int]] = []
    start, size = 0, 1
    while start < len(counts):
        if len(steps) == STEPS - 2:
            size = len(counts)
        stop = min(len(counts), start + size)
        steps.append((stop - start, int(counts[start])))
        start, size = stop, max(1, stop)
    if not exact:
        steps.append((sketch.rows - sketch.nulls, max(1, sketch.frequent.error)))
    return tuple(steps)
