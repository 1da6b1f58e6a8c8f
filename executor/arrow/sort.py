"""sort: all rows of the input, ordered."""

from __future__ import annotations

from executor.arrow.batches import Batches, select, table_batches
from executor.arrow.context import Context
from executor.arrow.ordering import sorted_rows
from optimizer.algebra.physical import Sort
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    assert isinstance(node.op, Sort)
    child = node.inputs[0]
    table = context.gather(node, child).combine_chunks()
    schema = context.schema(node)
    for batch in table_batches(sorted_rows(table, node.op.order), context.tuning.batch):
        yield select(batch, schema)
