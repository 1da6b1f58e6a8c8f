"""streaming_aggregate: the rows of a group come together; groups go out in the order they come in.

Groups are told apart by their keys changing from row to row, and then aggregated by number: nothing is hashed. Memory: a window
of rows a thread, or one group's rows where those are more.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from executor.arrow import hash_aggregate
from executor.arrow.aggregates import Aggregation
from executor.arrow.batches import Batches, column_name, single_array
from executor.arrow.comparisons import normalized
from executor.arrow.context import Context
from executor.arrow.pipeline import ordered_map
from executor.arrow.selection import taken
from executor.arrow.whole_groups import group_starts, whole_groups
from optimizer.algebra.columns import column_set
from optimizer.algebra.physical import StreamingAggregate
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    op = node.op
    assert isinstance(op, StreamingAggregate)
    if not op.keys:  # one group: nothing is ever complete before the end
        yield from hash_aggregate.produce(node, context)
        return
    output, keys = context.schema(node), {column_name(key) for key in op.keys}
    # the id of no column, nor of an aggregate that nobody reads
    number = max(node.columns, node.inputs[0].columns, column_set(item.id for item in op.aggregates)).bit_length()
    fields = [field for field in output if field.name not in keys]
    aggregation = Aggregation([number], op.aggregates, pa.schema([*fields, pa.field(column_name(number), pa.int64())]))

    def results(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        starts = group_starts(batch, op.keys)
        numbers = np.repeat(np.arange(len(starts)), np.diff(starts, append=batch.num_rows))
        names = [*batch.schema.names, column_name(number)]
        made = aggregation.finish(
            aggregation.partial(pa.RecordBatch.from_arrays([*batch.columns, pa.array(numbers)], names=names))
        )
        found = made[column_name(number)].to_numpy()
        if (found[1:] < found[:-1]).any():
            made = made.take(pa.array(np.argsort(found)))
        first = pa.array(starts)
        arrays = [
            taken(normalized(batch.column(field.name)), first) if field.name in keys else single_array(made[field.name])
            for field in output
        ]
        return [pa.RecordBatch.from_arrays(arrays, schema=output)]

    yield from ordered_map(whole_groups(node, context, op.keys), results, context.tuning)
