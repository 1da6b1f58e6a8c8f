"""Estimates and costs of mark joins, single joins and Apply: sane figures, bounds below costs, further runs cheaper."""

from itertools import product
from math import isfinite

import pyarrow as pa
import pytest

from optimizer.algebra import Apply, Columns, JoinKind, MarkJoin, SingleJoin, Tree, postorder
from optimizer.algebra.logical import Filter, LogicalOperator, Scan, ScanColumn
from optimizer.algebra.physical import FilterRows, LookupRows, NestedApply, PhysicalOperator
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, Literal, OuterRef, Predicate, Scalar
from optimizer.algebra.traits import ANY, SortKey
from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn, TableStats
from optimizer.cost.applies import ROW_GROUP, rows_read
from optimizer.cost.arrow import ArrowCost
from optimizer.cost.model import Reruns
from optimizer.rules.catalog import IMPLEMENTATIONS
from optimizer.rules.implement.filter_to_lookup_rows import FilterToLookupRows
from optimizer.rules.implement.filter_to_range_lookup import FilterToRangeLookup
from optimizer.rules.interface import RuleContext
from optimizer.stats.matches import semi_share
from optimizer.stats.relation import RelationStats
from planscope import Estimator, Settings

I64 = pa.int64()
KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE)


class Setting:
    """Tables l (k, x) and r (k, x) of so many rows; half of l.x and a tenth of r.x are NULL, r is stored by k."""

    def __init__(self, left: int, right: int) -> None:
        self.columns = Columns()
        tables = []
        for name, rows, nulls in (("l", left, 0.5), ("r", right, 0.1)):
            stats = {
                "k": ColumnStats(0, 0, rows, ndv=max(1.0, rows / 10)),
                "x": ColumnStats(int(rows * nulls), 0, 1000, ndv=max(1.0, min(rows, 100))),
            }
            columns = (TableColumn("k", I64), TableColumn("x", I64))
            tables.append(Table(name, columns, order=("k",) if name == "r" else (), stats=TableStats(rows, columns=stats)))
        self.estimator = Estimator(Catalog("two", tables), self.columns)
        self.left, self.right = self.scan("l"), self.scan("r")
        self.mark = self.columns.new("mark", BOOL, True).id

    def scan(self, name: str, predicate: Predicate = ()) -> Tree:
        ids = [self.columns.new(c, I64, True).id for c in ("k", "x")]
        order = (SortKey(ids[0]),) if name == "r" else ()
        columns = tuple(ScanColumn(id, c) for id, c in zip(ids, ("k", "x"), strict=True))
        return Tree(Scan(name, name, columns, order=order, predicate=predicate))

    def stats(self, tree: Tree) -> RelationStats:
        found: dict[int, RelationStats] = {}
        for node in postorder(tree):
            assert isinstance(node, Tree)
            found[id(node)] = self.estimator.estimate(node.op, node.props, [found[id(i)] for i in node.inputs])
        return found[id(tree)]

    def correlated(self, *conjuncts: Scalar) -> Tree:
        return Tree(Filter(conjuncts), (self.right,))


def equal(a: Scalar, b: Scalar) -> Scalar:
    return Call("=", (a, b), BOOL)


LK, LX, RK, RX = (ColumnRef(i, I64) for i in range(4))
OUTER_K, OUTER_X = OuterRef(0, I64), OuterRef(1, I64)
PREDICATES: list[Predicate] = [
    (), (equal(LX, RX),), (Call("is_not_distinct_from", (LX, RX), BOOL),), (equal(LX, RX), Call("<", (LK, RK), BOOL)),
    (Call("<>", (LX, RX), BOOL),),
]  # fmt: skip


