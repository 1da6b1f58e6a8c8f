"""The work of each operator on the Arrow executors, in nanoseconds, from rows and coefficients; its set-up not counted.

One method an operator, linear in the coefficients. Rows are taken as at least one, so that no work is free.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import log2, sqrt
from typing import Any

from pyarrow.types import is_string

from optimizer.algebra import physical
from optimizer.algebra.columns import ColumnId, column_ids
from optimizer.algebra.functions import COMPARISONS
from optimizer.algebra.logical import Aggregate, AggregateItem, GroupingSets, Project, ProjectItem, Scan, Window
from optimizer.algebra.scalar_trees import walk
from optimizer.algebra.scalars import Call, ColumnRef, Predicate, Scalar
from optimizer.cost.applies import nested_apply, rows_read
from optimizer.cost.by_operator import ByOperator, own_cost
from optimizer.cost.coefficients import Coefficients
from optimizer.stats.distinct import distinct_rows
from optimizer.stats.relation import RelationStats

Inputs = Sequence[RelationStats]

CHEAP = frozenset((*COMPARISONS, "is_null", "is_not_null", "is_not_distinct_from", "is_distinct_from"))  # also on text


def at_least_one(rows: float) -> float:
    return rows if rows > 1.0 else 1.0


@lru_cache(maxsize=1 << 14)  # scalars are interned, and the same ones are costed again and again
def computation(scalar: Scalar) -> tuple[int, tuple[ColumnId, ...]]:
    """How many calls computing it on a row makes; and the columns of which these search text or make text, each as often."""
    made = 0
    read: list[ColumnId] = []
    for each in walk(scalar):
        made += bool(each.children)
        if isinstance(each, Call) and each.function not in CHEAP:
            for argument in each.args:
                if is_string(argument.type):
                    read += column_ids(argument.columns)
    return made, tuple(read)


def calls(scalars: Iterable[Scalar]) -> int:
    """Calls that computing them on a row makes."""
    return sum(computation(each)[0] for each in scalars)


class Work:
    """`of[type]`: nanoseconds of an operator of that type, from (operator, output, inputs)."""

    def __init__(self, coefficients: Coefficients) -> None:
        self.c = coefficients
        listed: dict[type[physical.PhysicalOperator], Callable[[Any, RelationStats, Inputs], float]] = {
            physical.TableScan: lambda op, out, i: self.scan(op.scan, out, op.scan.predicate),
            physical.ConstantRows: lambda op, out, i: self.copied(out.rows),
            physical.FillSpool: lambda op, out, i: self.copied(out.rows),
            physical.ReadSpool: lambda op, out, i: self.copied(out.rows),
            physical.Recurse: lambda op, out, i: self.copied(out.rows),
            physical.WithSpools: lambda op, out, i: 0.0,
            physical.FilterRows: lambda op, out, i: self.filter(op.predicate, i[0]),
            physical.LookupRows: self.lookup,
            physical.RangeLookup: self.lookup,
            physical.ProjectRows: lambda op, out, i: self.project(op.items, i[0]),
            physical.HashJoin: self.hash_join,
            physical.MergeJoin: self.merge_join,
            physical.NestedLoopJoin: self.loop_join,
            physical.NestedApply: self.apply,
            physical.HashAggregate: lambda op, out, i: self.hash_aggregate(op, i[0], out.rows),
            physical.StreamingAggregate: lambda op, out, i: self.streaming_aggregate(op, i[0], out.rows),
            physical.HashGroupingSets: lambda op, out, i: self.grouping_sets(op, i[0], out.rows),
            physical.Sort: lambda op, out, i: self.sort(len(op.order), i[0].rows),
            physical.PartialSort: lambda op, out, i: self.partial_sort(op, i[0]),
            physical.TopK: lambda op, out, i: self.top_k(op.offset + op.count, i[0].rows),
            physical.LimitRows: lambda op, out, i: self.copied(out.rows),
            physical.UnionAll: lambda op, out, i: self.copied(out.rows),
            physical.MergeUnion: lambda op, out, i: self.merge_union(len(i), out.rows),
            physical.WindowRows: lambda op, out, i: self.window(op, i[0].rows),
            physical.HashSetOp: lambda op, out, i: self.set_op(i),
        }
        start = coefficients.start  # what an operator says of itself has its set-up in it, in microseconds
        self.of = ByOperator("arrow", listed, lambda op, out, i: 1000.0 * own_cost(op, "arrow", out, i) - start)

    def scan(self, op: Scan, output: RelationStats, tested: Predicate) -> float:
        """Opens the files, reads stored rows of the needed columns, decodes their bytes, tests the conjuncts `tested`."""
        c, width = self.c, sum([output.columns[column.id].width for column in op.columns])
        return c.scan_start + rows_read(op, output) * (c.scan_row + c.scan_byte * width + self.computing(tested, output))

    def computing(self, scalars: Sequence[Scalar], stats: RelationStats) -> float:
        """Computing them on one row of a relation."""
        made, bytes, columns = 0, 0.0, stats.columns
        for scalar in scalars:
            own, read = computation(scalar)
            made += own
            for id in read:
                if id in columns:
                    bytes += columns[id].width
        return self.c.call * made + self.c.text_byte * bytes

    def aggregating(self, aggregates: Sequence[AggregateItem], stats: RelationStats) -> float:
        """Feeding one row to all of them, their arguments computed."""
        arguments = [argument for item in aggregates for argument in item.call.children]
        return self.c.group_call * len(aggregates) + self.computing(arguments, stats)

    def copied(self, rows: float) -> float:
        return self.c.copy * at_least_one(rows)

    def filter(self, predicate: Predicate, stats: RelationStats) -> float:
        return at_least_one(stats.rows) * (self.c.copy + self.computing(predicate, stats))

    def lookup(self, op: physical.LookupRows | physical.RangeLookup, output: RelationStats, inputs: Inputs) -> float:
        """Holds the input; the rows it finds are a slice, tested by the residual."""
        found, stats = self.c.copy, inputs[0]
        if op.residual:
            rows = min(at_least_one(stats.rows), at_least_one(2.0 * output.rows))
            found = (self.c.copy + self.computing(op.residual, stats)) * rows
        return self.held(op, inputs) + found

    def project(self, items: tuple[ProjectItem, ...], stats: RelationStats) -> float:
        """One that only leaves columns out is free of its set-up too: an operator hands on no column that is not read."""
        if Project(items).narrows:
            return -self.c.start
        computed = [item.value for item in items if not isinstance(item.value, ColumnRef)]
        return at_least_one(stats.rows) * (self.c.copy + self.computing(computed, stats))

    def hash_join(self, op: physical.HashJoin, output: RelationStats, inputs: Inputs) -> float:
        c = self.c
        left, right = at_least_one(inputs[0].rows), at_least_one(inputs[1].rows)
        build, probe = (left, right) if op.build_left else (right, left)
        rows = at_least_one(output.rows)
        return c.hash_build * build + c.hash_probe * probe + (c.join_out + c.call * calls(op.residual)) * rows

    def merge_join(self, op: physical.MergeJoin, output: RelationStats, inputs: Inputs) -> float:
        c, rows = self.c, at_least_one(output.rows)
        read = at_least_one(inputs[0].rows) + at_least_one(inputs[1].rows)
        return c.merge_in * read + (c.join_out + c.call * calls(op.residual)) * rows

    def loop_join(self, op: physical.NestedLoopJoin, output: RelationStats, inputs: Inputs) -> float:
        c, left, right = self.c, at_least_one(inputs[0].rows), at_least_one(inputs[1].rows)
        per_pair = c.pair + c.pair_call * calls(op.predicate)
        return c.loop_in * (left + right) + per_pair * left * right + c.join_out * at_least_one(output.rows)

    def apply(self, op: physical.NestedApply, output: RelationStats, inputs: Inputs) -> float:
        """Runs, and the join of what they give with the left rows. What is only asked whether it has rows gathers none."""
        c, (left, right) = self.c, inputs
        pairs = at_least_one(left.rows) * at_least_one(right.rows)
        counted = not op.predicate and (op.kind.left_only or op.mark is not None)
        per_pair = c.pair + c.pair_call * calls(op.predicate) if op.predicate else 0.0 if counted else c.copy
        return nested_apply(c, op, left) + per_pair * pairs + c.join_out * at_least_one(output.rows)

    def hash_aggregate(self, op: Aggregate | physical.HashAggregate, stats: RelationStats, groups: float) -> float:
        per_row = self.c.group_in + self.aggregating(op.aggregates, stats)
        return at_least_one(stats.rows) * per_row + self.c.group_out * at_least_one(groups)

    def streaming_aggregate(self, op: Aggregate | physical.StreamingAggregate, stats: RelationStats, groups: float) -> float:
        per_row = self.c.stream_in + self.aggregating(op.aggregates, stats)
        return at_least_one(stats.rows) * per_row + self.c.copy * at_least_one(groups)

    def grouping_sets(self, op: GroupingSets | physical.HashGroupingSets, stats: RelationStats, groups: float) -> float:
        """Groups the rows by all keys, then the groups by each set, and copies what comes out."""
        c = self.c
        finest = distinct_rows([stats.columns[key.source].ndv for key in op.keys], stats.rows)
        per_row = c.group_in + self.aggregating(op.aggregates, stats)
        read = at_least_one(stats.rows) + len(op.sets) * at_least_one(finest)
        return per_row * read + c.group_out * (at_least_one(finest) + at_least_one(groups))

    def sort(self, keys: int, rows: float) -> float:
        rows = at_least_one(rows)
        return rows * (self.c.sort_row + self.c.sort_compare * sqrt(keys) * log2(rows + 1.0))

    def partial_sort(self, op: physical.PartialSort, stats: RelationStats) -> float:
        """Finds the runs, then makes the comparisons of a sort by prefix and order, less those that telling the runs apart
        would take. A sort in two steps never costs less than one sort."""
        c, rows = self.c, at_least_one(stats.rows)
        runs = min(rows, stats.combinations(op.prefix, *op.finer))
        known = op.prefix.bit_count()
        compared = sqrt(known + len(op.order)) * log2(rows + 1.0) - sqrt(known) * log2(runs + 1.0)
        return rows * (c.sort_row + c.prefix_compare * known + c.sort_compare * compared)

    def top_k(self, kept: int, rows: float) -> float:
        c = self.c
        kept_rows = min(float(kept), at_least_one(rows))
        return c.top_in * at_least_one(rows) + kept_rows * (c.sort_row + c.sort_compare * log2(kept_rows + 1.0))

    def merge_union(self, inputs: int, rows: float) -> float:
        """Every row passes a comparison for each doubling of the inputs. At least a copy: no order comes cheaper than none."""
        return max(self.copied(rows), at_least_one(rows) * (self.c.union_row + self.c.union_compare * log2(inputs + 1.0)))

    def set_op(self, inputs: Inputs) -> float:
        return self.c.set_row * sum(at_least_one(each.rows) for each in inputs)

    def window(self, op: Window | physical.WindowRows, rows: float) -> float:
        """Finds partitions and peers by comparing neighbours, then computes each item for all rows."""
        c = self.c
        own = c.window_row + c.prefix_compare * (len(op.partition) + len(op.order))
        for item in op.items:
            call, frame = item.call, item.call.frame
            own += c.window_call
            if frame is None:
                continue
            by_value = frame.unit == "range" and (frame.start.offset is not None or frame.end.offset is not None)
            moving = frame.start.side != "preceding" or frame.start.offset is not None
            if by_value or (moving and (call.distinct or call.function in ("min", "max", "sum", "avg"))):
                own += c.window_search * log2(at_least_one(rows) + 1.0)
        return at_least_one(rows) * own

    def held(self, op: physical.PhysicalOperator, inputs: Inputs) -> float:
        """What an operator spends to hold an input, in a form that it can hold through many runs."""
        c = self.c
        match op:
            case physical.TableScan():
                return c.scan_start
            case physical.LookupRows():
                return c.hash_build * at_least_one(inputs[0].rows)
            case physical.RangeLookup():
                return c.copy * at_least_one(inputs[0].rows)
            case physical.HashJoin():
                return c.hash_build * at_least_one(inputs[0 if op.build_left else 1].rows)
            case physical.NestedLoopJoin():
                return c.loop_in * at_least_one(inputs[1].rows)
        return 0.0
