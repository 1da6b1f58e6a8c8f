"""union_all: the rows of all inputs, one input after the other."""

from executor.arrow.batches import Batches, renamed
from executor.arrow.context import Context
from optimizer.algebra.physical import UnionAll
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    assert isinstance(node.op, UnionAll)
    schema = context.schema(node)
    for child, source in zip(node.inputs, node.op.sources, strict=True):
        below = dict(zip(node.op.columns, source, strict=True))
        yield from renamed(context.open(child), below, node.columns, schema)
