"""partial_sort: rows whose prefix is equal come together; each such run is sorted, and the runs stay as they come.

Streams: whole runs are sorted and passed on as soon as a window of rows is there. Memory: a window, or one run's rows where
those are more. Runs are told apart by the prefix columns changing from row to row, so the prefix may come sorted in any
direction, or only grouped.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from executor.arrow.batches import Batches, select, table_batches
from executor.arrow.context import Context
from executor.arrow.ordering import sorted_runs
from executor.arrow.pipeline import ordered_map
from executor.arrow.whole_groups import group_starts, whole_groups
from optimizer.algebra.columns import column_ids
from optimizer.algebra.physical import PartialSort
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    op = node.op
    assert isinstance(op, PartialSort)
    result = context.schema(node)
    prefix = tuple(column_ids(op.prefix))

    def in_order(whole: pa.RecordBatch) -> Batches:
        runs = np.searchsorted(group_starts(whole, prefix), np.arange(whole.num_rows), side="right")
        for made in table_batches(sorted_runs(pa.Table.from_batches([whole]), runs, op.order), context.tuning.batch):
            yield select(made, result)

    yield from ordered_map(whole_groups(node, context, prefix), in_order, context.tuning)
