"""A filter made of join keys: which values a column may have if its rows are to find a partner.

It passes every key, and a few other values: a join follows that tells them apart. Values are places in a table of yes and no:
integers and the like that lie close together directly, all others by a hash (a Bloom filter with one hash function, one place
in sixteen taken). Equality is the joins' (`key_words`): NULL never passes, -0.0 is 0.0, and NaN is NaN.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.key_words import is_ordered, key_words, mixed_words
from optimizer.algebra.columns import DataType

_SPAN = 1 << 23  # places that a table may always have: 8 MB
_PER_KEY = 16  # places for each key, beyond
_MOST_BITS = 27


class KeyFilter:
    """Of the keys in an array. `low`, `high`: the least and largest key, None where the type has no order that row groups know
    or there is no key."""

    __slots__ = ("_base", "_shift", "_table", "high", "low", "type")

    def __init__(self, keys: pa.Array) -> None:
        self.type: DataType = keys.type
        words, valid = key_words([keys])
        if valid is not None:
            words = [word[valid] for word in words]
        count = len(words[0])
        self.low: pa.Scalar | None = None
        self.high: pa.Scalar | None = None
        self._base: int | None = None
        if count and is_ordered(self.type):
            extremes = pc.min_max(keys)
            self.low, self.high = extremes["min"], extremes["max"]
            low, span = int(words[0].min()), int(words[0].max()) - int(words[0].min()) + 1
            if span <= min(max(_SPAN, _PER_KEY * count), 1 << _MOST_BITS):
                self._base = low
                self._table = np.zeros(span, np.bool_)
                self._table[words[0] - low] = True
                return
        bits = min(max(10, (_PER_KEY * count).bit_length()), _MOST_BITS)
        self._shift = np.uint64(64 - bits)
        self._table = np.zeros(1 << bits, np.bool_)
        self._table[self._places(words)] = True

    @property
    def nbytes(self) -> int:
        return self._table.nbytes

    def passes(self, values: pa.Array) -> np.ndarray:
        """A mask of the rows that pass."""
        words, valid = key_words([values])
        if self._base is not None:
            place = words[0] - self._base  # what wraps around is out of bounds as well
            passing = self._table.take(place, mode="clip")
            passing &= place.view(np.uint64) < len(self._table)
        else:
            passing = self._table[self._places(words)]
        if valid is not None:
            passing &= valid
        return passing

    def _places(self, words: list[np.ndarray]) -> np.ndarray:
        return (mixed_words(words) >> self._shift).view(np.int64)
