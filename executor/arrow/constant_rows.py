"""constant_rows: the rows of a VALUES list."""

from __future__ import annotations

import pyarrow as pa

from executor.arrow.batches import ONE_ROW, Batches, column_name, single_array
from executor.arrow.context import Context
from executor.arrow.expressions import compile_scalar
from optimizer.algebra.physical import ConstantRows
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    assert isinstance(node.op, ConstantRows)
    if not node.op.rows:
        return
    schema = context.schema(node)
    position = {column_name(id): i for i, id in enumerate(node.op.columns)}
    arrays = []
    for field in schema:
        values = [compile_scalar(row[position[field.name]])(ONE_ROW) for row in node.op.rows]
        arrays.append(single_array(pa.chunked_array([v.cast(field.type) if v.type != field.type else v for v in values])))
    yield pa.RecordBatch.from_arrays(arrays, schema=schema)
