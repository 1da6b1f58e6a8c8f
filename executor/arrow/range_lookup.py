"""range_lookup: the rows whose column lies within bounds, a slice of rows that are sorted by it.

The rows are read once for all runs; each run finds the ends of its slice by binary search.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from executor.arrow.batches import ONE_ROW, Batches, column_name
from executor.arrow.context import Context
from executor.arrow.kept_rows import made_of_input
from executor.arrow.key_words import is_ordered, key_words
from executor.arrow.lookup_rows import compiled
from optimizer.algebra.evaluate_order import compare_values
from optimizer.algebra.functions import MIRRORED
from optimizer.algebra.physical import RangeLookup
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.traits import SortKey


class _Sorted(NamedTuple):
    """`rows` without those whose column is NULL. `values`: the column, ascending or descending; `words`: the same as integers
    that rise, None where there are none."""

    rows: pa.RecordBatch
    values: pa.Array
    words: np.ndarray | None
    descending: bool

    def place(self, bound: pa.Array, after: bool) -> int:
        """How many rows come before the bound in the order of the rows; with `after`, or with it."""
        if self.words is not None:
            word = int(key_words([bound])[0][0][0])
            # a descending column's words rise when their bits are flipped
            return int(np.searchsorted(self.words, ~word if self.descending else word, side="right" if after else "left"))
        value, sign = bound[0].as_py(), -1 if self.descending else 1
        search = bisect_right if after else bisect_left
        return search(range(len(self.values)), 0, key=lambda row: sign * compare_values(self.values[row].as_py(), value))


def produce(node: PlanNode, context: Context) -> Batches:
    op = node.op
    assert isinstance(op, RangeLookup)
    lookup = context.once(node, lambda: compiled(node, context, (bound.value for bound in op.bounds)))
    table = _sorted(node, context)
    first, end = 0, table.rows.num_rows
    for function, value in zip((bound.function for bound in op.bounds), lookup.values, strict=True):
        bound = value(ONE_ROW)
        if bound.null_count:
            return
        towards = MIRRORED[function] if table.descending else function
        if towards in (">", ">="):
            first = max(first, table.place(bound, after=function in (">", "<")))
        else:
            end = min(end, table.place(bound, after=function in ("<=", ">=")))
    for start in range(first, end, context.tuning.batch):
        yield from lookup.kept(table.rows.slice(start, min(end - start, context.tuning.batch)))


def _sorted(node: PlanNode, context: Context) -> _Sorted:
    order = node.alternative.inputs[0].collation
    assert order, "range_lookup was planned on an input without order"
    return made_of_input(node, context, 0, order[0], lambda rows, held: _without_nulls(rows, order[0], held))


def _without_nulls(rows: pa.RecordBatch, key: SortKey, held: Callable[[int], None]) -> _Sorted:
    nulls = rows.column(column_name(key.column)).null_count
    rows = rows.slice(nulls if key.nulls_first else 0, rows.num_rows - nulls)
    values = rows.column(column_name(key.column))
    words = key_words([values])[0][0] if is_ordered(values.type) else None
    if words is not None and key.descending:
        words = ~words
    held(0 if words is None else words.nbytes)
    return _Sorted(rows, values, words, key.descending)
