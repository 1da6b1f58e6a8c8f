"""hash_set_op: INTERSECT and EXCEPT, distinct or ALL, by counting each distinct row on both sides (NULL equals NULL)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from executor.arrow.batches import Batches, batch_schema, column_name, select, table_batches
from executor.arrow.comparisons import normalized
from executor.arrow.context import Context
from executor.arrow.key_parts import by_key_parts
from executor.arrow.pipeline import ordered_map
from optimizer.algebra.columns import column_set
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.physical import HashSetOp
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    op = node.op
    assert isinstance(op, HashSetOp)
    full = batch_schema(column_set(op.columns), context.columns)
    names = full.names
    counts = full.append(pa.field("left", pa.int64())).append(pa.field("right", pa.int64()))
    waiting: list[pa.Table] = [counts.empty_table()]
    rows = merged = held = 0
    for side in (0, 1):
        below = {column_name(out): column_name(source) for out, source in zip(op.columns, op.sources[side], strict=True)}

        def count(batch: pa.RecordBatch, below: dict[str, str] = below, side: int = side) -> tuple[pa.Table]:
            ones, zeros = (pa.array(np.full(batch.num_rows, n, np.int64)) for n in (1, 0))
            columns = [normalized(batch.column(below[name])) for name in names]
            return (pa.Table.from_arrays([*columns, *((ones, zeros) if side == 0 else (zeros, ones))], schema=counts),)

        for part in ordered_map(context.open(node.inputs[side]), count, context.tuning):
            waiting.append(part)
            rows += part.num_rows
            held += part.nbytes
            context.held(node, held)
            if rows >= max(context.tuning.merge, 4 * merged):
                waiting = [_merged(node, context, waiting)]
                rows = merged = waiting[0].num_rows
                held = waiting[0].nbytes
        if side == 0 and rows == 0:
            return  # nothing to intersect with or to take from
    table = _merged(node, context, waiting)
    schema = context.schema(node)
    for part in table.to_batches(max_chunksize=context.tuning.batch):
        times = _multiplicity(op, part.column("left").to_numpy(), part.column("right").to_numpy())
        kept = pa.Table.from_batches([part]).select(names).take(pa.array(np.repeat(np.arange(len(times)), times)))
        for batch in table_batches(kept, context.tuning.batch):
            yield select(batch, schema)


def _merged(node: PlanNode, context: Context, waiting: list[pa.Table]) -> pa.Table:
    held, names = sum(table.nbytes for table in waiting), waiting[0].column_names[:-2]
    context.held(node, held)
    merged = by_key_parts(waiting, names, _summed, context.tuning, lambda made: context.held(node, held + made))
    context.held(node, merged.nbytes)
    return merged


def _summed(table: pa.Table) -> pa.Table:
    """One row for each distinct row, its counts added."""
    names = table.column_names[:-2]
    grouped = table.group_by(names, use_threads=False).aggregate([("left", "sum"), ("right", "sum")])
    return pa.table([grouped[name] for name in (*names, "left_sum", "right_sum")], schema=table.schema)


def _multiplicity(op: HashSetOp, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """How often each distinct row is in the result."""
    if op.kind is SetOpKind.INTERSECT:
        return np.minimum(left, right) if op.all else ((left > 0) & (right > 0)).astype(np.int64)
    assert op.kind is SetOpKind.EXCEPT, f"{op.kind} is no set operation by hashing"
    return np.maximum(left - right, 0) if op.all else ((left > 0) & (right == 0)).astype(np.int64)
