"""What Apply costs, in nanoseconds as measured on the Arrow executors: the operator itself, and operators that run again.

An operator in the right input of an Apply runs once for each binding. Its first run sets it up, as any operator is set up; in
further runs compiled expressions, opened files, hash tables on kept rows and the kept rows themselves are there already.
"""

from collections.abc import Sequence

from optimizer.algebra import physical
from optimizer.algebra.columns import column_ids
from optimizer.algebra.logical import Scan
from optimizer.algebra.predicates import is_key
from optimizer.algebra.scalars import Call, ColumnRef, Predicate, Scalar
from optimizer.cost.coefficients import Coefficients
from optimizer.stats.distinct import distinct_rows
from optimizer.stats.relation import RelationStats

ROW_GROUP = 122_880.0  # rows of a row group, the customary size
RANGE_SHARE = 1 / 3  # of the rows, beyond or below a value that is not known


class Again:
    """What starting an operator once more costs."""

    def __init__(self, coefficients: Coefficients) -> None:
        c = coefficients
        self._by_operator: dict[type[physical.PhysicalOperator], float] = {
            physical.FilterRows: c.again_filter, physical.ProjectRows: c.again_project, physical.LookupRows: c.again_lookup,
            physical.RangeLookup: c.again_range, physical.HashAggregate: c.again_aggregate,
            physical.StreamingAggregate: c.again_streaming, physical.HashJoin: c.again_hash_join,
            physical.NestedLoopJoin: c.again_loop_join, physical.Sort: c.again_sort, physical.TopK: c.again_sort,
            physical.LimitRows: c.again_limit, physical.UnionAll: c.again_union, physical.NestedApply: c.again_apply,
            physical.TableScan: c.again_scan,
        }  # fmt: skip
        self._grouping, self._other = c.again_grouping, c.again_other

    def of(self, op: physical.PhysicalOperator, kept: Sequence[bool]) -> float:
        """Nanoseconds. `kept[i]`: input i was run once, and its rows are there."""
        if isinstance(op, physical.HashAggregate) and op.keys:
            return self._grouping
        holds = isinstance(op, physical.HashJoin | physical.NestedLoopJoin | physical.LookupRows | physical.RangeLookup)
        return self._other if holds and not keeps_held(op, kept) else self._by_operator.get(type(op), self._other)


def bindings(op: physical.NestedApply, left: RelationStats) -> float:
    """Distinct combinations of the parameters among the left rows, NULL being a value."""
    ndvs = [left.columns[c].ndv + (left.columns[c].null_fraction > 0.0) for c in column_ids(op.parameters)]
    return max(1.0, distinct_rows(ndvs, left.rows))


def nested_apply(c: Coefficients, op: physical.NestedApply, left: RelationStats) -> float:
    """The Apply without its right input's own work, and without making pairs and output rows.

    The right input is taken to run once for each distinct binding. Where no cache sees to that, runs beyond that number
    cost more, of which only the least is known here.
    """
    rows, runs = max(1.0, left.rows), bindings(op, left)
    if op.cached:
        return (c.apply_row + c.cache_row) * rows + (c.apply_run + c.cache_run) * runs
    return c.apply_row * rows + c.apply_run * runs + (c.apply_run + c.repeated_run) * (rows - min(runs, rows))


def least_apply(c: Coefficients, left: RelationStats) -> float:
    """What any Apply over these rows costs at least, with one run."""
    return c.apply_row * max(1.0, left.rows) + c.apply_run


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


def beside_outer(predicate: Predicate) -> Predicate:
    """The conjuncts that a scan must test itself: those that read outer columns may be tested above it."""
    if not any(conjunct.outer for conjunct in predicate):
        return predicate
    return tuple(conjunct for conjunct in predicate if not (conjunct.outer or conjunct.raises or conjunct.volatile))


def keeps_held(op: physical.PhysicalOperator, kept: Sequence[bool]) -> bool:
    """Whether what an operator holds serves all runs: it is made of a kept input, depends on no parameter, and is not marked."""
    match op:
        case physical.TableScan():
            return True  # its files stay open
        case physical.LookupRows() | physical.RangeLookup():
            return kept[0]
        case physical.NestedLoopJoin(kind=kind):
            return kept[1] and not kind.keeps_right
        case physical.HashJoin(kind=kind, build_left=True):
            return kept[0] and not (kind.keeps_left or kind.left_only) and not any(left.outer for left, _ in op.keys)
        case physical.HashJoin(kind=kind):
            return kept[1] and not kind.keeps_right and not any(right.outer for _, right in op.keys)
    return False
