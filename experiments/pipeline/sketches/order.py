"""Values sorted and told apart: for each type a NumPy array that orders as SQL orders the values, texts by their bytes.

Texts too long to be kept are cut to bounds that are as good: a cut text is below, the next one after all with its start above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow import decimals
from executor.arrow.key_words import is_ordered, key_words

LONGEST = 1024  # bytes of a text that is kept whole


@dataclass(slots=True, eq=False)
class Order:
    """`positions`: of the values, ascending; `starts`: where in `positions` each distinct value begins.

    `first`, for each distinct value, is the position of one of its rows.
    """

    positions: np.ndarray
    starts: np.ndarray

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
    words = None if is_text(values.type) else sortable(values)
    if words is not None:
        positions = np.argsort(words)
        return Order(positions, run_starts(words[positions]))
    positions = pc.sort_indices(values).to_numpy().astype(np.int64)
    ascending = values.take(pa.array(positions))
    differs = pc.not_equal(ascending[1:], ascending[:-1]).to_numpy(zero_copy_only=False) if len(values) else np.empty(0, bool)
    return Order(positions, np.flatnonzero(np.concatenate([[True], differs])) if len(values) else positions)


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


def lengths(values: pa.Array) -> np.ndarray | None:
    """In bytes; None for types of which no value is long."""
    return pc.binary_length(values).to_numpy().astype(np.int64) if is_text(values.type) else None


def cut(values: pa.Array) -> pa.Array:
    """Each value, or what LONGEST bytes hold of it, which is below it. Ascending values stay so."""
    return _shorter(values, _start)


def cut_upwards(values: pa.Array) -> pa.Array:
    """Each value, or a shorter one above it and all others that start like it."""
    return _shorter(values, _above)


def _shorter(values: pa.Array, shortened: Callable[[Any], str | bytes]) -> pa.Array:
    widths = lengths(values)
    if widths is None or not (widths > LONGEST).any():
        return values
    return pa.array(map(shortened, values.to_pylist()), values.type)


def _start(value: str | bytes) -> str | bytes:
    if isinstance(value, bytes):
        return value[:LONGEST]
    return value.encode()[:LONGEST].decode(errors="ignore") if len(value.encode()) > LONGEST else value


def _above(value: str | bytes) -> str | bytes:
    start = _start(value)
    if len(start) == len(value):
        return value
    if isinstance(start, bytes):
        kept = start.rstrip(b"\xff")
        return kept[:-1] + bytes([kept[-1] + 1]) if kept else value
    text = start.rstrip("\U0010ffff")
    if not text:
        return value
    following = ord(text[-1]) + 1
    return text[:-1] + chr(0xE000 if following == 0xD800 else following)