@pytest.mark.parametrize("sizes", [(0, 0), (1, 0), (0, 1000), (1000, 1), (5000, 200_000), (10**9, 10**9)])
def test_figures_are_sane_and_costs_above_their_bounds(sizes: tuple[int, int]) -> None:
    setting = Setting(*sizes)
    cost = ArrowCost()
    context = RuleContext(setting.columns, Settings())
    rights = [
        setting.right,
        setting.correlated(equal(RK, OUTER_K)),
        setting.correlated(Call("<", (RX, OUTER_X), BOOL), Call("is_null", (OUTER_X,), BOOL)),
    ]
    trees = []
    for right, predicate, kind in product(rights, PREDICATES, KINDS):
        trees.append(Tree(Apply(kind, predicate, setting.mark if kind is JoinKind.MARK else None), (setting.left, right)))
    for predicate in PREDICATES:
        ops: list[LogicalOperator] = [MarkJoin(predicate, setting.mark), SingleJoin(predicate)]
        trees += [Tree(op, (setting.left, setting.right)) for op in ops]
    for tree in [*trees, *rights[1:]]:
        stats = setting.stats(tree)
        assert isfinite(stats.rows) and stats.rows >= 0.0
        assert {c for c in range(len(setting.columns)) if tree.columns >> c & 1} <= set(stats.columns)
        for figures in stats.columns.values():
            assert isfinite(figures.ndv) and figures.ndv >= 1.0 and 0.0 <= figures.null_fraction <= 1.0
            assert sum(figures.frequent.values()) <= 1.0 + 1e-9
        inputs = [setting.stats(i) for i in tree.inputs if isinstance(i, Tree)]
        least = cost.least(tree.op, stats, inputs)
        for rule in IMPLEMENTATIONS:
            if rule.pattern.op is not None and isinstance(tree.op, rule.pattern.op):
                for op in rule.apply(tree, context):
                    local = cost.local(op, ANY, stats, inputs)
                    assert isfinite(local) and local >= least * (1 - 1e-12), op
                    kept = [not i.outer for i in tree.inputs]
                    again = cost.rerun(op, ANY, stats, inputs, kept)
                    assert cost.least_rerun(tree.op) <= again <= local, op


def test_kinds_agree_on_how_many_rows_match() -> None:
    setting = Setting(5000, 200_000)
    inner = setting.correlated(equal(RK, OUTER_K))
    rows = {k: setting.stats(Tree(Apply(k, ()), (setting.left, inner))).rows for k in KINDS if k is not JoinKind.MARK}
    per_run = setting.stats(inner).rows
    assert per_run == pytest.approx(10.0, rel=0.02)  # 200,000 rows, 20,000 values
    assert rows[JoinKind.INNER] == pytest.approx(5000 * per_run)
    assert rows[JoinKind.SEMI] + rows[JoinKind.ANTI] == pytest.approx(5000, rel=0.01)
    assert rows[JoinKind.SEMI] > 0.99 * 5000 and rows[JoinKind.SINGLE] == 5000
    assert rows[JoinKind.LEFT] >= rows[JoinKind.INNER]
    few = setting.correlated(equal(RK, OUTER_K), equal(RX, OUTER_X))
    share = setting.stats(Tree(Apply(JoinKind.SEMI, ()), (setting.left, few))).rows / 5000
    assert share == pytest.approx(1 - 2.718281828 ** -setting.stats(few).rows, rel=0.01)


def test_marks_tell_filters_how_often_they_hold() -> None:
    setting = Setting(5000, 30)
    predicate = (equal(LX, RX),)
    tree = Tree(MarkJoin(predicate, setting.mark), (setting.left, setting.right))
    stats = setting.stats(tree)
    mark = ColumnRef(setting.mark, BOOL)
    kept = setting.stats(Tree(Filter((mark,)), (tree,))).rows
    dropped = setting.stats(Tree(Filter((Call("not", (mark,), BOOL),)), (tree,))).rows
    share = semi_share(predicate, setting.stats(setting.left), setting.stats(setting.right))
    assert kept == pytest.approx(5000 * share) and 0.1 < share < 0.4
    # one NULL on the right makes every row without a match UNKNOWN
    assert stats.columns[setting.mark].null_fraction > 0.5
    assert dropped < 0.2 * (5000 - kept)


def test_outer_values_are_constants_of_which_nothing_is_known() -> None:
    setting = Setting(5000, 200_000)
    base = 200_000.0

    def share(conjunct: Scalar) -> float:
        return setting.stats(setting.correlated(conjunct)).rows / base

    assert share(equal(RX, OUTER_X)) == pytest.approx(0.9 / 100, rel=0.05)
    assert share(Call("<", (RX, OUTER_X), BOOL)) == pytest.approx(0.3, rel=0.05)
    for function in ("is_null", "is_not_null"):
        assert share(Call(function, (OUTER_X,), BOOL)) > 0
    assert share(Call("is_not_distinct_from", (OUTER_X, Literal(None, I64)), BOOL)) > 0
    assert share(equal(OUTER_X, Literal(3, I64))) == pytest.approx(0.1, rel=0.05)


