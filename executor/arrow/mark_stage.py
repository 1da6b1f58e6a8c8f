"""The stage of a mark join: each outer row as it is, with its mark added."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from executor.arrow.batches import column_name
from executor.arrow.context import Context
from executor.arrow.pipeline import Stage
from optimizer.algebra.physical import HashJoin, NestedApply, NestedLoopJoin
from optimizer.algebra.plan import PlanNode


def mark_stage(node: PlanNode, context: Context, marks: Callable[[pa.RecordBatch], pa.Array]) -> Stage:
    return Stage(lambda outer: (with_marks(node, context.schema(node), outer, lambda: marks(outer)),))


def with_marks(node: PlanNode, schema: pa.Schema, outer: pa.RecordBatch, marks: Callable[[], pa.Array]) -> pa.RecordBatch:
    """The columns of `schema`, one of which may be the mark; `marks` is asked only then."""
    op = node.op
    assert isinstance(op, HashJoin | NestedLoopJoin | NestedApply) and op.mark is not None
    name = column_name(op.mark)
    return pa.RecordBatch.from_arrays([marks() if f.name == name else outer.column(f.name) for f in schema], schema=schema)
