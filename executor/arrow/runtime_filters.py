"""Runtime filters: the keys of a finished build side, handed to the scans that feed the probe side.

A hash join that drops probe rows without a partner drops them as well when they are not there, so its probe side may lose any
row whose key no build row has. `targets` follows the key column down to the scans, through every operator that a filter on it
commutes with:

    filter, projection of a column, sort     always
    aggregate, window                        where the column is a key, part of the partition: whole groups go
    union, intersection, difference          in all inputs
    join, the side that has the column       where that side's rows without a partner are kept or dropped, not made NULL:
                                             left of all but right and full joins, right of inner and right joins
    join, the other side                     where the column is a join key and that side's rows without a partner are dropped
    limit                                    never: other rows would take their place

A small scan on the probe side is read even before the build side, and says as much to the scans below that.

A nested-loop join with one inner row says as much where a filter above it compares a column with that row's: it is the value
of a scalar subquery mostly.

Of mark joins the right side is left alone, since NULLs there mean UNKNOWN. What is dropped may spare an error, and cannot
cause one. Plans that run again and again (below an Apply) have no filters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from executor.arrow.batches import Batches, column_name, fewer, one_after_other, plain_texts, single_array
from executor.arrow.context import Context, Tuning
from executor.arrow.key_filter import KeyFilter
from executor.arrow.pipeline import Work, ordered_map
from executor.arrow.scan import Range
from optimizer.algebra.columns import ColumnId
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.physical import (
    FilterRows,
    HashAggregate,
    HashJoin,
    HashSetOp,
    MergeJoin,
    MergeUnion,
    NestedApply,
    NestedLoopJoin,
    PartialSort,
    ProjectRows,
    Sort,
    StreamingAggregate,
    TableScan,
    UnionAll,
    WindowRows,
)
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.predicates import equality_sides
from optimizer.algebra.scalars import ColumnRef, Predicate

_LEFT = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE)
_RIGHT = (JoinKind.INNER, JoinKind.RIGHT)
_LEFT_TO_RIGHT = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.SINGLE)
_TRIAL, _TRIED_ITEMS = 65_536, 2  # rows, and items, of a scan at least, of which a filter has to remove a good part
_USELESS = 0.7  # the part that it may let pass
_SMALL, _LARGER = 1 << 12, 16  # rows of a scan that is read ahead, and how many times as many those have that it is for
_DROPS = (
    (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI),
    (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI),
)  # joins that drop rows of the left or right side without a partner


class RuntimeFilter(NamedTuple):
    """For a scan: rows whose `column` does not pass `keys` may go. `path`: ids of the plan nodes from the scan up that see fewer
    rows for it. `near`: nothing lies between scan and join, so the join's own probe is as cheap, and only row groups matter."""

    column: ColumnId
    keys: KeyFilter
    path: tuple[int, ...]
    near: bool

    def range(self, scan: PlanNode, context: Context) -> Range:
        """The same for row groups."""

        def skipped(rows: int) -> None:
            if rows and context.counters is not None:
                context.counters.removed(scan.id, rows, self.path)

        return Range(self.column, self.keys, skipped)


