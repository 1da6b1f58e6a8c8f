"""partial_sort: rows whose prefix is equal come together; each such run is sorted, and the runs stay as they come.

Streams: whole runs are sorted and passed on as soon as a window of rows is there. Memory: a window, or one run's rows where
those are more. Runs are told apart by the prefix columns changing from row to row, so the prefix may come sorted in any
direction, or only grouped.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from executor.arrow.batches import Batches, batch_schema, nbytes, one_batch, select, table_batches
from executor.arrow.context import Context
from executor.arrow.ordering import sorted_runs
from executor.arrow.streaming_aggregate import group_starts
from optimizer.algebra.columns import column_ids
from optimizer.algebra.physical import PartialSort
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    op, child = node.op, node.inputs[0]
    assert isinstance(op, PartialSort)
    schema, result = batch_schema(child.columns, context.columns), context.schema(node)
    prefix = tuple(column_ids(op.prefix))
    held: list[pa.RecordBatch] = []  # the rows of the last run are at the end, and may go on
    rows, wanted = 0, context.tuning.window
    ended = False
    source = context.open(child)
    while not ended:
        batch = next(source, None)
        ended = batch is None
        if batch is not None:
            held.append(batch)
            rows += batch.num_rows
        if not rows or (rows < wanted and not ended):
            continue
        context.held(node, nbytes(held))
        gathered = one_batch(pa.Table.from_batches(held, schema))
        starts = group_starts(gathered, prefix)
        complete = rows if ended else int(starts[-1])
        if complete:
            runs = np.searchsorted(starts, np.arange(complete), side="right")
            ordered = sorted_runs(pa.Table.from_batches([gathered.slice(0, complete)]), runs, op.order)
            for made in table_batches(ordered, context.tuning.batch):
                yield select(made, result)
        held = [gathered.slice(complete)]
        rows = held[0].num_rows
        wanted = max(context.tuning.window, 2 * rows)  # a long run is gathered in ever larger steps
