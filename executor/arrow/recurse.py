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
from executor.arrow.key_index import KeyIndex
from executor.arrow.rerun import Rerun
from executor.arrow.selection import taken
from optimizer.algebra.columns import ColumnId, column_ids
from optimizer.algebra.physical import Recurse
from optimizer.algebra.plan import PlanNode
from optimizer.errors import ExecutionError

_RECENT, _PART = 1024, 16  # rows that need no index, at least, and as a part of all


def produce(node: PlanNode, context: Context) -> Batches:
    op, (start, step) = node.op, node.inputs
    assert isinstance(op, Recurse)
    schema = pa.schema([pa.field(column_name(id), context.columns[id].type) for id in op.sources[0]])
    last, seen = list[pa.RecordBatch](), None if op.all else _Seen(schema)
    again = Rerun(step, 0, op.spool)
    inside = replace(again.context(context), spools={**context.spools, op.spool: lambda: last})
    place = {out: i for i, out in enumerate(op.columns)}
    shown = context.schema(node)
    made, number = context.open(start), 0
    source: Sequence[ColumnId] = op.sources[0]
    try:
        while True:
            rows = []
            for batch in made:
                rows.append(pa.RecordBatch.from_arrays([batch.column(column_name(id)) for id in source], schema=schema))
                context.held(node, nbytes(rows) + nbytes(last) + (0 if seen is None else seen.bytes))
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
            last = rows
            made, source = inside.open(again.root), op.sources[1]
    finally:
        again.forget(context)


class _Seen:
    """All rows that there were, each once: those of an index, and recent ones, a small part, that are not in it yet."""

    def __init__(self, schema: pa.Schema) -> None:
        self._recent = [pa.nulls(0, field.type) for field in schema]
        self._indexed(self._recent)

    def _indexed(self, rows: list[pa.Array]) -> None:
        self._old, self._index = rows, KeyIndex(rows, (1 << len(rows)) - 1)
        self._recent = [column.slice(0, 0) for column in rows]

    @property
    def bytes(self) -> int:
        return self._index.nbytes + sum(column.nbytes for column in (*self._old, *self._recent))

    def new(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Those that were not there before, each once, and note them."""
        own = [normalized(column) for column in batch.columns]
        fresh = np.flatnonzero(self._index.find(own) < 0) if len(self._old[0]) else np.arange(batch.num_rows)
        rows = [pa.concat_arrays([known, taken(column, fresh)]) for known, column in zip(self._recent, own, strict=True)]
        before = len(rows[0]) - len(fresh)
        first = np.sort(distinct_rows(rows)[0])
        self._recent = [taken(column, first) for column in rows]
        if len(first) > max(_RECENT, len(self._old[0]) // _PART):
            self._indexed([pa.concat_arrays(pair) for pair in zip(self._old, self._recent, strict=True)])
        return [taken(batch, fresh[first[first >= before] - before])]
