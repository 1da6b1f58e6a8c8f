"""merge_union: the rows of all inputs, each sorted in one order, in that order.

A window is all rows of the inputs up to a cut: the smallest of the last keys gathered on inputs that have more to come. No row
still to come is before it, so the window can be sorted by itself and passed on. Memory: a window of rows for each input.
"""

import pyarrow as pa

from executor.arrow.batches import Batches, batch_schema, renamed, select, table_batches
from executor.arrow.context import Context
from executor.arrow.merge_join import Side, cut_of
from executor.arrow.ordering import sorted_rows
from optimizer.algebra.columns import column_set
from optimizer.algebra.physical import MergeUnion
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    op, order = node.op, node.alternative.delivered.collation
    assert isinstance(op, MergeUnion)
    wanted = node.columns | column_set(key.column for key in order)
    merged, result = batch_schema(wanted, context.columns), context.schema(node)
    sides = []
    for child, source in zip(node.inputs, op.sources, strict=True):
        below = dict(zip(op.columns, source, strict=True))
        sides.append(Side(renamed(context.open(child), below, wanted, merged), merged, order, context.tuning.window))
    try:
        while True:
            for side in sides:
                side.fill()
            context.held(node, sum(side.nbytes for side in sides))
            cut = cut_of(sides)
            parts = [side.take(side.rows if cut is None else side.count_below(cut, or_with=True))[0] for side in sides]
            window = pa.Table.from_batches([part for part in parts if part.num_rows], merged)
            # stable, so rows that tie stay as their input has them
            for made in table_batches(sorted_rows(window.combine_chunks(), order), context.tuning.batch):
                yield select(made, result)
            if cut is None:
                return
    finally:
        for side in sides:
            side.close()
