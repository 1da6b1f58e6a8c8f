"""filter_rows: keeps rows where every conjunct is TRUE, in order."""

from executor.arrow.batches import select
from executor.arrow.context import Context
from executor.arrow.expressions import compile_predicate
from executor.arrow.pipeline import Stage
from executor.arrow.selection import filtered
from optimizer.algebra.physical import FilterRows
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.scalars import FALSE


def stage(node: PlanNode, context: Context) -> Stage:
    return context.once(node, lambda: _stage(node, context))


def _stage(node: PlanNode, context: Context) -> Stage:
    assert isinstance(node.op, FilterRows)
    keep, schema = compile_predicate(node.op.predicate), context.schema(node)
    if context.filters is not None:
        context.filters.filtered_by(node.inputs[0], node.op.predicate)
    # the mask first: columns that only the predicate reads are not filtered
    return Stage(lambda batch: (filtered(select(batch, schema), keep(batch)),), dead=FALSE in node.op.predicate)
