"""streaming_aggregate: the rows of a group come together; groups go out in the order they come in.

Memory: a window of rows, or one group's rows where those are more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow import hash_aggregate
from executor.arrow.aggregates import Aggregation
from executor.arrow.batches import Batches, batch_schema, column_name, nbytes, one_batch
from executor.arrow.comparisons import distinct_from
from executor.arrow.context import Context
from optimizer.algebra.columns import ColumnId
from optimizer.algebra.physical import StreamingAggregate
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    op, child = node.op, node.inputs[0]
    assert isinstance(op, StreamingAggregate)
    if not op.keys:  # one group: nothing is ever complete before the end
        yield from hash_aggregate.produce(node, context)
        return
    aggregation = Aggregation(op.keys, op.aggregates, context.schema(node), in_order=True)
    schema = batch_schema(child.columns, context.columns)
    held: list[pa.RecordBatch] = []  # the rows of the last group are at the end, and may go on
    rows, wanted = 0, context.tuning.window
    for batch in context.open(child):
        held.append(batch)
        rows += batch.num_rows
        if rows < wanted:
            continue
        context.held(node, nbytes(held))
        gathered = one_batch(pa.Table.from_batches(held, schema))
        last = int(group_starts(gathered, op.keys)[-1])
        if last:
            yield from _results(aggregation, gathered.slice(0, last))
        held = [gathered.slice(last)]
        rows = held[0].num_rows
        wanted = max(context.tuning.window, 2 * rows)  # a long group is gathered in ever larger steps
    if held:
        yield from _results(aggregation, one_batch(pa.Table.from_batches(held, schema)))


def _results(aggregation: Aggregation, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    return [b for b in aggregation.finish(aggregation.partial(batch)).to_batches() if b.num_rows]


def group_starts(batch: pa.RecordBatch, keys: Sequence[ColumnId]) -> np.ndarray:
    """Rows at which a value of `keys` differs from the row before, and the first row; NULL equals NULL."""
    changes = np.zeros(batch.num_rows, np.bool_)
    changes[:1] = True
    for key in keys:
        column = batch.column(column_name(key))
        differs = pc.fill_null(distinct_from(column.slice(1), column.slice(0, len(column) - 1)), True)
        changes[1:] |= differs.to_numpy(zero_copy_only=False)
    return np.flatnonzero(changes)
