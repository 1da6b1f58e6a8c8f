"""An index from join keys to the rows that have them: what a hash join builds on one input and probes with the other.

Rows with equal keys form a group. Groups are found by key in one of two ways:

- directly: one integer key whose values do not lie too far apart is itself the place in a table of groups;
- by hashing: a table of 2^k places, linear probing. All rows take a step at once: those whose place is free or holds
  their key are done, the others go one place on, until none is left. Rounds are few, each vectorized.

The rows of a group stand together in `rows`, in ascending order. Groups that are found directly are numbered by their first rows;
one that was hashed has the number of its first row.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.key_places import numbered
from executor.arrow.key_words import is_exact, key_words, mixed_words, rows_by
from executor.arrow.segments import side_by_side
from optimizer.errors import ExecutionError

_NONE = np.int32(-1)
_SEEDS = 16
_ROW_BYTES = 20  # for each row, beside table and keys: its group, where that begins and ends, and both while they are sorted
_MANY = 1 << 20  # keys for which a table of hashes is not made larger than it has to be
_BLOCK = 1 << 19  # rows that look for their places at a time
_SPAN = 1 << 20  # places that a direct table may always have
_SPARSE, _PLACES = 256, 1 << 24  # places a key that it may have, as long as it is of a moderate size


class KeyIndex:
    """`first[g]`, `counts[g]`: where the rows of group g begin in `rows`, and how many there are. `unique`: at most one each.

    Fewer than 2^31 rows. `nbytes` is what the index itself takes. Rows with NULL in a key are in no group, except in the keys
    of the bitset `null_safe`, where NULL equals NULL.
    """

    __slots__ = (
        "_base", "_keys", "_mask", "_null_safe", "_reserve", "_seed", "_shift", "_table", "_words", "counts", "first", "rows",
        "unique",
    )  # fmt: skip

    def __init__(self, keys: Sequence[pa.Array], null_safe: int = 0, reserve: Callable[[int], None] | None = None) -> None:
        """`reserve` is told about how many bytes it will take, before it takes them."""
        if len(keys[0]) >= 1 << 31:
            raise ExecutionError("the build side has more than 2^31 rows")
        # where no row has a NULL, one that is looked up finds nothing, as with other keys
        self._null_safe = sum(1 << i for i, key in enumerate(keys) if null_safe >> i & 1 and key.null_count)
        self._reserve = reserve or (lambda bytes: None)
        for seed in range(_SEEDS):
            words, valid = key_words(keys, seed, self._null_safe)
            self._seed = seed
            if self._build(keys, words, valid):
                return
        raise ExecutionError("the hashes of the join keys collide")

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (self._table, self.rows, self.first, self.counts, *self._words))

    def _build(self, keys: Sequence[pa.Array], words: list[np.ndarray], valid: np.ndarray | None) -> bool:
        """False when two different texts have one hash: another seed has to be tried."""
        members = None if valid is None else np.flatnonzero(valid).astype(np.int32)
        if members is not None:
            words = [word[members] for word in words]
        self._words = words
        self._base: int | None = None
        self._keys: list[pa.Array] | None = None
        count = len(words[0])
        low, high = (int(words[0].min()), int(words[0].max())) if count else (0, 0)
        if len(words) == 1 and is_exact(keys[0].type) and high - low < max(_SPAN, 4 * count, min(_SPARSE * count, _PLACES)):
            group = self._direct(words[0], low, high - low + 1)
        else:
            group = self._hash(words)
            if not all(is_exact(key.type) for key in keys):
                self._keys = list(keys) if members is None else [key.take(pa.array(members)) for key in keys]
                if count and not self._one_text_each(group):
                    return False
        self.counts = np.bincount(group).astype(np.int32) if count else np.empty(0, np.int32)
        self.unique = bool((self.counts <= 1).all())
        self.first = np.cumsum(self.counts, dtype=np.int32)
        self.first -= self.counts
        rows = group if self.unique else rows_by(group)
        self.rows = rows if members is None else members[rows]
        return True

    def _direct(self, word: np.ndarray, low: int, span: int) -> np.ndarray:
        """Fills the table; the group of each row."""
        self._base, self._words = low, []
        self._reserve(4 * span + _ROW_BYTES * len(word))
        groups = numbered(word - low, span)
        self._table = groups.table
        return groups.group

    def _hash(self, words: list[np.ndarray]) -> np.ndarray:
        """Fills the table; the first row of each row's group."""
        count = len(words[0])
        bits = max(4, ((4 if count < _MANY else 2) * count).bit_length())
        self._shift, self._mask = np.uint64(64 - bits), (1 << bits) - 1
        self._reserve((4 << bits) + _ROW_BYTES * count + sum(word.nbytes for word in words))
        table = np.full(1 << bits, _NONE, np.int32)
        leaders = np.empty(count, np.int32)
        for start in range(0, count, _BLOCK):
            end = min(start + _BLOCK, count)
            waiting, place = np.arange(start, end, dtype=np.int32), self._places([word[start:end] for word in words])
            while len(waiting):
                free = table[place] < 0
                # reversed, so that of several rows at a free place the first one stays
                table[place[free][::-1]] = waiting[free][::-1]
                holder = table[place]
                same = words[0][holder] == words[0][waiting]
                for word in words[1:]:
                    same &= word[holder] == word[waiting]
                leaders[waiting[same]] = holder[same]
                waiting, place = waiting[~same], (place[~same] + 1) & self._mask
        self._table = table
        return leaders

    def _one_text_each(self, leaders: np.ndarray) -> bool:
        """Whether all rows of a group have its leader's texts."""
        at = pa.array(leaders)
        return all(
            is_exact(key.type) or pc.all(pc.fill_null(pc.equal(key, key.take(at)), True)).as_py() for key in self._keys or ()
        )

    def _places(self, words: list[np.ndarray]) -> np.ndarray:
        return (mixed_words(words) >> self._shift).view(np.int64)

    def pairs(self, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For groups that were found: the place of each in `group`, once for each of its rows, and these rows."""
        first, counts = self.first[group], self.counts[group]
        return np.repeat(np.arange(len(group)), counts), self.rows[side_by_side(first, first + counts)[0]]

    def find(self, keys: Sequence[pa.Array]) -> np.ndarray:
        """The group of each row's keys, -1 where there is none (NULL keys have none, but in null-safe keys)."""
        words, valid = key_words(keys, self._seed, self._null_safe)
        if self._base is not None:
            place = words[0] - self._base  # may wrap around; then it is out of bounds as well
            group = self._table.take(place, mode="clip")
            group[place.view(np.uint64) >= len(self._table)] = 0
            group -= 1
        else:
            group = self._probe(words)
        if valid is not None:
            group = np.where(valid, group, _NONE)
        return self._same_texts(group, keys) if self._keys is not None else group

    def _probe(self, words: list[np.ndarray]) -> np.ndarray:
        """Rows leave as soon as they have met their key or a free place; by number, masks cost several times as much."""
        place = self._places(words)
        found = self._table.take(place, mode="clip")
        group = np.full(len(place), _NONE)
        rows = np.flatnonzero(found >= 0)
        place, found = place.take(rows), found.take(rows)
        while len(rows):
            same = self._words[0].take(found) == words[0].take(rows)
            for own, word in zip(self._words[1:], words[1:], strict=True):
                same &= own.take(found) == word.take(rows)
            met = np.flatnonzero(same)
            group[rows.take(met)] = found.take(met)
            rest = np.flatnonzero(~same)
            place = (place.take(rest) + 1) & self._mask
            found = self._table.take(place, mode="clip")
            rest, taken = rows.take(rest), np.flatnonzero(found >= 0)
            rows, place, found = rest.take(taken), place.take(taken), found.take(taken)
        return group

    def _same_texts(self, group: np.ndarray, keys: Sequence[pa.Array]) -> np.ndarray:
        """A hash that agrees by chance is no match."""
        assert self._keys is not None
        at = pa.array(group, mask=group < 0)
        for i, (own, key) in enumerate(zip(self._keys, keys, strict=True)):
            if not is_exact(key.type):
                # NULL with NULL: the words agree on which keys are NULL
                equal = pc.fill_null(pc.equal(own.take(at), key), bool(self._null_safe >> i & 1))
                equal = equal.to_numpy(zero_copy_only=False)
                group = np.where(equal, group, _NONE)
        return group
