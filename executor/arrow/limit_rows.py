"""limit_rows: passes some rows of its input, then stops it."""

from __future__ import annotations

from executor.arrow.batches import Batches, select
from executor.arrow.context import Context
from optimizer.algebra.physical import LimitRows
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    """With a count of 0 the input is not even started."""
    assert isinstance(node.op, LimitRows)
    skip, left, schema = node.op.offset, node.op.count, context.schema(node)
    if left == 0:
        return
    source = context.open(node.inputs[0])
    try:
        for batch in source:
            if skip >= batch.num_rows:
                skip -= batch.num_rows
                continue
            kept = select(batch, schema).slice(skip, left)
            skip = 0
            if left is not None:
                left -= kept.num_rows
            yield kept
            if left == 0:
                return
    finally:
        source.close()
