"""A setting in which the number of plans is known in closed form (Waas and Galindo-Legaria's method on small graphs).

Every table is read by a sequential scan (unsorted) or an index scan (sorted); every join is a hash join of any inputs
(unsorted) or a merge join of sorted inputs (sorted). There is one order for all, since all tables join on one class of
equal columns. Only unsorted plans of operators are ever sorted. Without cross products there are then, whether or not the
result must be sorted, (ordered bushy trees) · 2^n · 2^(n-1) plans over n tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

import pyarrow as pa

from optimizer.algebra import ColumnRef, Join, LogicalProps, PhysicalOperator, Scan, ScanColumn, Tree, compare
from optimizer.algebra.columns import ColumnId, Columns, ColumnSet
from optimizer.algebra.physical.operator import Props
from optimizer.algebra.traits import Alternative, TraitSet, ascending
from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn, TableStats
from optimizer.cost.c_out import COut
from optimizer.figures import Figures
from optimizer.memo.goal import Goal
from optimizer.memo.memo import Memo
from optimizer.rules.catalog import TRANSFORMATIONS, rule_set
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node
from optimizer.search.search import Search
from optimizer.stats.relation import RelationStats
from planscope import Estimator, Settings
from tests.search.graphs import edges_of, initial_tree


def in_order(columns: ColumnSet) -> TraitSet:
    """The one order, said with the columns of an input."""
    return TraitSet(ascending([(columns & -columns).bit_length() - 1]))


@dataclass(frozen=True, slots=True)
class SeqScan(PhysicalOperator):
    table: str
    name: ClassVar[str] = "seq_scan"


@dataclass(frozen=True, slots=True)
class IndexScan(PhysicalOperator):
    table: str
    column: ColumnId
    name: ClassVar[str] = "index_scan"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return (Alternative((), in_order(1 << self.column)),)


@dataclass(frozen=True, slots=True)
class AnyJoin(PhysicalOperator):
    name: ClassVar[str] = "any_join"


@dataclass(frozen=True, slots=True)
class SortedJoin(PhysicalOperator):
    name: ClassVar[str] = "sorted_join"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        left, right = in_order(inputs[0].columns), in_order(inputs[1].columns)
        return (Alternative((left, right), left),)


class ScanTwoWays(ImplementationRule):
    name = "scan_two_ways"
    pattern = node(Scan)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        assert isinstance(bound.op, Scan)
        return SeqScan(bound.op.alias), IndexScan(bound.op.alias, bound.op.columns[0].id)


class JoinTwoWays(ImplementationRule):
    name = "join_two_ways"
    pattern = node(Join, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        return AnyJoin(), SortedJoin()


class SettingCost(COut):
    """A cost for each kind of operator, so that many plans cost the same."""

    COSTS: ClassVar[dict[str, float]] = {"seq_scan": 3.0, "index_scan": 7.0, "any_join": 4.0, "sorted_join": 1.0, "sort": 2.0}

    def local(self, op: PhysicalOperator, delivered: TraitSet, output: RelationStats, inputs: Sequence[RelationStats]) -> float:
        return self.COSTS[op.name]


def counted_search(shape: str, n: int, ordered: bool) -> tuple[Search, Goal]:
    """The search of a join graph of `n` tables in this setting, without pruning, run to the end."""
    integer = pa.int64()
    columns, tables, scans = Columns(), [], []
    for i in range(n):
        stats = {"k": ColumnStats(nulls=0, min=0, max=99, ndv=50.0, avg_width=8.0)}
        tables.append(Table(f"t{i}", (TableColumn("k", integer, False),), (), (), (), TableStats(100, 800, stats)))
        id = columns.new("k", integer, False, f"t{i}.k").id
        scans.append(Scan(f"t{i}", f"t{i}", (ScanColumn(id, "k"),), (), 1 << id))
    edges = []
    for i, j in edges_of(shape, n, Random(0)):
        refs = (ColumnRef(scans[k].columns[0].id, integer) for k in (i, j))
        edges.append((i, j, compare("=", *refs)))
    settings = Settings(pruning="none", enumeration="rules")
    cost = SettingCost()
    memo = Memo(Figures(Estimator(Catalog("counted", tables), columns), cost))
    rules = rule_set(settings, TRANSFORMATIONS, (ScanTwoWays(), JoinTwoWays()))
    search = Search(memo, rules, RuleContext(columns, settings), cost)
    required = in_order(1 << scans[0].columns[0].id) if ordered else TraitSet()
    return search, search.run(initial_tree(scans, edges, Random(0)), required)
