"""project_rows: computes columns for each row, in order."""

from __future__ import annotations

import pyarrow as pa

from executor.arrow.batches import column_name
from executor.arrow.context import Context
from executor.arrow.expressions import compile_scalar
from executor.arrow.pipeline import Stage
from optimizer.algebra.physical import ProjectRows
from optimizer.algebra.plan import PlanNode


def stage(node: PlanNode, context: Context) -> Stage:
    return context.once(node, lambda: _stage(node, context))


def _stage(node: PlanNode, context: Context) -> Stage:
    assert isinstance(node.op, ProjectRows)
    schema = context.schema(node)
    values = {column_name(item.id): item.value for item in node.op.items}
    evaluators = [(compile_scalar(values[field.name]), field.type) for field in schema]

    def work(batch: pa.RecordBatch) -> tuple[pa.RecordBatch]:
        arrays = []
        for evaluate, type in evaluators:
            array = evaluate(batch)
            arrays.append(array if array.type == type else array.cast(type))
        return (pa.RecordBatch.from_arrays(arrays, schema=schema),)

    return Stage(work)