def test_a_lookup_pays_in_many_runs_and_a_filter_in_one() -> None:
    setting, cost = Setting(5000, 200_000), ArrowCost()
    tree = setting.correlated(equal(RK, OUTER_K))
    stats, inputs = setting.stats(tree), [setting.stats(setting.right)]
    (lookup,) = FilterToLookupRows().apply(tree, RuleContext(setting.columns, Settings()))
    filter = FilterRows((equal(RK, OUTER_K),))
    assert isinstance(lookup, LookupRows) and isinstance(cost, Reruns)

    def total(op: PhysicalOperator, runs: int) -> float:
        return cost.local(op, ANY, stats, inputs) + (runs - 1) * cost.rerun(op, ANY, stats, inputs, [True])

    assert total(filter, 1) < total(lookup, 1) and total(lookup, 50) < total(filter, 50)


def test_a_cache_pays_where_bindings_repeat() -> None:
    setting, cost = Setting(5000, 200_000), ArrowCost()
    inputs = [setting.stats(setting.left), setting.stats(setting.correlated(equal(RK, OUTER_K)))]
    output = setting.stats(Tree(Apply(JoinKind.SEMI, ()), (setting.left, setting.correlated(equal(RK, OUTER_K)))))

    def local(cached: bool, parameters: int, left: RelationStats) -> float:
        return cost.local(NestedApply(JoinKind.SEMI, (), None, parameters, cached), ANY, output, [left, inputs[1]])

    assert local(True, 1 << 0, inputs[0]) < local(False, 1 << 0, inputs[0])  # 500 values in 5,000 rows
    few = setting.stats(Tree(Filter((equal(LK, Literal(3, I64)), equal(LX, Literal(3, I64)))), (setting.left,)))
    assert local(False, 0b11, few) < local(True, 0b11, few)


def test_a_scan_by_its_stored_order_reads_the_row_groups_that_can_match() -> None:
    setting = Setting(10, 10_000_000)
    scan = setting.right.op
    assert isinstance(scan, Scan)
    stats = setting.stats(setting.right)

    def read(*predicate: Scalar) -> float:
        return rows_read(Scan(scan.table, scan.alias, scan.columns, order=scan.order, predicate=predicate), stats)

    assert read() == 10_000_000 == read(equal(RX, OUTER_X)) == read(Call("<>", (RK, OUTER_K), BOOL))
    assert ROW_GROUP < read(equal(RK, OUTER_K)) < 1.01 * ROW_GROUP
    assert ROW_GROUP < read(Call(">", (OUTER_K, RK), BOOL)) < 10_000_000 / 2


def test_what_can_be_a_key_or_a_bound_of_a_lookup() -> None:
    setting = Setting(10, 10)
    context = RuleContext(setting.columns, Settings())
    raising = Call("+", (OUTER_K, Literal(1, I64)), I64)
    chance = Call("<", (Call("random", (), pa.float64()), Literal(0.5, pa.float64())), BOOL)

    def lookups(*predicate: Scalar, below: Tree | None = None) -> list[PhysicalOperator]:
        tree = Tree(Filter(predicate), (below or setting.right,))
        return [*FilterToLookupRows().apply(tree, context), *FilterToRangeLookup().apply(tree, context)]

    assert len(lookups(equal(RK, OUTER_K), Call("<", (RX, OUTER_X), BOOL))) == 2
    assert len(lookups(Call("<", (RX, OUTER_X), BOOL), Call(">", (RK, OUTER_X), BOOL))) == 2  # a range of either column
    assert raising.raises and not lookups(equal(RK, raising)) and not lookups(Call("<", (RK, raising), BOOL))
    assert not lookups(equal(RK, RX)) and not lookups(equal(OUTER_K, OUTER_X)) and not lookups(equal(RK, Literal(1, I64)))
    assert not lookups(equal(Call("+", (RK, OUTER_X), I64), OUTER_K))
    assert not lookups(equal(RK, OUTER_K), below=Tree(Filter((equal(RX, OUTER_X),)), (setting.right,)))
    assert not lookups(equal(RK, OUTER_K), below=Tree(Filter((chance,)), (setting.right,)))
