"""recurse: a recursive common table expression, round by round (semi-naive evaluation: a round reads the rows of the last one).

What the step computes without reading those is computed once and kept. Rows are handed on as they come, so that a LIMIT above
ends a recursion that would not end. UNION compares the new rows with all that there were before.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from executor.arrow.batches import Batches, collect, column_name, nbytes, one_batch
from executor.arrow.comparisons import normalized
from executor.arrow.context import Context
from executor.arrow.distinct import distinct_rows
from executor.arrow.rerun import Rerun
from optimizer.algebra.columns import ColumnId, column_ids
from optimizer.algebra.physical import Recurse
from optimizer.algebra.plan import PlanNode
from optimizer.errors import ExecutionError


class _Last:
    """The rows of the last round, as the step reads them."""

    def __init__(self) -> None:
        self.rows: list[pa.RecordBatch] = []

    def batches(self) -> Batches:
        yield from self.rows


def produce(node: PlanNode, context: Context) -> Batches:
    op, (start, step) = node.op, node.inputs
    assert isinstance(op, Recurse)
    last, seen = _Last(), _Seen() if not op.all else None
    again = Rerun(step, 0, op.spool)
    inside = replace(again.context(context), spools={**context.spools, op.spool: last})
    schema = pa.schema([pa.field(column_name(id), context.columns[id].type) for id in op.sources[0]])
    place = {out: i for i, out in enumerate(op.columns)}
    shown = context.schema(node)
    made, number = context.open(start), 0
    source: Sequence[ColumnId] = op.sources[0]
    while True:
        rows = []
        for batch in made:
            rows.append(pa.RecordBatch.from_arrays([batch.column(column_name(id)) for id in source], schema=schema))
            context.held(node, nbytes(rows) + nbytes(last.rows) + (0 if seen is None else seen.bytes))
        if seen is not None:
            rows = seen.new(one_batch(collect(rows, schema)))
        rows = [batch for batch in rows if batch.num_rows]
        if not rows:
            return
        for batch in rows:
            yield pa.RecordBatch.from_arrays([batch.column(place[id]) for id in column_ids(node.columns)], schema=shown)
        number += 1
        if number > context.tuning.rounds:
            message = f'the recursive CTE "{op.title}" has not ended after {context.tuning.rounds:,} rounds'
            raise ExecutionError(f"{message}\nadd a condition to its second part that becomes false, or write UNION")
        last.rows = rows
        made, source = inside.open(again.root), op.sources[1]


class _Seen:
    """All rows that there were, each once."""

    def __init__(self) -> None:
        self._rows: list[pa.Array] | None = None
        self.bytes = 0

    def new(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Those that were not there before, each once, and note them."""
        own = [normalized(column) for column in batch.columns]
        both = own if self._rows is None else [pa.concat_arrays(pair) for pair in zip(self._rows, own, strict=True)]
        before = len(both[0]) - batch.num_rows
        first = np.sort(distinct_rows(both)[0])
        self._rows = [column.take(pa.array(first)) for column in both]
        self.bytes = sum(column.nbytes for column in self._rows)
        return [batch.take(pa.array(first[first >= before] - before))]
