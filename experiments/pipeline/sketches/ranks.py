"""Where values lie in the order of a column: about POINTS of them, each with bounds on how many rows are below it.

For a point v, `before` counts the rows with smaller values and `upto` those with values up to v, each as (at least, at most). Of
one batch they are exact. A value between two points of one part of the data has at least as many rows below it as `upto` of the
one says and at most `before` of the other, so merged bounds are the sums over the parts (compare Greenwald and Khanna, SIGMOD
2001). Points are spread so that no two neighbours have more than rows/POINTS rows between them, however skewed the values are.
Long texts are cut, and stand for the values that start like them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from experiments.pipeline.sketches.counts import Counts
from experiments.pipeline.sketches.order import cut, ranked

POINTS = 2000
_AT_ONCE = 16  # parts merged in one step: bounds get wider with each step


@dataclass(slots=True, eq=False)
class Ranks:
    """`values` ascend, the first and the last are the least and greatest of the column. `before`, `upto`: int64, (points, 2)."""

    values: pa.Array
    before: np.ndarray
    upto: np.ndarray
    rows: int

    def __post_init__(self) -> None:
        self.before, self.upto = self.before.reshape(-1, 2), self.upto.reshape(-1, 2)


def ranks_of(counts: Counts) -> Ranks:
    """Of one batch, whose values ascend."""
    upto = np.cumsum(counts.counts)
    rows = int(upto[-1]) if len(upto) else 0
    both = np.repeat(upto[:, None], 2, axis=1)
    return _spread(Ranks(counts.values, both - counts.counts[:, None], both, rows))


def merge_ranks(parts: Sequence[Ranks]) -> Ranks:
    while len(parts) > 1:
        parts = [_merged(parts[i : i + _AT_ONCE]) for i in range(0, len(parts), _AT_ONCE)]
    return parts[0]


def _merged(parts: Sequence[Ranks]) -> Ranks:
    if len(parts) == 1:
        return parts[0]
    codes, distinct = ranked(pa.concat_arrays([part.values for part in parts]))
    points = len(distinct)
    before, upto = np.zeros((points, 2), np.int64), np.zeros((points, 2), np.int64)
    start, everywhere = 0, np.arange(points)
    for part in parts:
        own = codes[start : start + len(part.values)]
        start += len(own)
        if not len(own):
            continue
        after = np.searchsorted(own, everywhere)  # the first own point at or above each point
        is_own = after < len(own)
        is_own[is_own] = own[after[is_own]] == everywhere[is_own]
        least = np.concatenate([[0], part.upto[:, 0]])[after]
        most = np.concatenate([part.before[:, 1], [part.rows]])[after]
        at = after[is_own]
        for total, known in ((before, part.before), (upto, part.upto)):
            low, high = least.copy(), most.copy()
            low[is_own], high[is_own] = known[at, 0], known[at, 1]
            total[:, 0] += low
            total[:, 1] += high
    return _spread(Ranks(distinct, before, upto, sum(part.rows for part in parts)))


def _spread(ranks: Ranks) -> Ranks:
    """About POINTS of the points: one for each rows/POINTS rows, and before a value with more rows its predecessor."""
    count = len(ranks.values)
    if count > POINTS:
        middle = ranks.upto.mean(axis=1)
        wanted = np.linspace(0, middle[-1], POINTS)
        chosen = np.minimum(np.searchsorted(middle, wanted), count - 1)
        heavy = chosen[middle[chosen] - ranks.before[chosen].mean(axis=1) > ranks.rows / POINTS]
        chosen = np.unique(np.concatenate([[0], chosen, np.maximum(heavy - 1, 0), [count - 1]]))
        ranks = Ranks(ranks.values.take(pa.array(chosen)), ranks.before[chosen], ranks.upto[chosen], ranks.rows)
    return Ranks(cut(ranks.values), ranks.before, ranks.upto, ranks.rows)
