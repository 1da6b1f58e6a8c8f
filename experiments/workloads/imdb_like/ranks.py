"""From row numbers to values, with exactly as many NULLs and distinct values as asked for.

A column permutes the row numbers (its own permutation, by name): the result is a row's rank. The highest ranks are NULL. The
others are cut into ten equal ranges, one for each decile of the values. Within such a range the first ranks give each distinct
value once, and the rest favours the low ones by a power law. So every row's value follows from its number alone, whoever
makes the row, in whichever part.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from experiments.workloads.permutation import permuted

Integers = npt.NDArray[np.int64]
SKEW = 1.5  # the most frequent of d values has a share of about d to the power of -1/SKEW among the rows that are not its first


class Ranks(NamedTuple):
    """`rank` of rows from 0 to `filled` - 1, in an order of the column's own; `null` where the column has NULL."""

    rank: Integers
    null: npt.NDArray[np.bool_]
    filled: int


class Step(NamedTuple):
    """`ndv` values from `low` to `high`, evenly apart."""

    low: int
    high: int
    ndv: int


def ranks(numbers: Integers, rows: int, nulls: int, name: str) -> Ranks:
    """The ranks of rows `numbers` (from 0) in a column `name` with so many rows and NULLs."""
    rank = permuted(numbers.astype(np.uint64), rows, name).astype(np.int64)
    return Ranks(rank, rank >= rows - nulls, rows - nulls)


def chosen(ranks: Ranks, ndv: int, skew: float = SKEW) -> Integers:
    """Numbers from 0 to `ndv` - 1, each for some row, low ones more often; anything where the column is NULL."""
    return _within(ranks.rank, np.zeros_like(ranks.rank), np.full_like(ranks.rank, max(ranks.filled, 1)), np.int64(ndv), skew)


def by_deciles(ranks: Ranks, steps: Sequence[Step]) -> Integers:
    """Values of `steps`, a tenth of the rows each."""
    bounds = np.array([ranks.filled * k // len(steps) for k in range(len(steps) + 1)])
    which = np.clip(np.searchsorted(bounds, ranks.rank, side="right") - 1, 0, len(steps) - 1)
    low, high, ndv = (np.array(column, dtype=np.int64) for column in zip(*steps, strict=True))
    j = _within(ranks.rank, bounds[which], bounds[which + 1], ndv[which], SKEW)
    apart = np.maximum(ndv[which] - 1, 1)
    return np.where(ndv[which] == 1, np.where(which == 0, low[which], high[which]), low[which] + j * (high - low)[which] // apart)


def steps_of(deciles: Sequence[float], ndv: int, filled: int) -> list[Step]:
    """Ten ranges between rounded `deciles`, with `ndv` distinct values in all, or as many as fit.

    A range that holds one decile only, since the next is the same, repeats that value. The others share the distinct values
    by their width, none getting more than it has integers and rows.
    """
    points = [round(value) for value in deciles]
    rows = [filled * (k + 1) // 10 - filled * k // 10 for k in range(10)]
    lows = [points[0], *(min(low + 1, high) for low, high in pairwise(points[1:]))]
    widths = [points[1] - points[0] + 1, *(high - low for low, high in pairwise(points[1:]))]
    shares = shared(ndv, [min(width, count) for width, count in zip(widths, rows, strict=True)], widths)
    return [Step(low, high, max(1, share)) for low, high, share in zip(lows, points[1:], shares, strict=True)]


def shared(total: int, most: Sequence[int], weights: Sequence[int]) -> list[int]:
    """`total` cut into parts in proportion to `weights`, none above `most`, and none 0 where it may be 1 (as far as it goes)."""
    parts = [min(1, limit) for limit in most]
    left = total - sum(parts)
    while left > 0:
        open_ones = [i for i, limit in enumerate(most) if parts[i] < limit]
        if not open_ones:
            break
        weight = sum(weights[i] for i in open_ones)
        given = 0
        for i in open_ones:
            more = min(most[i] - parts[i], left * weights[i] // weight)
            parts[i] += more
            given += more
        if not given:  # less than one each: the widest first
            for i in sorted(open_ones, key=lambda i: -weights[i])[:left]:
                parts[i] += 1
                given += 1
        left -= given
    return parts


def _within(rank: Integers, start: Integers, end: Integers, ndv: Integers | np.int64, skew: float) -> Integers:
    """Numbers below `ndv` for ranks of a range: the first ranks count up, the others spread by u to the power of `skew`."""
    place = rank - start
    count = end - start
    u = (place - ndv + 0.5) / np.maximum(count - ndv, 1)
    spread = (ndv * np.clip(u, 0.0, 1.0) ** skew).astype(np.int64)
    return np.where(place < ndv, place, np.minimum(spread, ndv - 1))
