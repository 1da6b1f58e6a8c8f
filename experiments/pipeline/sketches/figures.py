"""What a sketch says of its column: distinct values, common values, a histogram of the others, how often values occur."""

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from experiments.pipeline.sketches.column import ColumnSketch
from experiments.pipeline.sketches.counts import Counts
from experiments.pipeline.sketches.frequent import Frequent
from experiments.pipeline.sketches.order import python_values, ranked
from optimizer.catalog.histogram import Histogram
from optimizer.catalog.table import ColumnStats

MOST_COMMON = 100  # values listed at most
ABOVE_AVERAGE = 1.25  # times the average frequency that a common value has at least
LEAST_SHARE = 1e-4  # of the rows that a common value has at least
CERTAIN = 0.1  # of its count that the count of a common value may be off by
SEEN_OFTEN = 10  # rows of a sample that a common value has at least
BUCKETS = 100  # of a histogram, equi-depth, of the values that are not listed as common
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
        nulls=round(sketch.nulls * scale), ndv=ndv, min=low, max=high, avg_width=sketch.bytes / present,
        mcv=_shares(sketch, common), histogram=_histogram(sketch, common, ndv, scale),
        degrees=degree_steps(sketch.frequent, present, sketch.nans) if scale == 1.0 else (),
    )  # fmt: skip


def is_unique(sketch: ColumnSketch) -> bool | None:
    """Whether no two rows have the same value, NULLs left out; None: the sketch cannot tell."""
    if (sketch.frequent.lower > 1).any() or (sketch.sample.counts > 1).any() or sketch.nans > 1:
        return False
    degrees = degree_steps(sketch.frequent, sketch.present, sketch.nans)
    return True if not degrees or degrees[0][1] <= 1 else None


def distinct_values(sketch: ColumnSketch, scale: float) -> float:
    """Other than NULL. Exact while all values are kept with their counts or none repeats, else HyperLogLog's. Of n of N rows
    with d values, f1 of them seen once: Duj1, n·d / (n - f1 + f1·n/N) (Haas and Stokes, 1998), which assumes that all values
    are about as common; where they are not, GEE, √(N/n)·f1 + d - f1 (Charikar et al., PODS 2000)."""
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
        return _exact_histogram(_without(Counts(frequent.values, frequent.lower), common.values))
    others = ndv - len(common.counts) - (1.0 if sketch.nans else 0.0)
    return _estimated_histogram(sketch, common, max(1.0, others), scale)


def _exact_histogram(others: Counts) -> Histogram | None:
    """Of counted values, ascending."""
    if not len(others.counts):
        return None
    upto = np.cumsum(others.counts)
    ends = _ends(upto.astype(float))
    rows = np.diff(upto[ends], prepend=0).astype(float)
    ndv = np.diff(ends, prepend=-1)
    bounds = others.values.take(pa.array(np.concatenate([[0], ends])))
    return Histogram(tuple(python_values(bounds)), tuple(rows.tolist()), tuple(ndv.astype(float).tolist()))


def _estimated_histogram(sketch: ColumnSketch, common: Counts, ndv: float, scale: float) -> Histogram | None:
    """From the ranks of some values. `common`: the values left out, ascending, and their rows; `ndv`: distinct others, all
    told. A range of values is off by 1/BUCKETS of the rows at most at each end, besides the error of the ranks, 1/2,000 or
    so."""
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


def degree_steps(frequent: Frequent, rows: int, nans: int) -> tuple[tuple[int, int], ...]:
    """(values, rows of each at most), at most STEPS of them; the k most common values have no more rows together. `rows`: other
    than NULL, `nans` of them NaN. The rows that are left for values that were not kept are given to as few of them as the bound
    on each allows, so that any k of them have no more."""
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
