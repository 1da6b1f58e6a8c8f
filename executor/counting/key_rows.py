"""Join keys of the rows of an input, as 64-bit words that are equal where SQL says that the keys are.

Words mean the same in all inputs of a query: what fits a word is its own word; texts are numbered as they come.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from executor.arrow.batches import single_array
from executor.arrow.key_words import is_exact, key_words


class KeyRows(NamedTuple):
    """One key, row by row: `words` (one array or several), and which rows are not NULL (None: all)."""

    words: list[np.ndarray]
    valid: np.ndarray | None


class KeyReader:
    """Turns columns into words. Texts keep their numbers for as long as the reader lives."""

    def __init__(self) -> None:
        self._texts: dict[object, int] = {}

    def read(self, batches: Iterable[pa.RecordBatch], positions: Sequence[int]) -> list[KeyRows]:
        """The keys at these positions of all batches, row-aligned."""
        parts: list[list[KeyRows]] = [[] for _ in positions]
        for batch in batches:
            for part, position in zip(parts, positions, strict=True):
                part.append(self._key(batch.column(position)))
        return [_put_together(part) for part in parts]

    def _key(self, column: pa.Array) -> KeyRows:
        valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
        if is_exact(column.type):
            return KeyRows(key_words([column])[0], valid)
        encoded = single_array(column).dictionary_encode()
        numbers = [self._texts.setdefault(text, len(self._texts)) for text in encoded.dictionary.to_pylist()]
        places = encoded.indices.fill_null(0).to_numpy()
        numbered = np.array(numbers, np.int64)
        return KeyRows([numbered[places] if len(numbered) else np.zeros(len(column), np.int64)], valid)


def _put_together(parts: Sequence[KeyRows]) -> KeyRows:
    if not parts:
        return KeyRows([np.empty(0, np.int64)], None)
    words = [np.concatenate(columns) for columns in zip(*(part.words for part in parts), strict=True)]
    if all(part.valid is None for part in parts):
        return KeyRows(words, None)
    valid = [np.ones(len(part.words[0]), np.bool_) if part.valid is None else part.valid for part in parts]
    return KeyRows(words, np.concatenate(valid))
