"""Aggregates over frames, for all rows at once.

Counts and exact sums are differences of prefix sums. Sums of floats and extremes are folded over blocks (`window_scans`), or
taken from a running fold where frames begin, or end, with their partition. What else can be merged is merged in such blocks; the
rows of other frames are put side by side, but for quantiles. Arguments are NULL where the call's filter is not
TRUE.
"""

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.batches import single_array
from executor.arrow.comparisons import normalized
from executor.arrow.intervals import comparable
from executor.arrow.kept_aggregates import Kept
from executor.arrow.ordering import sorted_places
from executor.arrow.segments import side_by_side
from executor.arrow.window_frames import Piece
from executor.arrow.window_layout import Layout
from executor.arrow.window_scans import folded, folded_new, from_ordered_bits, ordered_bits, running, tiles
from executor.arrow.window_sums import decimals_of, limbs, prefix_sums
from optimizer.algebra.columns import DataType

_AT_ONCE = 1 << 20
_MERGED = 16  # rows of a frame from which on blocks of them are merged first
_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def count(pieces: Sequence[Piece], values: pa.Array) -> np.ndarray:
    """How many of each frame's values are not NULL."""
    if values.null_count == 0:
        return np.add.reduce([high - low for low, high in pieces])
    before = prefix_sums(pc.is_valid(values).to_numpy(zero_copy_only=False))
    return np.add.reduce([before[high] - before[low] for low, high in pieces])


def total(pieces: Sequence[Piece], values: pa.Array, layout: Layout, type: DataType) -> pa.Array:
    """The sum of each frame's values, `type` a decimal or double; NULL where there are none."""
    valid = count(pieces, values) > 0
    if pa.types.is_decimal(type):
        sums = []
        for limb in limbs(values):
            before = prefix_sums(limb)
            sums.append(np.add.reduce([before[high] - before[low] for low, high in pieces]))
        return decimals_of(sums, type, valid)
    numbers = values.cast(pa.float64()).fill_null(0.0).to_numpy()
    with np.errstate(invalid="ignore", over="ignore"):
        return pa.array(_fold(np.add, numbers, pieces, layout, 0.0), mask=~valid)


def extreme(pieces: Sequence[Piece], values: pa.Array, layout: Layout, largest: bool) -> pa.Array:
    """The smallest or largest of each frame's values; NULL where there are none."""
    codes, decoded = _codes(values)
    empty = _LEAST if largest else _GREATEST
    if values.null_count:
        codes = np.where(pc.is_null(values).to_numpy(zero_copy_only=False), empty, codes)
    best = _fold(np.maximum if largest else np.minimum, codes, pieces, layout, empty)
    return decoded(best, count(pieces, values) > 0)


def distinct(
    pieces: Sequence[Piece], values: pa.Array, layout: Layout, type: DataType | None, go_on: Callable[[], None]
) -> tuple[np.ndarray, pa.Array | None]:
    """How many distinct values each frame has and, with a `type`, their sum."""
    numbers = _numbered(values)
    weights = [] if type is None else _weights(values, type)
    if len(pieces) > 1:
        counts, sums = _one_by_one(pieces, numbers, weights, go_on)
    else:
        low, high = pieces[0]
        before = _place_before(numbers, layout)
        if np.array_equal(low, layout.start):  # a value counts where it comes first in its partition
            first = before < 0
            counts = _fold_piece(np.add, first.astype(np.int64), low, high, layout, 0)
            sums = [_fold_piece(np.add, np.where(first, w, 0), low, high, layout, 0) for w in weights]
        else:
            counts, sums = folded_new(weights, before, low, high)
    if type is None:
        return counts, None
    if pa.types.is_decimal(type):
        return counts, decimals_of(sums, type, counts > 0)
    return counts, pa.array(sums[0], mask=counts == 0)


def kept(
    kept: Kept, columns: list[pa.Array], chosen: pa.Array | None, pieces: Sequence[Piece], go_on: Callable[[], None]
) -> pa.Array:
    """An aggregate of each frame's rows side by side, or of merged blocks of rows where they can be merged. Frames that are alike
    one after the other are one; so many at a time that their rows are at most `_AT_ONCE`, or one frame's."""
    columns, usable = kept.usable(columns, chosen, np.arange(len(pieces[0][0]) + 1))
    lows, highs = (usable[np.stack(ends)] for ends in zip(*pieces, strict=True))
    new = np.ones(lows.shape[1], np.bool_)
    new[1:] = (np.diff(lows) != 0).any(axis=0) | (np.diff(highs) != 0).any(axis=0)
    lows, highs = lows[:, new], highs[:, new]
    back, sizes, starts = pa.array(np.cumsum(new) - 1), (highs - lows).sum(axis=0), None
    if kept.quantile is not None and sizes.max(initial=0) > _MERGED:
        return kept.quantile.of_ranges(columns[0], lows, highs, kept.parts.constants, kept.call.type).take(back)
    if kept.merges and not kept.call.distinct and sizes.max(initial=0) > _MERGED:
        columns, starts = _tree(kept, columns, int((highs - lows).max()), go_on)
        sizes = np.minimum(sizes, 2 * len(pieces) * len(starts))
    before = np.concatenate([[0], np.cumsum(sizes)])
    parts, first = [], 0
    while first < len(sizes):
        go_on()
        end = max(int(np.searchsorted(before, before[first] + _AT_ONCE, "right")) - 1, first + 1)
        low, high = lows[:, first:end].T.ravel(), highs[:, first:end].T.ravel()
        rows, offsets = side_by_side(low, high) if starts is None else tiles(low, high, starts)
        chosen_rows = pa.array(rows)
        parts.append(kept.results([column.take(chosen_rows) for column in columns], offsets[:: len(pieces)]))
        first = end
    return single_array(pa.chunked_array(parts)).take(back)


