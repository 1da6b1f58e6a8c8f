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

Of mark joins the right side is left alone, since NULLs there mean UNKNOWN. What is dropped may spare an error, and cannot
cause one. Plans that run again and again (below an Apply) have no filters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from executor.arrow.batches import Batches, column_name, one_batch
from executor.arrow.context import Context
from executor.arrow.key_filter import KeyFilter
from executor.arrow.pipeline import ordered_map
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
from optimizer.algebra.scalars import ColumnRef

_LEFT = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE)
_RIGHT = (JoinKind.INNER, JoinKind.RIGHT)
_LEFT_TO_RIGHT = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.SINGLE)
_TRIAL = 4  # batches of a scan, after which a filter that lets most rows pass is given up
_USELESS = 0.7


class RuntimeFilter(NamedTuple):
    """For a scan: rows whose `column` does not pass `keys` may go. `path`: ids of the plan nodes from the scan up that see fewer
    rows for it. `near`: nothing lies between scan and join, so the join's own probe is as cheap, and only row groups matter."""

    column: ColumnId
    keys: KeyFilter
    path: tuple[int, ...]
    near: bool


class RuntimeFilters:
    """Those of one run of a plan, by scan."""

    def __init__(self) -> None:
        self._of: dict[int, list[RuntimeFilter]] = {}

    def of(self, scan: PlanNode) -> Sequence[RuntimeFilter]:
        return self._of.get(id(scan), ())

    def offer(self, join: PlanNode, build_keys: Sequence[pa.Array], context: Context) -> None:
        """What the build side of `join`, a hash join, says of its probe side, which was not opened yet."""
        op = join.op
        assert isinstance(op, HashJoin)
        if (
            (op.kind not in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI))
            if op.build_left
            else (op.kind not in (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI))
        ):
            return
        probe = join.inputs[1 if op.build_left else 0]
        for i, (pair, built) in enumerate(zip(op.keys, build_keys, strict=True)):
            side = pair[1 if op.build_left else 0]
            if not isinstance(side, ColumnRef) or (op.null_safe >> i & 1 and built.null_count):
                continue
            made: KeyFilter | None = None
            for scan, column, path in targets(probe, side.id):
                if context.columns[column].type == built.type:
                    made = made or KeyFilter(built)
                    self._of.setdefault(id(scan), []).append(RuntimeFilter(column, made, path, scan is probe))


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


def filtered(batches: Batches, node: PlanNode, filters: Sequence[RuntimeFilter], context: Context) -> Batches:
    """The rows of a scan that pass, a few small batches together as one.

    A filter that lets most rows of the first batches pass is dropped; these go one by one, so that the batches that come out do
    not depend on timing.
    """
    tests = [each for each in filters if not each.near]
    seen, kept = [0] * len(tests), [0] * len(tests)
    waiting: list[pa.RecordBatch] = []
    rows = 0

    def work(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for test in tests:
            batch = _passing(batch, test, node, context)
        yield batch

    def trial() -> Iterator[pa.RecordBatch]:
        for _ in range(_TRIAL):
            batch = next(batches, None)
            if batch is None:
                break
            for i, test in enumerate(tests):
                seen[i] += batch.num_rows
                batch = _passing(batch, test, node, context)
                kept[i] += batch.num_rows
            yield batch
        tests[:] = [test for test, before, after in zip(tests, seen, kept, strict=True) if after <= _USELESS * before]

    def all_batches() -> Iterator[pa.RecordBatch]:
        yield from trial()
        yield from ordered_map(batches, work, context.tuning) if tests else batches

    try:
        for batch in all_batches():
            if not waiting and 2 * batch.num_rows >= context.tuning.batch:
                yield batch
                continue
            if batch.num_rows:
                waiting.append(batch)
                rows += batch.num_rows
            if 2 * rows >= context.tuning.batch:
                yield one_batch(pa.Table.from_batches(waiting))
                waiting, rows = [], 0
        if rows:
            yield one_batch(pa.Table.from_batches(waiting))
    finally:
        batches.close()


def _passing(batch: pa.RecordBatch, test: RuntimeFilter, node: PlanNode, context: Context) -> pa.RecordBatch:
    mask = test.keys.passes(batch.column(column_name(test.column)))
    if mask.all():
        return batch
    made = batch.filter(pa.array(mask))
    if context.counters is not None:
        context.counters.removed(node.id, batch.num_rows - made.num_rows, test.path)
    return made
