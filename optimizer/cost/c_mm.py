"""C_mm: tuples touched in main memory (Leis, Gubichev, Mirchev, Boncz, Kemper and Neumann, How good are query optimizers,
really?, PVLDB 9(3), 2015, section 5.4). A simple model that needs nothing but row counts; its unit is a tuple made.

Theirs, with τ = 0.2 for a tuple that is only passed over and λ = 2 for an index look-up:

    scan of R, filtered or not     τ · |R|
    hash join                      |out|
    index nested loops, A with R   λ · max(|A ⋈ R|, |A|)         here: Apply, whose right input is run for each left row

Ours, in the same spirit: a row made or put into a table counts 1, a row passed over or a comparison τ.

    merge join                     τ · (|L| + |R|) + |out|
    nested loops                   τ · |L| · |R| + |out|
    filter, streaming aggregate    τ · |in|
    lookup in a kept input         τ · |out|                      finding the place is in the λ of the Apply
    hash aggregate                 τ · |in| + |out|               grouping sets: τ · |in| + Σ groups of each set = |out|
    INTERSECT, EXCEPT              τ · Σ |in| + |out|
    sort of n rows                 n + τ · n · log2(n + 1)        partial sort: less the comparisons that tell its runs apart
    top-k                          τ · |in| + sort of the k rows kept
    window                         |in| for each function
    UNION ALL merging its inputs   τ · |out|
    VALUES, reading a spool        τ · |out|
    filling a spool, recursion     |out|
    projection, limit, UNION ALL   0

Lower bound of a group of joins: its rows and the bounds of its leaves, as for C_out: each join costs at least its output, and
what the leaves cost is in every plan. Of other groups: the bounds of the inputs and the cheapest implementation.
"""

from collections.abc import Callable, Sequence
from math import log2
from typing import Any

from optimizer.algebra import physical
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Aggregate, Filter, GroupingSets, LogicalOperator, Scan, SetOp, Values, Window
from optimizer.algebra.logical_joins import Apply, IndependentJoin, Join
from optimizer.algebra.predicates import is_key
from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.spools import CteReference, Recursion, Spool
from optimizer.algebra.traits import TraitSet
from optimizer.cost.by_operator import ByOperator
from optimizer.cost.joins import JoinCosts
from optimizer.cost.model import Bounded
from optimizer.stats.relation import RelationStats

TAU, LAMBDA = 0.2, 2.0

Inputs = Sequence[RelationStats]


def sort(rows: float) -> float:
    return rows + TAU * rows * log2(rows + 1.0)


def partial_sort(op: physical.PartialSort, stats: RelationStats) -> float:
    """A sort in two steps never costs less than one."""
    runs = min(stats.rows, stats.combinations(op.prefix, *op.finer))
    compared = log2(stats.rows + 1.0) - log2(runs + 1.0)
    return stats.rows + TAU * stats.rows * compared


def top_k(kept: int, rows: float) -> float:
    return TAU * rows + sort(min(float(kept), rows))


def loops(output: RelationStats, inputs: Inputs) -> float:
    return TAU * inputs[0].rows * inputs[1].rows + output.rows


def applied(output: RelationStats, inputs: Inputs) -> float:
    return LAMBDA * max(output.rows, inputs[0].rows)


def hashed(output: RelationStats, inputs: Inputs) -> float:
    """Rows in are looked at, rows out are kept in a table."""
    return TAU * sum(each.rows for each in inputs) + output.rows


def nothing(op: physical.PhysicalOperator, output: RelationStats, inputs: Inputs) -> float:
    return 0.0


_LISTED: dict[type[physical.PhysicalOperator], Callable[[Any, RelationStats, Inputs], float]] = {
    physical.TableScan: lambda op, out, i: TAU * out.base_rows,
    physical.ConstantRows: lambda op, out, i: TAU * out.rows,
    physical.FillSpool: lambda op, out, i: out.rows,
    physical.ReadSpool: lambda op, out, i: TAU * out.rows,
    physical.WithSpools: nothing,
    physical.Recurse: lambda op, out, i: out.rows,
    physical.FilterRows: lambda op, out, i: TAU * i[0].rows,
    physical.LookupRows: lambda op, out, i: TAU * out.rows,
    physical.RangeLookup: lambda op, out, i: TAU * out.rows,
    physical.ProjectRows: nothing,
    physical.HashJoin: lambda op, out, i: out.rows,
    physical.MergeJoin: lambda op, out, i: TAU * (i[0].rows + i[1].rows) + out.rows,
    physical.NestedLoopJoin: lambda op, out, i: loops(out, i),
    physical.NestedApply: lambda op, out, i: applied(out, i),
    physical.HashAggregate: lambda op, out, i: hashed(out, i),
    physical.StreamingAggregate: lambda op, out, i: TAU * i[0].rows,
    physical.HashGroupingSets: lambda op, out, i: hashed(out, i),
    physical.HashSetOp: lambda op, out, i: hashed(out, i),
    physical.Sort: lambda op, out, i: sort(i[0].rows),
    physical.PartialSort: lambda op, out, i: partial_sort(op, i[0]),
    physical.TopK: lambda op, out, i: top_k(op.offset + op.count, i[0].rows),
    physical.LimitRows: nothing,
    physical.UnionAll: nothing,
    physical.MergeUnion: lambda op, out, i: TAU * out.rows,
    physical.WindowRows: lambda op, out, i: i[0].rows * len(op.items),
}
LOCAL = ByOperator("c_mm", _LISTED)


class CMm:
    name = "c_mm"

    def local(self, op: physical.PhysicalOperator, delivered: TraitSet, output: RelationStats, inputs: Inputs) -> float:
        return LOCAL[type(op)](op, output, inputs)

    def join_costs(self) -> JoinCosts:
        return JoinCosts(0.0, start=0.0, build=0.0, probe=0.0, merge=TAU, loop=0.0, pair=TAU, pair_call=0.0, out=1.0, call=0.0)

    def least(self, op: LogicalOperator, output: RelationStats, inputs: Inputs) -> float:
        match op:
            case IndependentJoin():
                return output.rows if any(map(is_key, op.predicate)) else loops(output, inputs)
            case JoinGraph() | RegionGraph() | Spool() | Recursion():
                return output.rows
            case Apply():
                return applied(output, inputs)
            case Scan():
                return TAU * output.base_rows
            case Values() | CteReference():
                return TAU * output.rows
            case Filter(predicate):
                if any(conjunct.outer for conjunct in predicate):  # it may be a lookup
                    return TAU * min(output.rows, inputs[0].rows)
                return TAU * inputs[0].rows
            case Aggregate(keys):
                return TAU * inputs[0].rows if keys else hashed(output, inputs)
            case GroupingSets():
                return hashed(output, inputs)
            case SetOp(kind) if kind is not SetOpKind.UNION:
                return hashed(output, inputs)
            case Window():
                return inputs[0].rows * len(op.items)
        return 0.0

    def lower_bound(
        self, op: LogicalOperator, output: RelationStats, inputs: Sequence[Bounded], leaves: Sequence[Bounded]
    ) -> float:
        below = sum(leaf.lower for leaf in leaves)
        if isinstance(op, Join | JoinGraph | RegionGraph):
            return below + output.rows
        return below + self.least(op, output, [each.stats for each in inputs])
