"""A filter made of join keys: which values a column may have if its rows are to find a partner.

It passes every key, and a few other values: a join follows that tells them apart. Values are places in a table of yes and no:
integers and the like that lie close together directly, all others by a hash (a Bloom filter with one hash function, one place
in sixteen taken). Equality is the joins' (`key_words`): NULL never passes, -0.0 is 0.0, and NaN is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.key_words import is_ordered, key_words, mixed_words
from executor.arrow.pipeline import made_once
from optimizer.algebra.columns import DataType

_SPAN = 1 << 23  # places that a table may always have: 8 MB
_PER_KEY = 16  # places for each key, beyond
_MOST_BITS = 27


class KeyFilter:
    """Of the keys in an array. `low`, `high`: the least and largest key, None where the type has no order that row groups know
    or there is no key. The table is made when it is first asked for: where only row groups are skipped, it never is."""

    __slots__ = ("_filled", "high", "low", "type")

    def __init__(self, keys: pa.Array, held: Callable[[int], None]) -> None:
        """`held` is told how many bytes the table takes, before it is made."""
        self.type: DataType = keys.type
        self.low: pa.Scalar | None = None
        self.high: pa.Scalar | None = None
        if is_ordered(self.type) and keys.null_count < len(keys):
            extremes = pc.min_max(keys)
            self.low, self.high = extremes["min"], extremes["max"]
        ordered = self.low is not None
        self._filled = made_once(lambda: _table(keys, ordered, held))

    def passes(self, values: pa.Array) -> np.ndarray:
        """A mask of the rows that pass. Several threads may ask at a time."""
        table = self._filled()
        words, valid = key_words([values])
        if table.base is not None:
            place = words[0] - table.base  # what wraps around is out of bounds as well
            passing = table.taken.take(place, mode="clip")
            passing &= place.view(np.uint64) < len(table.taken)
        else:
            passing = table.taken[_places(words, table.bits)]
        if valid is not None:
            passing &= valid
        return passing


class _Table(NamedTuple):
    """Which places are taken. Of a word its place is what it is above `base`; where that is None, a hash of so many `bits`."""

    taken: np.ndarray
    base: int | None
    bits: int = 0


def _table(keys: pa.Array, ordered: bool, held: Callable[[int], None]) -> _Table:
    words, valid = key_words([keys])
    if valid is not None:
        words = [word[valid] for word in words]
    count = len(words[0])
    if ordered:
        low, span = int(words[0].min()), int(words[0].max()) - int(words[0].min()) + 1
        if span <= min(max(_SPAN, _PER_KEY * count), 1 << _MOST_BITS):
            held(span)
            taken = np.zeros(span, np.bool_)
            taken[words[0] - low] = True
            return _Table(taken, low)
    bits = min(max(10, (_PER_KEY * count).bit_length()), _MOST_BITS)
    held(1 << bits)
    taken = np.zeros(1 << bits, np.bool_)
    taken[_places(words, bits)] = True
    return _Table(taken, None, bits)


def _places(words: list[np.ndarray], bits: int) -> np.ndarray:
    return (mixed_words(words) >> np.uint64(64 - bits)).view(np.int64)
