"""constant_rows: the rows of a VALUES list."""

import pyarrow as pa

from executor.arrow.batches import ONE_ROW, Batches, column_name, single_array
from executor.arrow.context import Context
from executor.arrow.expressions import compile_scalar
from optimizer.algebra.physical import ConstantRows
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.series import Series


def produce(node: PlanNode, context: Context) -> Batches:
    assert isinstance(node.op, ConstantRows)
    if not node.op.rows:
        return
    schema = context.schema(node)
    position = {column_name(id): i for i, id in enumerate(node.op.columns)}
    arrays = []
    for field in schema:
        if isinstance(node.op.rows, Series):
            arrays.append(pa.array(node.op.rows.values, field.type))
            continue
        cells = [row[position[field.name]] for row in node.op.rows]
        values = [compile_scalar(cell)(ONE_ROW) for cell in cells]
        arrays.append(single_array(pa.chunked_array([v.cast(field.type) if v.type != field.type else v for v in values])))
    yield pa.RecordBatch.from_arrays(arrays, schema=schema)
