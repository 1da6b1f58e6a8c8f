"""How often the values of a column occur, from the most common down, never too little."""

from __future__ import annotations

import numpy as np

from experiments.pipeline.sketches.frequent import Frequent

STEPS = 32
_LEVELS = 256  # degrees told apart before the cheapest steps are looked for


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
