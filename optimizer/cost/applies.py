"""What Apply costs, in nanoseconds as measured on the Arrow executors: the operator itself, and operators that run again.

An operator in the right input of an Apply runs once for each binding. Its first run sets it up, as any operator is set up; in
further runs compiled expressions, opened files, hash tables on kept rows and the kept rows themselves are there already.
"""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.columns import column_ids
from optimizer.algebra.logical import Scan
from optimizer.algebra.physical import (
    FilterRows,
    HashAggregate,
    HashJoin,
    LimitRows,
    LookupRows,
    NestedApply,
    NestedLoopJoin,
    PhysicalOperator,
    ProjectRows,
    RangeLookup,
    Sort,
    StreamingAggregate,
    TableScan,
    TopK,
    UnionAll,
)
from optimizer.algebra.scalars import Call, ColumnRef, Scalar, is_key, walk
from optimizer.stats.estimator import distinct_rows
from optimizer.stats.relation import RelationStats

RUN = 8_000.0  # an Apply: one run of its right input, whatever that does
ROW = 400.0  # an Apply: one left row, its binding and its place in the join
CACHE_ROW, CACHE_RUN = 600.0, 8_000.0  # looking for a result, and remembering one
REPEATED = 30_000.0  # a run that a cache would have spared, at the least
LEAST_AGAIN = 7_000.0  # any operator, one further run
ANOTHER_SET_UP = 100_000.0  # a further run of an operator that keeps nothing
AGAIN: dict[type[PhysicalOperator], float] = {
    FilterRows: 12_000.0,
    ProjectRows: 9_000.0,
    LookupRows: 11_000.0,
    RangeLookup: 16_000.0,
    HashAggregate: 28_000.0,
    StreamingAggregate: 60_000.0,
    HashJoin: 60_000.0,
    NestedLoopJoin: 40_000.0,
    Sort: 46_000.0,
    TopK: 46_000.0,
    LimitRows: LEAST_AGAIN,
    UnionAll: 10_000.0,
    NestedApply: 60_000.0,
    TableScan: 400_000.0,
}
GROUPING_AGAIN = 65_000.0  # a hash aggregate with keys
ROW_GROUP = 122_880.0  # rows of a row group, the customary size
RANGE_SHARE = 1 / 3  # of the rows, beyond or below a value that is not known


def bindings(op: NestedApply, left: RelationStats) -> float:
    """Distinct combinations of the parameters among the left rows, NULL being a value."""
    ndvs = [left.columns[c].ndv + (left.columns[c].null_fraction > 0.0) for c in column_ids(op.parameters)]
    return max(1.0, distinct_rows(ndvs, left.rows))


def nested_apply(op: NestedApply, left: RelationStats) -> float:
    """The Apply without its right input's own work, and without making pairs and output rows.

    The right input is taken to run once for each distinct binding. Where no cache sees to that, runs beyond that number
    cost more, of which only the least is known here.
    """
    rows, runs = max(1.0, left.rows), bindings(op, left)
    if op.cached:
        return (ROW + CACHE_ROW) * rows + (RUN + CACHE_RUN) * runs
    return ROW * rows + RUN * runs + (RUN + REPEATED) * (rows - min(runs, rows))


def least_apply(left: RelationStats) -> float:
    """What any Apply over these rows costs at least, with one run."""
    return ROW * max(1.0, left.rows) + RUN


def rows_read(scan: Scan, output: RelationStats) -> float:
    """Stored rows that a scan decodes. One that compares the column by which the rows are stored with an outer value reads only
    the row groups that can hold matches; other scans read all."""
    base = max(1.0, output.base_rows)
    if not scan.order:
        return base
    lead = scan.order[0].column
    share = 1.0
    for conjunct in scan.predicate:
        if not _bounds(conjunct, lead):
            continue
        ndv = output.columns[lead].ndv if lead in output.columns else 1.0
        share *= 1.0 / max(1.0, ndv) if is_key(conjunct) else RANGE_SHARE
    return base if share == 1.0 else min(base, share * base + ROW_GROUP)


def _bounds(conjunct: Scalar, column: int) -> bool:
    """Whether it compares the column with an outer value, in a way that statistics of row groups can refute."""
    if not isinstance(conjunct, Call) or conjunct.function not in ("=", "<", "<=", ">", ">="):
        return False
    a, b = conjunct.args
    return any(isinstance(x, ColumnRef) and x.id == column and y.outer and not y.columns for x, y in ((a, b), (b, a)))


def calls_beside_outer(predicate: Sequence[Scalar]) -> int:
    """Calls of the conjuncts that a scan must test itself: those that read outer columns may be tested above it."""
    kept = [c for c in predicate if not (c.outer or c.raises or c.volatile)] if any(c.outer for c in predicate) else predicate
    return sum(1 for conjunct in kept for scalar in walk(conjunct) if scalar.children)


def set_up_again(op: PhysicalOperator, kept: Sequence[bool]) -> float:
    """What starting an operator once more costs. `kept[i]`: input i was run once, and its rows are there."""
    if isinstance(op, HashAggregate) and op.keys:
        return GROUPING_AGAIN
    holds = isinstance(op, HashJoin | NestedLoopJoin | LookupRows | RangeLookup)
    return ANOTHER_SET_UP if holds and not keeps_held(op, kept) else AGAIN.get(type(op), ANOTHER_SET_UP)


def keeps_held(op: PhysicalOperator, kept: Sequence[bool]) -> bool:
    """Whether what an operator holds serves all runs: it is made of a kept input, depends on no parameter, and is not marked."""
    match op:
        case LookupRows() | RangeLookup():
            return kept[0]
        case NestedLoopJoin(kind=kind):
            return kept[1] and not kind.keeps_right
        case HashJoin(kind=kind, build_left=True):
            return kept[0] and not (kind.keeps_left or kind.left_only) and not any(left.outer for left, _ in op.keys)
        case HashJoin(kind=kind):
            return kept[1] and not kind.keeps_right and not any(right.outer for _, right in op.keys)
    return False
