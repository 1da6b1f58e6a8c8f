"""hash_aggregate: groups in any order of the input. Batches are grouped on several threads, and their groups merged.

Memory: the groups, and at most `tuning.merge` partial groups, or as many as there are groups, waiting to be merged.
"""

from __future__ import annotations

from executor.arrow.aggregates import Aggregation, Partial
from executor.arrow.batches import Batches, batch_schema, empty_batch, table_batches
from executor.arrow.context import Context
from executor.arrow.pipeline import ordered_map
from optimizer.algebra.physical import HashAggregate, StreamingAggregate
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    op, child = node.op, node.inputs[0]
    assert isinstance(op, HashAggregate | StreamingAggregate)
    aggregation = Aggregation(op.keys, op.aggregates, context.schema(node))
    waiting: list[Partial] = []
    rows = merged = held = 0
    for partial in ordered_map(context.open(child), lambda batch: (aggregation.partial(batch),), context.tuning):
        waiting.append(partial)
        rows += partial.rows
        held += partial.nbytes
        context.held(node, held)
        if rows >= max(context.tuning.merge, 2 * merged):
            waiting = [aggregation.merge(waiting)]
            rows = merged = waiting[0].rows
            held = waiting[0].nbytes
    if not waiting:
        waiting.append(aggregation.partial(empty_batch(batch_schema(child.columns, context.columns))))
    yield from table_batches(aggregation.finish(aggregation.merge(waiting)), context.tuning.batch)
