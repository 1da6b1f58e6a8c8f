"""Values sorted and told apart: for each type a NumPy array that orders as SQL orders the values, texts by their bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow import decimals
from executor.arrow.key_words import is_ordered, key_words

_DEEPEST = 96  # bytes of a text that are looked at in steps of eight; values that agree so far are left to Arrow


class Order:
    """`positions`: of the values, ascending; `starts`: where in `positions` each distinct value begins.

    `first`, for each distinct value, is the position of one of its rows.
    """

    __slots__ = ("positions", "starts")

    def __init__(self, positions: np.ndarray, starts: np.ndarray) -> None:
        self.positions, self.starts = positions, starts

    @property
    def first(self) -> np.ndarray:
        return self.positions[self.starts]

    @property
    def codes(self) -> np.ndarray:
        """For each value the rank of its distinct value, from 0."""
        codes = np.empty(len(self.positions), np.int64)
        codes[self.positions] = np.repeat(np.arange(len(self.starts)), self.lengths)
        return codes

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts, append=len(self.positions))

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """The weights of all values, added up by distinct value."""
        return np.add.reduceat(weights[self.positions], self.starts) if len(self.starts) else weights[:0]


def sorted_order(values: pa.Array) -> Order:
    """Of values without NULL and NaN, -0.0 being 0.0."""
    if is_text(values.type):
        return _text_order(values)
    words = sortable(values)
    positions = pc.sort_indices(values).to_numpy().astype(np.int64) if words is None else np.argsort(words)
    if words is None:
        return _order_of_large(values, positions)
    return Order(positions, run_starts(words[positions]))


def sortable(values: pa.Array) -> np.ndarray | None:
    """Numbers that compare as the values do; None for decimals too large for that."""
    type = values.type
    if pa.types.is_floating(type):
        return values.to_numpy(zero_copy_only=False)
    if is_ordered(type):
        return key_words([values])[0][0]
    return decimals.unscaled(values) if pa.types.is_decimal128(type) else None


def from_sortable(words: np.ndarray, type: pa.DataType) -> pa.Array:
    """The values that `sortable` gave these numbers for."""
    t = pa.types
    if t.is_decimal128(type):
        return decimals.from_unscaled(words, type, None)
    if t.is_floating(type):
        return pa.array(words, type)
    if t.is_boolean(type):
        return pa.array(words.astype(bool))
    if t.is_date32(type):
        return pa.array(words.astype(np.int32)).view(type)
    if t.is_timestamp(type):
        return pa.array(words).view(type)
    return pa.array(words).cast(type)


def run_starts(ascending: np.ndarray) -> np.ndarray:
    """Positions where another number begins."""
    return np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]])) if len(ascending) else np.empty(0, np.int64)


def is_text(type: pa.DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_binary(type))


def _order_of_large(values: pa.Array, positions: np.ndarray) -> Order:
    ascending = values.take(pa.array(positions))
    same = pc.equal(ascending[1:], ascending[:-1]).to_numpy(zero_copy_only=False) if len(values) else np.empty(0, bool)
    return Order(positions, np.flatnonzero(np.concatenate([[True], ~same])) if len(values) else positions)


def _text_order(texts: pa.Array) -> Order:
    """A radix sort: by the first eight bytes, then values that agree so far by the next ones, until all differ or end.

    Several times faster than Arrow's sort, and equal values come out side by side, so that none has to be hashed.
    """
    rows = len(texts)
    if rows == 0:
        return Order(np.empty(0, np.int64), np.empty(0, np.int64))
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + rows + 1].astype(np.int64)
    lengths = np.diff(offsets)
    eight = _eight_bytes(texts, int(offsets[-1]))
    words = _bytes_at(eight, offsets[:-1], lengths, 0)
    positions = np.argsort(words)
    group = np.zeros(rows, np.int64)  # by place in `positions`: how many other values are below, as far as known
    np.cumsum(np.diff(words[positions]) != 0, out=group[1:])
    depth, unsettled = 8, np.arange(rows)
    while len(unsettled := unsettled[_repeated(group[unsettled])]):
        here = positions[unsettled]
        if depth > _DEEPEST:
            order, key = _arrow_order(texts.take(pa.array(here)), group[unsettled])
            positions[unsettled] = here[order]
            group = _split(group, unsettled, key)
            break
        above = int(group[-1])
        bits = max(1, above.bit_length())
        taken = (64 - bits) // 8
        if (lengths[here] <= depth).all():  # nothing but lengths is left to tell values apart: "a" is below "a\0"
            key, last = np.minimum(lengths[here], depth).astype(np.uint64), True
            bits = 32
        else:
            key, last = _bytes_at(eight, offsets[here], lengths[here], depth) >> np.uint64(64 - 8 * taken), False
            bits = 64 - 8 * taken
        key |= group[unsettled].astype(np.uint64) << np.uint64(64 - bits)
        order = np.argsort(key)
        positions[unsettled] = here[order]
        group = _split(group, unsettled, key[order])
        if last:
            break
        depth += taken
    return Order(positions, run_starts(group))


def _split(group: np.ndarray, unsettled: np.ndarray, key: np.ndarray) -> np.ndarray:
    """The groups after those at the places `unsettled` were told apart by `key`, ascending there."""
    differs = np.zeros(len(group), np.int64)
    differs[unsettled[1:]] = key[1:] != key[:-1]
    differs[1:] |= group[1:] != group[:-1]
    return np.cumsum(differs)


def _arrow_order(texts: pa.Array, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions that sort by group, then text; in that order a number for each distinct pair."""
    order = (
        pc.sort_indices(pa.table({"g": group, "t": texts}), [("g", "ascending"), ("t", "ascending")]).to_numpy().astype(np.int64)
    )
    ascending, groups = texts.take(pa.array(order)), group[order]
    differs = np.zeros(len(order), np.int64)
    differs[1:] = pc.not_equal(ascending[1:], ascending[:-1]).to_numpy(zero_copy_only=False) | (groups[1:] != groups[:-1])
    return order, np.cumsum(differs)


def _eight_bytes(texts: pa.Array, end: int) -> np.ndarray:
    """The eight bytes from each place of the texts' data on, the first one the most significant."""
    raw = np.zeros(end + 8, np.uint8)
    data = texts.buffers()[2]
    if data is not None:
        raw[:end] = np.frombuffer(data, np.uint8, count=end)
    return np.ndarray(end + 1, np.dtype(">u8"), raw.data, 0, (1,))


def _bytes_at(eight: np.ndarray, starts: np.ndarray, lengths: np.ndarray, depth: int) -> np.ndarray:
    """Eight bytes of each text from `depth` on, zeros after its end."""
    left = np.clip(lengths - depth, 0, 8)
    found = eight[np.where(left > 0, starts + depth, 0)].astype(np.uint64)
    cut = ((8 - left) * 8).astype(np.uint64)
    found = np.where(left > 0, found >> np.minimum(cut, np.uint64(63)), np.uint64(0))
    return found << np.minimum(cut, np.uint64(63))


def _repeated(groups: np.ndarray) -> np.ndarray:
    """Which of ascending numbers are there more than once."""
    same = np.zeros(len(groups) + 1, bool)
    same[1:-1] = groups[1:] == groups[:-1]
    return same[1:] | same[:-1]
