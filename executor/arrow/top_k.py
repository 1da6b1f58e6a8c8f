"""top_k: the first rows of an order, without sorting the others.

Candidates are gathered and cut down to the first `offset + count` from time to time; from the first cut on, rows whose first key
comes after the last candidate's are dropped as they come.
"""

import pyarrow as pa

from executor.arrow.batches import Batches, batch_schema, column_name, emptied, nbytes, select, table_batches
from executor.arrow.context import Context
from executor.arrow.ordering import may_precede, sorted_rows, sorting_bytes
from optimizer.algebra.physical import TopK
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    op, child = node.op, node.inputs[0]
    assert isinstance(op, TopK)
    wanted = op.offset + op.count
    if op.count == 0:
        return
    schema = batch_schema(child.columns, context.columns)
    held: list[pa.RecordBatch] = []
    rows = 0
    bound: pa.Scalar | None = None
    for batch in context.open(child):
        if bound is not None:
            mask = may_precede(batch, bound, op.order)
            batch = batch if mask is None else batch.filter(mask)
        if batch.num_rows == 0:
            continue
        held.append(batch)
        rows += batch.num_rows
        context.held(node, nbytes(held))
        if rows >= 2 * wanted and rows >= wanted + min(context.tuning.window, context.tuning.merge):
            first = _first(node, context, emptied(held, schema), wanted)
            held, rows = first.to_batches(), first.num_rows
            if op.order:
                bound = first[column_name(op.order[0].column)][-1]
    first = _first(node, context, emptied(held, schema), wanted).slice(op.offset)
    result = context.schema(node)
    for made in table_batches(first, context.tuning.batch):
        yield select(made, result)


def _first(node: PlanNode, context: Context, candidates: pa.Table, wanted: int) -> pa.Table:
    assert isinstance(node.op, TopK)
    context.held(node, sorting_bytes(candidates))
    candidates = candidates.combine_chunks()
    return sorted_rows(candidates, node.op.order, wanted)
