"""The cost model of the Arrow engine: estimated microseconds of work.

Every operator costs a start-up plus so much per row in, per row out and, for joins and scans, per byte; coefficients are in
nanoseconds per row, as measured on the executors of this project (see docs/architecture.md). Rows are taken as at least
one, so that no operator is free.

Lower bound. A binary join of any kind and algorithm costs at least START + INPUT per input row + OUT per output row: a hash
join HASH_PROBE for each, a merge join MERGE_IN, nested loops LEAST_IN and PAIR · l · r, which is at least PAIR/2 · (l + r) since
l, r ≥ 1. In a tree of joins over k leaves there are k - 1 joins, every leaf is an input of one of them, and the topmost
gives the group's rows; hence

    bound(G) = Σ bound(leaf) + (k - 1) START + INPUT · Σ rows(leaf) + OUT · rows(G)

Any other group: the bounds of its inputs plus the cheapest of its operators that the engine has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2, sqrt
from typing import Any

from optimizer.algebra.columns import column_ids, column_set
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.logical import (
    Aggregate,
    Apply,
    Filter,
    GroupingSets,
    Join,
    Limit,
    LogicalOperator,
    MarkJoin,
    Project,
    Scan,
    SetOp,
    SingleJoin,
    Values,
    Window,
)
from optimizer.algebra.physical import (
    ConstantRows,
    FilterRows,
    HashAggregate,
    HashGroupingSets,
    HashJoin,
    HashSetOp,
    LimitRows,
    LookupRows,
    MergeJoin,
    MergeUnion,
    NestedApply,
    NestedLoopJoin,
    PartialSort,
    PhysicalOperator,
    ProjectRows,
    RangeLookup,
    Sort,
    StreamingAggregate,
    TableScan,
    TopK,
    UnionAll,
    WindowRows,
)
from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.scalars import ColumnRef, Predicate, is_key, walk
from optimizer.algebra.traits import TraitSet
from optimizer.cost.applies import (
    LEAST_AGAIN,
    calls_beside_outer,
    keeps_held,
    least_apply,
    nested_apply,
    rows_read,
    set_up_again,
)
from optimizer.cost.joins import JoinCosts
from optimizer.cost.model import Bounded
from optimizer.stats.estimator import distinct_rows
from optimizer.stats.relation import RelationStats

START = 100_000.0  # an operator's set-up

SCAN_ROW, SCAN_BYTE = 4.0, 2.0
EXPRESSION = 4.0  # one call on one row
LEAST_IN = 20.0  # nested loops, one input row: reading it
OUT = 15.0  # any join, one output row
HASH_BUILD, HASH_PROBE = 80.0, 25.0
MERGE_IN = 60.0
PAIR, PAIR_CALL = 18.0, 12.0  # nested loops, one pair of rows
INPUT = min(HASH_PROBE, HASH_BUILD, MERGE_IN, LEAST_IN + PAIR / 2)  # any join, one input row
GROUP_IN, GROUP_CALL, GROUP_OUT = 12.0, 6.0, 140.0
STREAM_IN = 40.0
SORT_COMPARE, SORT_ROW = 9.0, 30.0
UNION_ROW, UNION_COMPARE = 6.0, 7.0  # merging sorted inputs
PREFIX_COMPARE = 10.0  # partial sort, one prefix column of one row: where runs begin
TOP_IN = 12.0
COPY = 2.0  # handing on a row as it is
HASH_ROW = 180.0  # INTERSECT, EXCEPT
WINDOW_ROW, WINDOW_CALL, WINDOW_SEARCH = 20.0, 40.0, 25.0  # window functions, one row

Inputs = Sequence[RelationStats]


def at_least_one(rows: float) -> float:
    return rows if rows > 1.0 else 1.0


def calls(predicate: Predicate) -> int:
    """Calls that testing the predicate on a row makes."""
    return sum(1 for conjunct in predicate for scalar in walk(conjunct) if scalar.children)


class ArrowCost:
    name = "arrow"

    def __init__(self) -> None:
        self._formulas: dict[type[PhysicalOperator], Callable[[Any, TraitSet, RelationStats, Inputs], float]] = {
            TableScan: lambda op, d, out, i: scan(op.scan, out),
            ConstantRows: lambda op, d, out, i: COPY * at_least_one(out.rows),
            FilterRows: lambda op, d, out, i: filter_rows(op.predicate, i[0].rows),
            LookupRows: lambda op, d, out, i: HASH_BUILD * at_least_one(i[0].rows) + found_rows(op, i[0].rows, out.rows),
            RangeLookup: lambda op, d, out, i: COPY * at_least_one(i[0].rows) + found_rows(op, i[0].rows, out.rows),
            ProjectRows: lambda op, d, out, i: project_rows(op, i[0].rows),
            HashJoin: hash_join,
            MergeJoin: merge_join,
            NestedLoopJoin: nested_loop_join,
            NestedApply: apply_rows,
            HashAggregate: lambda op, d, out, i: hash_aggregate(op, i[0].rows, out.rows),
            StreamingAggregate: lambda op, d, out, i: streaming_aggregate(op, i[0].rows, out.rows),
            HashGroupingSets: lambda op, d, out, i: grouping_sets(op, i[0], out.rows),
            Sort: lambda op, d, out, i: sort(len(op.order), i[0].rows),
            PartialSort: lambda op, d, out, i: partial_sort(op, i[0]),
            TopK: lambda op, d, out, i: top_k(op.offset + op.count, i[0].rows),
            LimitRows: lambda op, d, out, i: COPY * at_least_one(out.rows),
            UnionAll: lambda op, d, out, i: COPY * at_least_one(out.rows),
            MergeUnion: lambda op, d, out, i: merge_union(len(i), out.rows),
            WindowRows: lambda op, d, out, i: window_rows(op, i[0].rows),
            HashSetOp: lambda op, d, out, i: HASH_ROW * sum(at_least_one(each.rows) for each in i),
        }

    def local(self, op: PhysicalOperator, delivered: TraitSet, output: RelationStats, inputs: Inputs) -> float:
        return (START + self._formulas[type(op)](op, delivered, output, inputs)) / 1000.0

    def rerun(
        self, op: PhysicalOperator, delivered: TraitSet, output: RelationStats, inputs: Inputs, kept: Sequence[bool]
    ) -> float:
        own = self._formulas[type(op)](op, delivered, output, inputs)
        if keeps_held(op, kept):
            own = max(0.0, own - held(op, inputs))
        return (set_up_again(op, kept) + own) / 1000.0

    def least_rerun(self, op: LogicalOperator) -> float:
        return LEAST_AGAIN / 1000.0

    def join_costs(self) -> JoinCosts:
        figures = (START, HASH_BUILD, HASH_PROBE, MERGE_IN, LEAST_IN, PAIR, PAIR_CALL, OUT, EXPRESSION)
        return JoinCosts(1.0, *(figure / 1000.0 for figure in figures))

    def least(self, op: LogicalOperator, output: RelationStats, inputs: Inputs) -> float:
        if isinstance(op, Join | MarkJoin | SingleJoin):
            return (START + least_join(op, output, inputs)) / 1000.0
        return (START + least_local(op, output, inputs)) / 1000.0

    def lower_bound(
        self, op: LogicalOperator, output: RelationStats, inputs: Sequence[Bounded], leaves: Sequence[Bounded]
    ) -> float:
        below = sum(leaf.lower for leaf in leaves)
        if not isinstance(op, Join | JoinGraph | RegionGraph):
            return below + self.least(op, output, [each.stats for each in inputs])
        rows_in = sum(at_least_one(leaf.stats.rows) for leaf in leaves)
        own = (len(leaves) - 1) * START + INPUT * rows_in + OUT * at_least_one(output.rows)
        return below + own / 1000.0


def least_join(op: Join | MarkJoin | SingleJoin, output: RelationStats, inputs: Inputs) -> float:
    """The cheapest join algorithm for the inputs in this order, without START and residuals; hash and merge joins need an
    equality. The other order is another expression, but for semi and anti joins, which may build on either side."""
    left, right = at_least_one(inputs[0].rows), at_least_one(inputs[1].rows)
    own = LEAST_IN * (left + right) + PAIR * left * right
    if any(map(is_key, op.predicate)):
        own = min(own, HASH_BUILD * right + HASH_PROBE * left, MERGE_IN * (left + right))
        if op.kind.left_only:
            own = min(own, HASH_BUILD * left + HASH_PROBE * right)
    return own + OUT * at_least_one(output.rows)


def least_local(op: LogicalOperator, output: RelationStats, inputs: Inputs) -> float:
    """The cheapest implementation of a logical operator that is no join, without START."""
    match op:
        case Scan():
            return scan_rows(op, output, calls_beside_outer(op.predicate))
        case Filter(predicate):
            if any(conjunct.outer for conjunct in predicate):  # it may be a lookup
                return COPY * at_least_one(inputs[0].rows)
            return filter_rows(predicate, inputs[0].rows)
        case Apply():
            return least_apply(inputs[0]) + OUT * at_least_one(output.rows)
        case Project():
            return project_rows(op, inputs[0].rows)
        case Aggregate():
            hashed = hash_aggregate(op, inputs[0].rows, output.rows)
            return min(hashed, streaming_aggregate(op, inputs[0].rows, output.rows)) if op.keys else hashed
        case GroupingSets():
            return grouping_sets(op, inputs[0], output.rows)
        case Window():
            return window_rows(op, inputs[0].rows)
        case Values() | Limit() | SetOp():
            return COPY * at_least_one(output.rows)
    raise AssertionError(f"no bound for {op.name}")


def scan(op: Scan, output: RelationStats) -> float:
    """Reads every stored row of the needed columns, decodes their bytes, tests the pushed predicate. An outer value may spare
    it row groups."""
    return scan_rows(op, output, calls(op.predicate))


def scan_rows(op: Scan, output: RelationStats, tested: int) -> float:
    width = output.width(column_set(c.id for c in op.columns))
    return rows_read(op, output) * (SCAN_ROW + SCAN_BYTE * width + EXPRESSION * tested)


def filter_rows(predicate: Predicate, rows: float) -> float:
    return at_least_one(rows) * (COPY + EXPRESSION * calls(predicate))


def found_rows(op: LookupRows | RangeLookup, rows: float, out: float) -> float:
    """What a lookup does with the rows it finds: a slice, tested by the residual."""
    if not op.residual:
        return COPY
    return (COPY + EXPRESSION * calls(op.residual)) * min(at_least_one(rows), at_least_one(2.0 * out))


def held(op: PhysicalOperator, inputs: Inputs) -> float:
    """What an operator spends to hold an input, in a form that it can hold through many runs."""
    match op:
        case LookupRows():
            return HASH_BUILD * at_least_one(inputs[0].rows)
        case RangeLookup():
            return COPY * at_least_one(inputs[0].rows)
        case HashJoin():
            return HASH_BUILD * at_least_one(inputs[0 if op.build_left else 1].rows)
        case NestedLoopJoin():
            return LEAST_IN * at_least_one(inputs[1].rows)
    return 0.0


def apply_rows(op: NestedApply, delivered: TraitSet, output: RelationStats, inputs: Inputs) -> float:
    """Runs, and the join of what they give with the left rows. Rows of a run that is only asked whether it gives any are not
    gathered."""
    left, right = inputs
    pairs = at_least_one(left.rows) * at_least_one(right.rows)
    counted = not op.predicate and (op.kind.left_only or op.mark is not None)
    per_pair = PAIR + PAIR_CALL * calls(op.predicate) if op.predicate else 0.0 if counted else COPY
    return nested_apply(op, left) + per_pair * pairs + OUT * at_least_one(output.rows)


def project_rows(op: Project | ProjectRows, rows: float) -> float:
    computed = sum(1 for item in op.items if not isinstance(item.value, ColumnRef) for s in walk(item.value) if s.children)
    return at_least_one(rows) * (COPY + EXPRESSION * computed)


def hash_join(op: HashJoin, delivered: TraitSet, output: RelationStats, inputs: Inputs) -> float:
    left, right = at_least_one(inputs[0].rows), at_least_one(inputs[1].rows)
    build, probe = (left, right) if op.build_left else (right, left)
    rows = at_least_one(output.rows)
    return HASH_BUILD * build + HASH_PROBE * probe + (OUT + EXPRESSION * calls(op.residual)) * rows


def merge_join(op: MergeJoin, delivered: TraitSet, output: RelationStats, inputs: Inputs) -> float:
    rows = at_least_one(output.rows)
    read = at_least_one(inputs[0].rows) + at_least_one(inputs[1].rows)
    return MERGE_IN * read + (OUT + EXPRESSION * calls(op.residual)) * rows


def nested_loop_join(op: NestedLoopJoin, delivered: TraitSet, output: RelationStats, inputs: Inputs) -> float:
    left, right = at_least_one(inputs[0].rows), at_least_one(inputs[1].rows)
    per_pair = PAIR + PAIR_CALL * calls(op.predicate)
    return LEAST_IN * (left + right) + per_pair * left * right + OUT * at_least_one(output.rows)


def hash_aggregate(op: Aggregate | HashAggregate, rows: float, groups: float) -> float:
    return at_least_one(rows) * (GROUP_IN + GROUP_CALL * len(op.aggregates)) + GROUP_OUT * at_least_one(groups)


def grouping_sets(op: GroupingSets | HashGroupingSets, stats: RelationStats, groups: float) -> float:
    """Groups the rows by all keys, then the groups by each set, and copies what comes out."""
    finest = distinct_rows([stats.columns[key.source].ndv for key in op.keys], stats.rows)
    per_row = GROUP_IN + GROUP_CALL * len(op.aggregates)
    read = at_least_one(stats.rows) + len(op.sets) * at_least_one(finest)
    return per_row * read + GROUP_OUT * (at_least_one(finest) + at_least_one(groups))


def streaming_aggregate(op: Aggregate | StreamingAggregate, rows: float, groups: float) -> float:
    return at_least_one(rows) * (STREAM_IN + GROUP_CALL * len(op.aggregates)) + COPY * at_least_one(groups)


def sort(keys: int, rows: float) -> float:
    rows = at_least_one(rows)
    return rows * (SORT_ROW + SORT_COMPARE * sqrt(keys) * log2(rows + 1.0))


def partial_sort(op: PartialSort, stats: RelationStats) -> float:
    """Finds the runs, then makes the comparisons of a sort by prefix and order, less those that telling the runs apart would
    take. Prefix columns are taken to be independent. A sort in two steps never costs less than one sort."""
    rows = at_least_one(stats.rows)
    runs = 1.0
    for column in column_ids(op.prefix):
        figures = stats.columns.get(column)
        runs = min(rows, runs * (at_least_one(figures.ndv) if figures is not None else rows))
    known = op.prefix.bit_count()
    compared = sqrt(known + len(op.order)) * log2(rows + 1.0) - sqrt(known) * log2(runs + 1.0)
    return rows * (SORT_ROW + PREFIX_COMPARE * known + SORT_COMPARE * compared)


def merge_union(inputs: int, rows: float) -> float:
    """Every row is copied and passes a comparison for each doubling of the inputs."""
    return at_least_one(rows) * (UNION_ROW + UNION_COMPARE * log2(inputs + 1.0))


def window_rows(op: Window | WindowRows, rows: float) -> float:
    """Finds partitions and peers by comparing neighbours, then computes each item for all rows."""
    keys = len(op.partition) + len(op.order)
    own = WINDOW_ROW + PREFIX_COMPARE * keys
    for item in op.items:
        call, frame = item.call, item.call.frame
        own += WINDOW_CALL
        if frame is None:
            continue
        by_value = frame.unit == "range" and (frame.start.offset is not None or frame.end.offset is not None)
        moving = frame.start.side != "preceding" or frame.start.offset is not None
        if by_value or (moving and (call.distinct or call.function in ("min", "max", "sum", "avg"))):
            own += WINDOW_SEARCH * log2(at_least_one(rows) + 1.0)
    return at_least_one(rows) * own


def top_k(kept: int, rows: float) -> float:
    kept_rows = min(float(kept), at_least_one(rows))
    return TOP_IN * at_least_one(rows) + kept_rows * (SORT_ROW + SORT_COMPARE * log2(kept_rows + 1.0))