class RuntimeFilters:
    """Those of one run of a plan, by scan."""

    def __init__(self) -> None:
        self._of: dict[int, list[RuntimeFilter]] = {}
        self._ahead: dict[int, Batches] = {}  # by scan
        self._above: dict[int, Predicate] = {}  # by join: the filter on its rows

    def of(self, scan: PlanNode) -> Sequence[RuntimeFilter]:
        return self._of.get(id(scan), ())

    def offer(self, join: PlanNode, build_keys: Sequence[pa.Array], context: Context) -> None:
        """What the build side of `join`, a hash join, says of its probe side, which was not opened yet."""
        op = join.op
        assert isinstance(op, HashJoin)
        side = 1 if op.build_left else 0
        if op.kind not in _DROPS[side]:
            return
        probe = join.inputs[side]
        for i, (pair, built) in enumerate(zip(op.keys, build_keys, strict=True)):
            column = pair[side]
            if isinstance(column, ColumnRef) and not (op.null_safe >> i & 1 and built.null_count):
                self._keep(join, probe, column.id, built, probe, context)

    def read_ahead(self, join: PlanNode, context: Context) -> None:
        """What a small scan on the probe side of `join`, a hash join, says of its build side, which was not opened yet."""
        op = join.op
        assert isinstance(op, HashJoin)
        side = 0 if op.build_left else 1
        built, scan = join.inputs[side], join.inputs[1 - side]
        if op.kind not in _DROPS[side] or type(scan.op) is not TableScan or not scan.op.scan.predicate or scan.rows > _SMALL:
            return
        columns: list[tuple[ColumnId, ColumnId]] = []
        for pair in op.keys:
            column, key = pair[side], pair[1 - side]
            if isinstance(column, ColumnRef) and isinstance(key, ColumnRef):
                if any(found.rows >= _LARGER * scan.rows for found, _, _ in targets(built, column.id)):
                    columns.append((column.id, key.id))
        if not columns or op.null_safe:
            return
        source, read = context.open(scan), []
        for batch in source:
            read.append(batch)
            if sum(each.num_rows for each in read) > _SMALL:
                break
        else:
            rows = pa.Table.from_batches(read, context.schema(scan))
            for own, other in columns:
                self._keep(join, built, own, plain_texts(single_array(rows[column_name(other)])), None, context)
        self._ahead[id(scan)] = one_after_other(iter(read), source)

    def begun(self, scan: PlanNode, rows: Callable[[], list[pa.RecordBatch]]) -> None:
        """The rows of a scan are being read, and waited for when they are asked for."""
        self._ahead[id(scan)] = (batch for made in (rows,) for batch in made())

    def is_ahead(self, scan: PlanNode) -> bool:
        return id(scan) in self._ahead

    def ahead(self, scan: PlanNode) -> Batches | None:
        """The rows of a scan that was read ahead, or begun to be read."""
        return self._ahead.pop(id(scan), None)

    def filtered_by(self, node: PlanNode, predicate: Predicate) -> None:
        """Rows of `node`, which was not opened yet, are dropped unless the predicate is TRUE."""
        self._above[id(node)] = predicate

    def offer_row(self, join: PlanNode, inner: pa.RecordBatch, context: Context) -> None:
        """What the inner side of `join`, a nested-loop join, says of its outer one, which was not opened yet."""
        op, (outer, held) = join.op, join.inputs
        assert isinstance(op, NestedLoopJoin)
        if inner.num_rows != 1 or op.kind not in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SINGLE):
            return
        for conjunct in self._above.get(id(join), ()):
            match equality_sides(conjunct, outer.columns, held.columns):
                case ColumnRef(id=column), ColumnRef(id=value):
                    self._keep(join, outer, column, inner.column(column_name(value)), None, context)

    def _keep(
        self, join: PlanNode, node: PlanNode, column: ColumnId, values: pa.Array, near: PlanNode | None, context: Context
    ) -> None:
        """Of the rows of `node`, an input of `join`, only those matter that have one of the values, as is asked to the end."""
        made: KeyFilter | None = None
        key = (join.id, node.id, column)
        for scan, own, path in targets(node, column):
            if context.columns[own].type == values.type:
                made = made or KeyFilter(values, lambda bytes: context.held(join, bytes, key))
                self._of.setdefault(id(scan), []).append(RuntimeFilter(own, made, path, scan is near))


