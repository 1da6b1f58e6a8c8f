"""constant_rows: the rows of a VALUES list."""

import pyarrow as pa

from executor.arrow.batches import ONE_ROW, Batches, column_name, single_array
from executor.arrow.context import Context
from executor.arrow.expressions import compile_scalar
from optimizer.algebra.physical import ConstantRows
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.scalars import Literal
from optimizer.algebra.types import is_integer


def produce(node: PlanNode, context: Context) -> Batches:
    assert isinstance(node.op, ConstantRows)
    if not node.op.rows:
        return
    schema = context.schema(node)
    position = {column_name(id): i for i, id in enumerate(node.op.columns)}
    arrays = []
    for field in schema:
        cells = [row[position[field.name]] for row in node.op.rows]
        known = [cell.value for cell in cells if isinstance(cell, Literal) and cell.type == field.type]
        if is_integer(field.type) and len(known) == len(cells):  # there may be many, of a series
            arrays.append(pa.array(known, field.type))
            continue
        values = [compile_scalar(cell)(ONE_ROW) for cell in cells]
        arrays.append(single_array(pa.chunked_array([v.cast(field.type) if v.type != field.type else v for v in values])))
    yield pa.RecordBatch.from_arrays(arrays, schema=schema)
