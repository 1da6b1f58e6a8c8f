"""nested_apply: the right input is run for each left row, or for each distinct binding, and joined with the rows it is for.

The left input streams. A few of its rows are taken first, then more and more at a time, so that a consumer that soon has
enough costs little more than it takes; the results of many runs are joined with their left rows at once. What runs gave is
held until then, and beyond only as far as the cache has room. A run is over before a batch is handed on.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from executor.arrow.batches import Batches, batch_schema, collect, column_name, empty_batch, one_batch
from executor.arrow.comparisons import plain_value
from executor.arrow.context import Context
from executor.arrow.distinct import distinct_rows
from executor.arrow.join_pairs import Candidates, Matcher
from executor.arrow.marks import Condition, Marks, with_marks
from executor.arrow.rerun import Rerun
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.physical import NestedApply
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.scalar_trees import bound_to

_FIRST_ROWS, _MORE = 16, 4  # left rows joined at a time: at first, and by how much that grows
_ENTRY_BYTES = 500  # what remembering a result takes besides its rows


class Result(NamedTuple):
    """What a run gave. Where only the number of rows matters, no batches; then `rows` is 0 or 1."""

    batches: Sequence[pa.RecordBatch]
    rows: int


def produce(node: PlanNode, context: Context) -> Batches:
    left = node.inputs[0]
    runs = context.once(node, lambda: Runs(node))
    again = runs.start(context)
    join = _Join(node, context, runs)
    source = context.open(left)
    at_once = _FIRST_ROWS
    try:
        for batch in source:
            start = 0
            while start < batch.num_rows:
                rows = batch.slice(start, at_once)
                bindings = _Bindings(rows, runs)
                results: list[Result] = []
                runs.waiting = 0
                gathered, end = 0, rows.num_rows
                for number, row in enumerate(bindings.first):
                    if gathered >= context.tuning.batch:
                        end = int(row)  # the rows before need no other binding
                        break
                    results.append(runs.result(bindings.values(row), again))
                    gathered += results[number].rows
                yield from join.rows(rows.slice(0, end), bindings.number[:end], results)
                start += end
                at_once = min(at_once * _MORE, context.tuning.batch)
    finally:
        source.close()
        runs.forget(context)


class Runs:
    """The right input, run with given parameters; remembers results, which take `bytes`, if it may. `waiting`: what others take
    that were not joined yet."""

    def __init__(self, node: PlanNode) -> None:
        op = node.op
        assert isinstance(op, NestedApply)
        self._node, self._rerun = node, Rerun(node.inputs[1], op.parameters)
        self._counts_only = not op.predicate and (op.kind.left_only or op.kind is JoinKind.MARK)
        self._most = 2 if op.kind is JoinKind.SINGLE and not op.predicate else None
        self._remembered: OrderedDict[tuple[Any, ...], Result] = OrderedDict()
        self.bytes = self.waiting = 0
        self.cached = op.cached and not self._rerun.volatile
        self.names = [column_name(id) for id in self._rerun.cells]
        self._cells = list(self._rerun.cells.values())

    def start(self, context: Context) -> Context:
        """Begin anew, as further-out parameters may have changed; where the runs take place."""
        self.forget(context)
        return self._rerun.context(context)

    def forget(self, context: Context) -> None:
        self._remembered.clear()
        self.bytes = 0
        self._rerun.forget(context)

    def result(self, values: Sequence[pa.Scalar], context: Context) -> Result:
        if not self.cached:
            return self._run(values, context)
        key = tuple(_key(value) for value in values)
        known = self._remembered.get(key)
        if known is not None:
            self._remembered.move_to_end(key)
            return known
        result = self._run(values, context)
        size = _size(result)
        if size <= context.tuning.cache:
            self._remembered[key] = result
            self.bytes += size
            self.waiting -= size - _ENTRY_BYTES
            while self.bytes > context.tuning.cache:
                self.bytes -= _size(self._remembered.popitem(last=False)[1])
        return result

    def _run(self, values: Sequence[pa.Scalar], context: Context) -> Result:
        for cell, value in zip(self._cells, values, strict=True):
            cell.value = value
        source = context.open(self._rerun.root)
        if self._counts_only:
            found = any(batch.num_rows for batch in source)  # a merge join may hand on empty batches
            source.close()
            return Result((), int(found))
        batches, rows = [], 0
        for batch in source:
            batches.append(batch)
            rows += batch.num_rows
            self.waiting += batch.nbytes
            context.held(self._node, self.bytes + self.waiting)
            if self._most is not None and rows >= self._most:
                source.close()  # one row too many: how many more there are does not matter
        return Result(batches, rows)


def _size(result: Result) -> int:
    return _ENTRY_BYTES + sum(batch.nbytes for batch in result.batches)


def _key(value: pa.Scalar) -> Any:
    """NULL is a value like others; 0.0 and -0.0 are two, since a run can tell them apart."""
    known = plain_value(value)
    return repr(known) if isinstance(known, float) else known


class _Bindings:
    """The bindings of some left rows. `first`: for each binding to run, in the order of the rows, the first row that has it;
    `number`: each row's binding."""

    __slots__ = ("_columns", "first", "number")

    def __init__(self, batch: pa.RecordBatch, runs: Runs) -> None:
        self._columns = [batch.column(name) for name in runs.names]
        if not runs.cached:
            self.first = self.number = np.arange(batch.num_rows)
        elif not self._columns:
            self.first, self.number = np.zeros(1, np.int64), np.zeros(batch.num_rows, np.int64)
        else:
            first, number = distinct_rows(self._columns)
            order = np.argsort(first)
            place = np.empty_like(order)
            place[order] = np.arange(len(order))
            self.first, self.number = first[order], place[number]

    def values(self, row: int) -> list[pa.Scalar]:
        return [column[row] for column in self._columns]


class _Join:
    """Joins left rows with the results of their runs."""

    def __init__(self, node: PlanNode, context: Context, runs: Runs) -> None:
        op, (left, right) = node.op, node.inputs
        assert isinstance(op, NestedApply)
        self._node, self._context, self._runs = node, context, runs
        self._schema = context.schema(node)
        self._inner = batch_schema(right.columns, context.columns)
        self._none = empty_batch(self._inner)
        predicate = conjunction(bound_to(conjunct, left.columns) for conjunct in op.predicate)
        self._condition = Condition(predicate, context) if op.kind is JoinKind.MARK else None
        self._matcher = Matcher(op.kind, True, self._none, predicate, self._schema, context)

    def rows(self, outer: pa.RecordBatch, number: np.ndarray, results: Sequence[Result]) -> Iterator[pa.RecordBatch]:
        """Left rows, joined; `number`: each row's result."""
        sizes = np.array([result.rows for result in results], np.int64)
        batches = [each for result in results for each in result.batches]
        inner = one_batch(collect(batches, self._inner)) if batches else self._none
        self._context.held(self._node, inner.nbytes + self._runs.bytes)
        first = (np.cumsum(sizes) - sizes)[number]
        candidates = Candidates(sizes[number], lambda rows, nth: first[rows] + nth)
        if self._condition is not None:
            yield with_marks(self._node, self._schema, outer, lambda: self._marks(outer, inner, candidates))
            return
        for made in self._matcher.over(inner).join(outer, candidates):
            if made.num_rows:
                yield made

    def _marks(self, outer: pa.RecordBatch, inner: pa.RecordBatch, candidates: Candidates) -> pa.Array:
        assert self._condition is not None
        marks = Marks(outer.num_rows)
        self._condition.mark(marks, outer, inner, np.arange(outer.num_rows), candidates)
        return marks.array()