def targets(node: PlanNode, column: ColumnId) -> Iterator[tuple[PlanNode, ColumnId, tuple[int, ...]]]:
    """Scans below `node`, and their columns, such that rows of `node` with a certain value of `column` come of rows with that
    value alone; and the ids of the nodes on the way, the scan's first."""
    pending: list[tuple[PlanNode, ColumnId, tuple[int, ...]]] = [(node, column, ())]
    while pending:
        node, column, above = pending.pop()
        path = (node.id, *above)
        if type(node.op) is TableScan:
            if node.op.scan.limit is None and node.columns >> column & 1:
                yield node, column, path
        else:
            pending += [(node.inputs[i], below, path) for i, below in _below(node, column)]


def _below(node: PlanNode, column: ColumnId) -> list[tuple[int, ColumnId]]:
    """The inputs, by number, that may lose rows for their values of a column. An operator of a plug-in has none."""
    op = node.op
    match op:
        case HashJoin() | MergeJoin() | NestedLoopJoin() | NestedApply():
            return _below_join(node, column)
        case _ if type(op) in (FilterRows, Sort, PartialSort):
            return [(0, column)]
        case HashAggregate() | StreamingAggregate():
            return [(0, column)] if column in op.keys else []
        case WindowRows():
            return [(0, column)] if column in op.partition else []
        case ProjectRows():
            values = [item.value for item in op.items if item.id == column]
            return [(0, value.id) for value in values if isinstance(value, ColumnRef)]
        case UnionAll() | MergeUnion() | HashSetOp():
            place = op.columns.index(column)
            return [(i, source[place]) for i, source in enumerate(op.sources)]
    return []


def _below_join(node: PlanNode, column: ColumnId) -> list[tuple[int, ColumnId]]:
    op = node.op
    assert isinstance(op, HashJoin | MergeJoin | NestedLoopJoin | NestedApply)
    side = next((i for i, below in enumerate(node.inputs) if below.columns >> column & 1), None)
    if side is None or op.kind not in (_RIGHT if side else _LEFT):
        return []
    found = [(side, column)]
    if isinstance(op, HashJoin | MergeJoin) and op.kind in (_RIGHT if side else _LEFT_TO_RIGHT):
        for pair in op.keys:
            own, other = pair[side], pair[1 - side]
            if isinstance(own, ColumnRef) and isinstance(other, ColumnRef) and own.id == column:
                found.append((1 - side, other.id))
    return found if not isinstance(op, NestedApply) or side == 0 else []


class Test:
    """A filter at work, and how many rows it saw and let pass."""

    def __init__(self, filter: RuntimeFilter, node: PlanNode, context: Context) -> None:
        self.column, self._keys = filter.column, filter.keys
        self._removed = filter.range(node, context).skipped
        self._found: list[tuple[int, int]] = []  # by several threads

    @property
    def is_useless(self) -> bool:
        return sum(kept for _, kept in self._found) > _USELESS * sum(seen for seen, _ in self._found)

    def passes(self, values: pa.Array) -> np.ndarray:
        mask = self._keys.passes(values)
        kept = int(np.count_nonzero(mask))
        self._removed(len(mask) - kept)
        self._found.append((len(mask), kept))
        return mask


def filtered(items: Iterator[Any], read: Work, tests: list[Test], tuning: Tuning) -> Batches:
    """The rows of a scan, cut in `items` and `read`, which asks the `tests`; small batches are put together to half a
    batch at least.

    A filter that lets most of the first rows pass is given up. The others are read when that is decided, so that the batches
    that come out do not depend on timing.
    """

    def first() -> Iterator[Any]:
        tried = rows = 0
        while (tried < _TRIED_ITEMS or rows < _TRIAL) and (item := next(items, None)) is not None:
            tried, rows = tried + 1, rows + item.num_rows
            yield item

    def all_rows() -> Iterator[pa.RecordBatch]:
        yield from ordered_map(first(), read, tuning)
        tests[:] = [test for test in tests if not test.is_useless]
        yield from ordered_map(items, read, tuning)

    return fewer((batch for batch in all_rows() if batch.num_rows), -(-tuning.batch // 2))
