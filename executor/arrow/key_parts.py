"""Rows by the hash of their keys, in parts that fit the caches: rows with equal keys are in one part.

Grouping ten million rows by a key that hardly repeats takes less than half of the time in parts, and less memory: the tables of
Arrow's grouping are small then, and one part's at a time.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from executor.arrow.context import Tuning
from executor.arrow.key_words import key_words, mixed_words
from executor.arrow.pipeline import ordered_map

_MOST_BITS = 8  # of the number of a part
_MOST_KEYS = 32  # that decide about the part
_HIGH = 48  # from which bit of the hash on: the tasks of Spark take the lower ones


def by_key_parts(
    tables: list[pa.Table], keys: Sequence[str], work: Callable[[pa.Table], pa.Table], tuning: Tuning,
    made: Callable[[int], None] | None = None,
) -> pa.Table:  # fmt: skip
    """What `work` makes of the rows of all tables, where what it makes of a row depends only on those with equal `keys` (NULL
    equals NULL), in their order. Parts have some `tuning.part` rows; fewer than twice as many are one. Empties `tables`, whose
    rows are held until all is done; `made` is told how many bytes there are besides, each time that there are more."""
    rows = sum(table.num_rows for table in tables)
    parts: Iterator[pa.Table]
    if rows < 2 * tuning.part or not keys:
        parts = iter([pa.concat_tables(tables)])
        tables.clear()
    else:
        parts = _parts(tables, keys, min(_MOST_BITS, (rows // tuning.part).bit_length()), tuning)
    done: list[pa.Table] = []
    bytes = 0
    for result in ordered_map(parts, lambda part: (work(part),), tuning):
        done.append(result)
        bytes += result.nbytes
        if made is not None:
            made(bytes)
    return pa.concat_tables(done)


def _parts(tables: list[pa.Table], keys: Sequence[str], bits: int, tuning: Tuning) -> Iterator[pa.Table]:
    parts: list[list[pa.RecordBatch]] = [[] for _ in range(1 << bits)]
    tables.reverse()
    while tables:
        for batch in tables.pop().to_batches(max_chunksize=tuning.batch):
            for part, rows in zip(parts, parted(batch, keys[:_MOST_KEYS], len(parts), _HIGH), strict=True):
                if rows.num_rows:
                    part.append(rows)
    return (pa.Table.from_batches(part) for part in parts if part)


def parted(batch: pa.RecordBatch, keys: Sequence[str], count: int, shift: int = 0) -> Iterator[pa.RecordBatch]:
    """The rows in so many parts, in each as they come, by the hash of their keys (NULL equals NULL) from the bit `shift` on."""
    words, _ = key_words([batch.column(key) for key in keys], null_safe=(1 << len(keys)) - 1)
    # small numbers are sorted sooner
    number = ((mixed_words(words) >> np.uint64(shift)) % np.uint64(count)).astype(np.min_scalar_type(count - 1))
    ordered = batch.take(pa.array(np.argsort(number, kind="stable")))
    rows = np.bincount(number, minlength=count)
    return (ordered.slice(start, size) for start, size in zip((np.cumsum(rows) - rows).tolist(), rows.tolist(), strict=True))