def _tree(kept: Kept, columns: list[pa.Array], longest: int, go_on: Callable[[], None]) -> tuple[list[pa.Array], np.ndarray]:
    """The rows, then those of each two merged, of each four, … up to blocks as long as a frame; and where each level starts."""
    levels, sizes = [columns], [0, len(columns[0])]
    while longest > 1:
        go_on()
        count = sizes[-1]
        columns, _ = kept.fewer(levels[-1], np.append(np.arange(0, count, 2), count))
        levels.append(columns)
        sizes.append(len(columns[0]))
        longest >>= 1
    return [single_array(pa.chunked_array(each)) for each in zip(*levels, strict=True)], np.cumsum(sizes)


def _fold(fold: np.ufunc, values: np.ndarray, pieces: Sequence[Piece], layout: Layout, empty: float | int) -> np.ndarray:
    return reduce(fold, (_fold_piece(fold, values, low, high, layout, empty) for low, high in pieces))


def _fold_piece(
    fold: np.ufunc, values: np.ndarray, low: np.ndarray, high: np.ndarray, layout: Layout, empty: float | int
) -> np.ndarray:
    full = low < high
    if np.array_equal(low[full], layout.start[full]):
        scanned = running(fold, values, layout.starts)
        return np.where(full, scanned[np.maximum(high - 1, 0)], np.array(empty, values.dtype))
    if np.array_equal(high[full], layout.end[full]):
        backwards = running(fold, values[::-1], layout.rows - layout.starts[::-1])[::-1]
        return np.where(full, backwards[np.minimum(low, layout.rows - 1)], np.array(empty, values.dtype))
    return folded(fold, values, low, high, empty)


def _codes(values: pa.Array) -> tuple[np.ndarray, Callable[[np.ndarray, np.ndarray], pa.Array]]:
    """int64 codes that order as the values do (what stands for NULL means nothing), and how codes become values again, NULL where
    the second argument is FALSE."""
    t, type = pa.types, values.type
    if t.is_floating(type):
        codes = ordered_bits(values.cast(pa.float64()).fill_null(0.0).to_numpy())
        return codes, lambda best, valid: pa.array(from_ordered_bits(np.where(valid, best, 0)), mask=~valid).cast(type)
    if t.is_boolean(type) or t.is_integer(type) or t.is_date32(type) or t.is_timestamp(type):
        number = pa.int8() if t.is_boolean(type) else pa.int32() if t.is_date32(type) else pa.int64()
        codes = values.cast(number).cast(pa.int64()).fill_null(0).to_numpy()
        return codes, lambda best, valid: pa.array(np.where(valid, best, 0), mask=~valid).cast(number).cast(type)
    places = sorted_places(values)
    ranks = np.empty(len(values), np.int64)
    ranks[places] = np.arange(len(values))
    return ranks, lambda best, valid: values.take(pa.array(places[np.where(valid, best, 0)], mask=~valid))


def _numbered(values: pa.Array) -> np.ndarray:
    """A number for each distinct value, -1 for NULL."""
    numbers = comparable(values) if pa.types.is_interval(values.type) else normalized(values)
    encoded = numbers.dictionary_encode()
    return encoded.indices.fill_null(-1).to_numpy().astype(np.int64)


def _weights(values: pa.Array, type: DataType) -> list[np.ndarray]:
    return limbs(values) if pa.types.is_decimal(type) else [values.cast(pa.float64()).fill_null(0.0).to_numpy()]


def _place_before(numbers: np.ndarray, layout: Layout) -> np.ndarray:
    """The row before in the same partition with the same value; -1 for none, the number of rows for NULL."""
    order = np.lexsort((layout.at, numbers, layout.partition))
    before = np.full(layout.rows, -1, np.int64)
    same = (numbers[order[1:]] == numbers[order[:-1]]) & (layout.partition[order[1:]] == layout.partition[order[:-1]])
    before[order[1:][same]] = order[:-1][same]
    before[numbers < 0] = layout.rows
    return before


def _one_by_one(
    pieces: Sequence[Piece], numbers: np.ndarray, weights: Sequence[np.ndarray], go_on: Callable[[], None]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The same for frames in pieces, which may share values: each frame by itself, in time that grows with its rows."""
    counts = np.zeros(len(numbers), np.int64)
    sums = [np.zeros(len(numbers), w.dtype) for w in weights]
    for row in range(len(numbers)):
        go_on()
        rows = np.concatenate([np.arange(low[row], high[row]) for low, high in pieces])
        rows = rows[numbers[rows] >= 0]
        first = rows[np.unique(numbers[rows], return_index=True)[1]]
        counts[row] = len(first)
        for sum, weight in zip(sums, weights, strict=True):
            sum[row] = weight[first].sum()
    return counts, sums
