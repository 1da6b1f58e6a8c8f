"""Where partitions and peers begin and end among rows that are sorted by partition and order.

All places are row numbers (int64); an end is the row after the last one. Arrays have one entry a row unless they say otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from executor.arrow.whole_groups import group_starts
from optimizer.algebra.columns import ColumnId


class Layout:
    """`starts`, `peer_starts`: first rows of partitions and of groups of peers, with the number of rows at the end.
    `partition`, `peers`: the number of each row's partition and group of peers."""

    def __init__(self, batch: pa.RecordBatch, partition: Sequence[ColumnId], order: Sequence[ColumnId]) -> None:
        self.rows = rows = batch.num_rows
        self.at = np.arange(rows)
        first = group_starts(batch, partition)
        self.starts = np.append(first, rows)
        new = np.zeros(rows, np.bool_)
        new[first] = True
        self.partition = np.cumsum(new) - 1
        if order:
            new[group_starts(batch, order)] = True
        self.peer_starts = np.append(np.flatnonzero(new), rows)
        self.peers = np.cumsum(new) - 1
        self.start, self.end = self.starts[self.partition], self.starts[self.partition + 1]
        self.peer_start, self.peer_end = self.peer_starts[self.peers], self.peer_starts[self.peers + 1]
