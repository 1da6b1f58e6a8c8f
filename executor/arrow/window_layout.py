"""Where partitions and peers begin and end among rows that are sorted by partition and order.

All places are row numbers (int64); an end is the row after the last one. Arrays have one entry a row unless they say otherwise.
Each is made when a call asks for it.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from executor.arrow.whole_groups import group_starts
from optimizer.algebra.columns import ColumnId


class Layout:
    """`starts`, `peer_starts`: first rows of partitions and of groups of peers, with the number of rows at the end.
    `partition`, `peers`: the number of each row's partition and group of peers."""

    def __init__(self, batch: pa.RecordBatch, partition: Sequence[ColumnId], order: Sequence[ColumnId]) -> None:
        self.rows = batch.num_rows
        self._batch, self._partition, self._order = batch, partition, order

    @cached_property
    def at(self) -> np.ndarray:
        return np.arange(self.rows)

    @cached_property
    def starts(self) -> np.ndarray:
        return np.append(group_starts(self._batch, self._partition), self.rows)

    @cached_property
    def peer_starts(self) -> np.ndarray:
        if not self._order:
            return self.starts
        new = np.zeros(self.rows + 1, np.bool_)
        new[self.starts] = True
        new[group_starts(self._batch, self._order)] = True
        return np.flatnonzero(new)

    @cached_property
    def partition(self) -> np.ndarray:
        return _of_each_row(np.arange(len(self.starts) - 1), self.starts)

    @cached_property
    def peers(self) -> np.ndarray:
        return _of_each_row(np.arange(len(self.peer_starts) - 1), self.peer_starts)

    @cached_property
    def start(self) -> np.ndarray:
        return _of_each_row(self.starts[:-1], self.starts)

    @cached_property
    def end(self) -> np.ndarray:
        return _of_each_row(self.starts[1:], self.starts)

    @cached_property
    def peer_start(self) -> np.ndarray:
        return _of_each_row(self.peer_starts[:-1], self.peer_starts)

    @cached_property
    def peer_end(self) -> np.ndarray:
        return _of_each_row(self.peer_starts[1:], self.peer_starts)


def _of_each_row(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The value of the stretch of rows that each row is in."""
    return np.repeat(values, np.diff(starts))
