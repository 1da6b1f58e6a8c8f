"""Running and ranged folds over arrays: sums, minima, maxima of many ranges of rows at once.

`running` goes from the start of each partition on. `folded` takes any ranges: it builds a binary tree of blocks level by level
and gathers from each level the blocks that tile a range, so that a fold touches 2·log2(range) blocks and nothing has to be
undone: prefix differences would lose the digits of floats, and could not take back NaN or a minimum (segment trees for windows:
Leis, Kundhikanjana, Kemper and Neumann, VLDB 2015). `folded_new` is the same for the values that come first in their range,
which DISTINCT keeps, with blocks sorted by where a value came before (merge sort trees: Wesley and Xu, VLDB 2016; Vogelsgesang
et al., SIGMOD 2022). Both hold a level at a time. `tiles` names the blocks, for values that are no numbers.
"""

from collections.abc import Iterator, Sequence

import numpy as np

_LONG = 64  # rows from which on a partition is worth a call of its own


def ordered_bits(values: np.ndarray) -> np.ndarray:
    """Doubles as int64 that order as SQL orders them: NaN is the largest, -0.0 equals 0.0."""
    values = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = values.view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(0x7FFF_FFFF_FFFF_FFFF), bits)


def from_ordered_bits(bits: np.ndarray) -> np.ndarray:
    bits = np.where(bits < 0, bits ^ np.int64(0x7FFF_FFFF_FFFF_FFFF), bits)
    return bits.view(np.float64)


def running(fold: np.ufunc, values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """For each row the fold of its partition's values up to it. `starts`: first rows of partitions, and the number of rows."""
    lengths = np.diff(starts)
    result = values.copy()
    for number in np.flatnonzero(lengths > _LONG):
        low, high = starts[number], starts[number + 1]
        fold.accumulate(values[low:high], out=result[low:high])
    short = np.where(lengths <= _LONG, lengths, 0)
    place = np.arange(len(values)) - np.repeat(starts[:-1], lengths)
    place[np.repeat(lengths > _LONG, lengths)] = 0
    step = 1
    while step < short.max(initial=0):  # each row takes in the rows of a block of doubled length before it
        rows = np.flatnonzero(place >= step)
        result[rows] = fold(result[rows - step], result[rows])
        step *= 2
    return result


def folded(fold: np.ufunc, values: np.ndarray, low: np.ndarray, high: np.ndarray, empty: float | int) -> np.ndarray:
    """For each range [low, high) of rows the fold of its values; `empty`, which changes nothing, for no values."""
    result, level = np.full(len(low), empty, values.dtype), values
    for edges in _levels(low, high):
        for ranges, blocks in edges:
            result[ranges] = fold(result[ranges], level[blocks])
        if len(level) & 1:
            level = np.append(level, np.array([empty], level.dtype))
        level = fold(level[0::2], level[1::2])
    return result


def tiles(low: np.ndarray, high: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The blocks that tile each range [low, high), in row order, and the offsets of each range's blocks. The blocks of the tree's
    level k, of 2^k rows each, are numbered from starts[k] on."""
    found = [
        (ranges, blocks << level, blocks + starts[level])
        for level, edges in enumerate(_levels(low, high))
        for ranges, blocks in edges
    ]
    if not found:
        return np.zeros(0, np.int64), np.zeros(len(low) + 1, np.int64)
    ranges, first, blocks = (np.concatenate(each) for each in zip(*found, strict=True))
    counts = np.bincount(ranges, minlength=len(low))
    return blocks[np.lexsort((first, ranges))], np.concatenate([[0], np.cumsum(counts)])


def folded_new(
    weights: Sequence[np.ndarray], before: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """For each range [low, high): how many rows in it have `before` < low, and the sums of their `weights`.

    `before` is the row in which a row's value came last, -1 for none; a row that is not to be counted has the number of rows.
    """
    rows_all = len(before)
    size = 1 << max(rows_all - 1, 0).bit_length()
    counted = np.zeros(len(low), np.int64)
    totals = [np.zeros(len(low), w.dtype) for w in weights]
    keys = np.full(size, rows_all, np.int64)
    keys[:rows_all] = before
    padded = [np.concatenate((w, np.zeros(size - rows_all, w.dtype))) for w in weights]
    for level, edges in enumerate(_levels(low, high)):
        width = 1 << level
        if level:
            order = np.argsort(keys.reshape(-1, width), axis=1, kind="stable")
            order += np.arange(0, size, width)[:, None]
            order = order.ravel()
            keys, padded = keys[order], [w[order] for w in padded]
        sums = [np.cumsum(w.reshape(-1, width), axis=1).ravel() for w in padded]
        for ranges, blocks in edges:
            below = _count_below(keys, blocks * width, width, low[ranges])
            counted[ranges] += below
            some = below > 0
            last = (blocks * width + below - 1)[some]
            for total, prefix in zip(totals, sums, strict=True):
                total[ranges[some]] += prefix[last]
    return counted, totals


def ranked(ranks: np.ndarray, lows: np.ndarray, highs: np.ndarray, number: np.ndarray) -> np.ndarray:
    """For each column of ranges [low, high) the rank that is its `number`-th smallest, from 0. `ranks`: 0 … len - 1, mixed.

    Bit by bit from the highest, ranks with a 0 go to the front and those with a 1 behind them, both as they were, so that ranges
    stay ranges (wavelet matrices: Claude and Navarro, SPIRE 2012).
    """
    found = np.zeros(len(number), np.int64)
    for bit in reversed(range(max(len(ranks) - 1, 0).bit_length())):
        one = ranks >> bit & 1 == 1
        zeros = np.concatenate([[0], np.cumsum(~one)])
        low, high = zeros[lows], zeros[highs]
        below = (high - low).sum(axis=0)
        up = number >= below
        number = np.where(up, number - below, number)
        lows = np.where(up, zeros[-1] + lows - low, low)
        highs = np.where(up, zeros[-1] + highs - high, high)
        found |= up.astype(np.int64) << bit
        ranks = np.concatenate([ranks[~one], ranks[one]])
    return found


def _levels(low: np.ndarray, high: np.ndarray) -> Iterator[list[tuple[np.ndarray, np.ndarray]]]:
    """Level by level (ranges, a block of each) that tile the ranges [low, high); blocks of level k have 2^k rows."""
    low, high = low.copy(), high.copy()
    ranges = np.flatnonzero(low < high)
    while len(ranges):
        yield _edges(ranges, low, high)
        low[ranges] >>= 1
        high[ranges] >>= 1
        ranges = ranges[low[ranges] < high[ranges]]


def _edges(rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The blocks of this level at either end of the ranges that no block of the next level holds: (ranges, their blocks). Takes
    them off the ranges."""
    left = rows[(low[rows] & 1 == 1)]
    found = [(left, low[left])]
    low[left] += 1
    right = rows[(high[rows] & 1 == 1) & (low[rows] < high[rows])]
    high[right] -= 1
    return [*found, (right, high[right])]


def _count_below(keys: np.ndarray, starts: np.ndarray, width: int, bounds: np.ndarray) -> np.ndarray:
    """How many of the `width` ascending keys from `starts` on are below `bounds`."""
    low, high = starts.copy(), starts + width
    for _ in range(width.bit_length()):
        middle = (low + high) >> 1
        below = (low < high) & (keys[np.minimum(middle, len(keys) - 1)] < bounds)
        low = np.where(below, middle + 1, low)
        high = np.where(below, high, np.minimum(high, middle))
    return low - starts
