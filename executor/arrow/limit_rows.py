"""limit_rows: passes some rows of its input, then stops it."""

from executor.arrow.batches import Batches, limited, select
from executor.arrow.context import Context
from optimizer.algebra.physical import LimitRows
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    """With a count of 0 the input is not even started."""
    assert isinstance(node.op, LimitRows)
    source, schema = context.open(node.inputs[0]), context.schema(node)
    try:
        yield from limited((select(batch, schema) for batch in source), node.op.offset, node.op.count)
    finally:
        source.close()
