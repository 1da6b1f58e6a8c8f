"""Rows whose groups come together, in batches cut between groups: each can then be worked on by itself, on any thread."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.batches import Batches, batch_schema, column_name, emptied, one_batch
from executor.arrow.comparisons import distinct_from
from executor.arrow.context import Context
from optimizer.algebra.columns import ColumnId
from optimizer.algebra.plan import PlanNode

_COPIES = 2  # of the rows that are held: as they came, or in one piece, and what is made of them
_LAST = 1024  # rows at the end of which the last group is one mostly


def whole_groups(node: PlanNode, context: Context, keys: Sequence[ColumnId], made: int = 0) -> Batches:
    """The rows of the node's input, whose groups by `keys` come together, no group in two batches. Without keys there is one.
    `made`: bytes that the node makes of each row, beside a copy of it."""
    child = node.inputs[0]
    schema = batch_schema(child.columns, context.columns)
    held: list[pa.RecordBatch] = []  # the rows of the last group are at the end, and may go on
    rows, bytes, wanted = 0, 0, context.tuning.window
    for batch in context.open(child):
        held.append(batch)
        rows += batch.num_rows
        bytes += batch.nbytes
        context.held(node, _COPIES * bytes + made * rows)
        if rows < wanted:
            continue
        gathered = one_batch(emptied(held, schema))
        last = _last_group(gathered, keys)
        if last:
            yield gathered.slice(0, last)
        held = [gathered.slice(last)]
        rows, bytes = held[0].num_rows, held[0].nbytes
        wanted = max(context.tuning.window, 2 * rows)  # a long group is gathered in ever larger steps
    if rows:
        yield one_batch(emptied(held, schema))


def group_starts(batch: pa.RecordBatch, keys: Sequence[ColumnId]) -> np.ndarray:
    """Rows at which a value of `keys` differs from the row before, and the first row; NULL equals NULL."""
    changes = np.zeros(batch.num_rows, np.bool_)
    changes[:1] = True
    for key in keys:
        column = batch.column(column_name(key))
        differs = pc.fill_null(distinct_from(column.slice(1), column.slice(0, len(column) - 1)), True)
        changes[1:] |= differs.to_numpy(zero_copy_only=False)
    return np.flatnonzero(changes)


def _last_group(batch: pa.RecordBatch, keys: Sequence[ColumnId]) -> int:
    """Its first row, looked for from the end."""
    seen = _LAST
    while True:
        start = max(0, batch.num_rows - seen)
        starts = group_starts(batch.slice(start), keys)
        if start == 0 or len(starts) > 1:
            return start + int(starts[-1])
        seen *= 8
