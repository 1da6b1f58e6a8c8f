"""lookup_rows: rows with given values of some keys, by an index that is made once for all runs.

The rows are put in the order of their keys' groups when the index is made, so what a run finds is a slice of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from executor.arrow.batches import ONE_ROW, Batches, select
from executor.arrow.context import Context
from executor.arrow.expressions import compile_predicate, compile_scalar
from executor.arrow.kept_rows import made_of_input
from executor.arrow.key_index import KeyIndex
from optimizer.algebra.physical import LookupRows, RangeLookup
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.scalars import Scalar


class _Grouped(NamedTuple):
    """The rows of a group of `keys` stand together in `rows`, in the order they came in."""

    rows: pa.RecordBatch
    keys: KeyIndex


class Lookup(NamedTuple):
    """What a run needs, compiled: the values looked up, and which of the rows found are kept (None: all)."""

    values: Sequence[Callable[[pa.RecordBatch], pa.Array]]
    keep: Callable[[pa.RecordBatch], pa.Array] | None
    output: pa.Schema

    def kept(self, found: pa.RecordBatch) -> Batches:
        """A batch, or none."""
        if self.keep is not None:
            found = found.filter(self.keep(found))
        if found.num_rows:
            yield select(found, self.output)


def compiled(node: PlanNode, context: Context, values: Iterable[Scalar]) -> Lookup:
    """Once for all runs."""
    assert isinstance(node.op, LookupRows | RangeLookup)
    keep = compile_predicate(node.op.residual) if node.op.residual else None
    return Lookup([compile_scalar(value) for value in values], keep, context.schema(node))


def produce(node: PlanNode, context: Context) -> Batches:
    op = node.op
    assert isinstance(op, LookupRows)
    lookup = context.once(node, lambda: compiled(node, context, (key.outer_side for key in op.keys)))
    rows, index = _grouped(node, context)
    group = int(index.find([value(ONE_ROW) for value in lookup.values])[0])
    if group >= 0:
        yield from lookup.kept(rows.slice(int(index.first[group]), int(index.counts[group])))


def _grouped(node: PlanNode, context: Context) -> _Grouped:
    """The input by its keys."""
    op = node.op
    assert isinstance(op, LookupRows)
    null_safe = sum(1 << i for i, key in enumerate(op.keys) if key.null_safe)

    def group(rows: pa.RecordBatch, held: Callable[[int], None]) -> _Grouped:
        index = KeyIndex([compile_scalar(key.column_side)(rows) for key in op.keys], null_safe, held)
        grouped = rows.take(pa.array(index.rows))
        held(grouped.nbytes + index.nbytes)
        return _Grouped(grouped, index)

    sides = tuple((key.column_side, key.null_safe) for key in op.keys)
    return made_of_input(node, context, 0, sides, group)
