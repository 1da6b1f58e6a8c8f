"""streaming_aggregate: the rows of a group come together; groups go out in the order they come in.

Memory: a window of rows a thread, or one group's rows where those are more.
"""

from __future__ import annotations

import pyarrow as pa

from executor.arrow import hash_aggregate
from executor.arrow.aggregates import Aggregation
from executor.arrow.batches import Batches
from executor.arrow.context import Context
from executor.arrow.pipeline import ordered_map
from executor.arrow.whole_groups import whole_groups
from optimizer.algebra.physical import StreamingAggregate
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    op = node.op
    assert isinstance(op, StreamingAggregate)
    if not op.keys:  # one group: nothing is ever complete before the end
        yield from hash_aggregate.produce(node, context)
        return
    aggregation = Aggregation(op.keys, op.aggregates, context.schema(node), in_order=True)

    def results(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        return [made for made in aggregation.finish(aggregation.partial(batch)).to_batches() if made.num_rows]

    yield from ordered_map(whole_groups(node, context, op.keys), results, context.tuning)
