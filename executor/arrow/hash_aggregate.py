"""hash_aggregate: groups in any order of the input. Batches are grouped on several threads, and their groups merged.

Where keys hardly repeat within a batch, its rows wait for the merge as they are. Memory: the groups, and at most
`tuning.merge` partial groups, or three times as many as there are groups, waiting to be merged.
"""

from executor.arrow.aggregates import Aggregation, Partial
from executor.arrow.batches import Batches, batch_schema, empty_batch, fewer
from executor.arrow.context import Context
from executor.arrow.pipeline import ordered_map
from optimizer.algebra.physical import HashAggregate, StreamingAggregate
from optimizer.algebra.plan import PlanNode

_GROWTH = 4  # merge when so many times the groups have gathered: each group is merged a few times at most


def produce(node: PlanNode, context: Context) -> Batches:
    yield from results(node, context, gathered(node, context, aggregation(node, context)))


def aggregation(node: PlanNode, context: Context) -> Aggregation:
    op = node.op
    assert isinstance(op, HashAggregate | StreamingAggregate)
    return context.once(node, lambda: Aggregation(op.keys, op.aggregates, context.schema(node)))


def results(node: PlanNode, context: Context, merged: Partial) -> Batches:
    """The rows of fully merged states."""
    yield from aggregation(node, context).results(merged, context.tuning)


def gathered(node: PlanNode, context: Context, aggregation: Aggregation) -> Partial:
    """The fully merged states of the node's input."""
    child, keyed = node.inputs[0], aggregation.keyed
    source = fewer(context.open(child), context.tuning.inline)
    first = next(source, None)
    if first is None:
        first = empty_batch(batch_schema(child.columns, context.columns))
    waiting = [aggregation.partial(first)]
    rows, held, merged = waiting[0].rows, waiting[0].nbytes, 0
    context.held(node, held)
    # decided once, by the first batch, so that floats are added in the same order on every run
    repeated = 2 * waiting[0].states.num_rows <= first.num_rows or not keyed
    for partial in ordered_map(source, lambda batch: (aggregation.partial(batch, repeated),), context.tuning):
        waiting.append(partial)
        rows += partial.rows
        held += partial.nbytes
        context.held(node, held)
        if rows >= max(context.tuning.merge, _GROWTH * merged):
            waiting = [_merged(node, context, aggregation, waiting)]
            rows, held = waiting[0].rows, waiting[0].nbytes
            merged = rows
    return waiting[0] if len(waiting) == 1 else _merged(node, context, aggregation, waiting)


def _merged(node: PlanNode, context: Context, aggregation: Aggregation, waiting: list[Partial]) -> Partial:
    held = sum(partial.nbytes for partial in waiting)
    merged = aggregation.merge(waiting, context.tuning, lambda made: context.held(node, held + made))
    context.held(node, merged.nbytes)
    return merged
