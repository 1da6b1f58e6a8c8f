"""merge_join: two inputs sorted on the join keys, joined window by window; streams both, keeps the left order.

A window is all rows of both inputs below a cut: the smaller of the last keys gathered on the inputs that have more to come.
No row still to come can be below it, so a window is complete, and is joined by itself as the other joins do. Keys are
compared one by one only to find the cut; memory holds a window, or one key's rows where those are more.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cmp_to_key
from typing import Any

import numpy as np
import pyarrow as pa

from executor.arrow.batches import Batches, batch_schema, column_name, empty_batch, one_batch
from executor.arrow.comparisons import plain_value
from executor.arrow.context import Context
from executor.arrow.join_pairs import Candidates, Matcher, key_candidates
from executor.arrow.key_index import KeyIndex
from executor.arrow.key_words import is_ordered, key_words
from optimizer.algebra.evaluate_order import compare_values
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.physical import MergeJoin
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.traits import Collation


def produce(node: PlanNode, context: Context) -> Batches:
    op = node.op
    assert isinstance(op, MergeJoin)
    sides = []
    for child, traits in zip(node.inputs, node.alternative.inputs, strict=True):
        # the first entries of both orders are the key pairs, in one permutation
        order = traits.collation[: len(op.keys)]
        assert len(order) == len(op.keys), f"merge_join was planned on {len(op.keys)} keys but with order {order}"
        schema = batch_schema(child.columns, context.columns)
        sides.append(Side(context.open(child), schema, order, context.tuning.window))
    left, right = sides
    matcher = Matcher(op.kind, True, empty_batch(right.schema), op.residual, context.schema(node), context)
    right_matters = op.kind.keeps_right
    left_matters = op.kind.keeps_left or op.kind is JoinKind.ANTI
    try:
        while True:
            left.fill()
            right.fill()
            context.held(node, left.nbytes + right.nbytes)
            if (left.ended and not right_matters) or (right.ended and not left_matters) or (left.ended and right.ended):
                return
            cut = cut_of(sides)
            if cut is None:
                yield from _window(matcher, left.order, left.take(left.rows), right.take(right.rows))
                return
            below = left.count_below(cut), right.count_below(cut)
            if below == (0, 0):
                left.want_more()
                right.want_more()
            else:
                yield from _window(matcher, left.order, left.take(below[0]), right.take(below[1]))
    finally:
        left.close()
        right.close()


def _window(
    matcher: Matcher, order: Collation, left: tuple[pa.RecordBatch, list[pa.Array]], right: tuple[pa.RecordBatch, list[pa.Array]]
) -> Batches:
    (outer, outer_keys), (inner, inner_keys) = left, right
    over = matcher.over(inner)
    if outer.num_rows and not over.never_matches:
        yield from over.join(outer, _candidates(outer_keys, inner_keys, order))
    if over.has_rest:
        yield from over.rest()


def _candidates(outer: list[pa.Array], inner: list[pa.Array], order: Collation) -> Candidates:
    """Each outer row meets the inner rows with its keys: found by binary search where one ascending word is the key."""
    if len(order) > 1 or order[0].descending or not is_ordered(inner[0].type) or inner[0].null_count or outer[0].null_count:
        return key_candidates(KeyIndex(inner), outer)
    (wanted,), (present,) = key_words(outer)[0], key_words(inner)[0]
    first = np.searchsorted(present, wanted, side="left")
    return Candidates(np.searchsorted(present, wanted, side="right") - first, lambda rows, nth: first[rows] + nth)


class Side:
    """The rows of one input gathered so far, sorted by `order`. `exhausted`: no more will come."""

    def __init__(self, source: Batches, schema: pa.Schema, order: Collation, window: int) -> None:
        self._source, self.schema, self.order = source, schema, order
        self._window = self._wanted = window
        self._held = empty_batch(schema)
        self.exhausted = False

    @property
    def rows(self) -> int:
        return self._held.num_rows

    @property
    def ended(self) -> bool:
        return self.exhausted and not self.rows

    @property
    def nbytes(self) -> int:
        return self._held.nbytes

    def fill(self) -> None:
        """Gather rows until there are as many as wanted, or no more."""
        fresh, rows = [], self.rows
        while rows < self._wanted and not self.exhausted:
            batch = next(self._source, None)
            if batch is None:
                self.exhausted = True
            else:
                fresh.append(batch)
                rows += batch.num_rows
        if fresh:
            self._held = one_batch(pa.Table.from_batches([self._held, *fresh], self.schema))

    def want_more(self) -> None:
        """All rows gathered may belong to one key."""
        self._wanted = self.rows + max(self.rows, self._window)

    def take(self, rows: int) -> tuple[pa.RecordBatch, list[pa.Array]]:
        """The first rows, no longer held, and their keys."""
        taken, self._held = self._held.slice(0, rows), self._held.slice(rows)
        self._wanted = self._window
        return taken, [taken.column(column_name(key.column)) for key in self.order]

    def last_key(self) -> tuple[Any, ...]:
        return self._key(self.rows - 1)

    def _key(self, row: int) -> tuple[Any, ...]:
        return tuple(plain_value(self._held.column(column_name(key.column))[row]) for key in self.order)

    def count_below(self, cut: tuple[Any, ...], or_with: bool = False) -> int:
        """How many of the rows come strictly before `cut`, or also with it."""
        search = bisect_right if or_with else bisect_left
        return search(range(self.rows), 0, key=lambda row: _compare_keys(self._key(row), cut, self.order))

    def close(self) -> None:
        self._source.close()


def cut_of(sides: Sequence[Side]) -> tuple[Any, ...] | None:
    """The smallest of the last keys of the inputs that have more to come; None where none has."""

    def compare(a: tuple[Any, ...], b: tuple[Any, ...]) -> int:
        return _compare_keys(a, b, sides[0].order)

    return min((side.last_key() for side in sides if not side.exhausted), key=cmp_to_key(compare), default=None)


def _compare_keys(a: Sequence[Any], b: Sequence[Any], order: Collation) -> int:
    """-1, 0 or 1 as key `a` comes before, with or after `b` in `order`."""
    for x, y, key in zip(a, b, order, strict=True):
        if x is None or y is None:
            if x is not y:
                return -1 if (x is None) == key.nulls_first else 1
            continue
        result = compare_values(x, y)
        if result:
            return -result if key.descending else result
    return 0
