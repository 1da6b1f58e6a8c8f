"""sort: all rows of the input, ordered."""

from executor.arrow.batches import Batches, give_back, select, table_batches
from executor.arrow.context import Context
from executor.arrow.ordering import sorted_rows, sorting_bytes
from optimizer.algebra.physical import Sort
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    assert isinstance(node.op, Sort)
    child = node.inputs[0]
    table = context.gather(node, child)
    context.held(node, sorting_bytes(table))
    table = table.combine_chunks()
    give_back(table.nbytes)
    ordered = sorted_rows(table, node.op.order)
    del table
    context.held(node, ordered.nbytes)
    schema = context.schema(node)
    for batch in table_batches(ordered, context.tuning.batch):
        yield select(batch, schema)
