"""Costs by hand: a chain of four tables under C_out and C_mm, arrow from its coefficients, spark from arrow."""

from random import Random

import pyarrow as pa
import pytest

from optimizer.algebra import AggregateItem, JoinKind, Project, ProjectItem, Scan, ScanColumn, compare
from optimizer.algebra.physical import (
    FilterRows,
    HashAggregate,
    HashJoin,
    MergeJoin,
    MergeUnion,
    NestedLoopJoin,
    PartialSort,
    PhysicalOperator,
    ProjectRows,
    Sort,
    TableScan,
    UnionAll,
)
from optimizer.algebra.scalars import BOOL, AggregateCall, Call, ColumnRef, Literal
from optimizer.algebra.traits import ANY, SortKey, TraitSet
from optimizer.cost.arrow import ArrowCost
from optimizer.cost.c_mm import CMm
from optimizer.cost.c_out import COut
from optimizer.cost.coefficients import DEFAULTS, NAMES
from optimizer.cost.model import CostModel
from optimizer.cost.spark import EXCHANGE, NETWORK, SparkCost
from optimizer.stats.relation import ColumnFigures, RelationStats
from tests.cost.random_models import only, random_coefficients

INT, TEXT = pa.int64(), pa.string()
A, B, C, D = (ColumnRef(i, INT) for i in range(4))
S = ColumnRef(4, TEXT)


def relation(rows: float, columns: int = 1, base: float | None = None) -> RelationStats:
    """`columns` of 8 bytes."""
    return RelationStats(rows, {i: ColumnFigures(max(1.0, rows)) for i in range(columns)}, base)


def scan_of(*columns: ColumnRef, predicate: tuple = ()) -> TableScan:
    return TableScan(Scan("t", "t", tuple(ScanColumn(c.id, f"c{c.id}") for c in columns), predicate=predicate))


def hashed(left: ColumnRef, right: ColumnRef, build_left: bool = False, kind: JoinKind = JoinKind.INNER) -> HashJoin:
    return HashJoin(kind, ((left, right),), (), build_left)


def chain_cost(model: CostModel, joins: list[PhysicalOperator], sizes: list[float], results: list[float]) -> float:
    """A left-deep plan over scans of which each keeps a tenth of its rows."""
    scanned = [relation(size, base=10.0 * size) for size in sizes]
    total = sum(model.local(scan_of(A), ANY, stats, []) for stats in scanned)
    left = scanned[0]
    for join, right, rows in zip(joins, scanned[1:], results, strict=True):
        total += model.local(join, ANY, relation(rows), [left, right])
        left = relation(rows)
    return total


def test_c_out_of_a_chain() -> None:
    joins = [hashed(A, B), MergeJoin(JoinKind.INNER, ((B, C),), ()), NestedLoopJoin(JoinKind.INNER, (compare("<", C, D),))]
    assert chain_cost(COut(), joins, [100, 20, 5, 1], [40, 7, 3]) == 40 + 7 + 3


def test_c_mm_of_a_chain() -> None:
    """Leis et al.: τ for a stored row, filtered or not, and the rows of each hash join."""
    scans = 0.2 * 10 * (100 + 20 + 5 + 1)
    hashes: list[PhysicalOperator] = [hashed(A, B), hashed(B, C), hashed(C, D)]
    assert chain_cost(CMm(), hashes, [100, 20, 5, 1], [40, 7, 3]) == pytest.approx(scans + 40 + 7 + 3)
    mixed = [hashed(A, B), MergeJoin(JoinKind.INNER, ((B, C),), ()), NestedLoopJoin(JoinKind.INNER, (compare("<", C, D),))]
    expected = scans + 40 + (0.2 * (40 + 5) + 7) + (0.2 * 7 * 1 + 3)
    assert chain_cost(CMm(), mixed, [100, 20, 5, 1], [40, 7, 3]) == pytest.approx(expected)


def test_c_mm_of_other_operators() -> None:
    model = CMm()
    assert model.local(Sort((SortKey(0),)), TraitSet((SortKey(0),)), relation(7), [relation(7)]) == pytest.approx(7 + 0.2 * 7 * 3)
    assert model.local(HashAggregate((0,), ()), ANY, relation(3), [relation(50)]) == pytest.approx(0.2 * 50 + 3)
    assert model.local(FilterRows((compare("<", A, B),)), ANY, relation(3), [relation(50)]) == pytest.approx(10)


def test_arrow_of_a_hash_join_and_a_scan() -> None:
    c = DEFAULTS
    local = ArrowCost().local(hashed(A, B), ANY, relation(7), [relation(100), relation(20)])
    assert local == pytest.approx((c.start + 100 * c.hash_probe + 20 * c.hash_build + 7 * c.join_out) / 1000)
    local = ArrowCost().local(hashed(A, B, True), ANY, relation(7), [relation(100), relation(20)])
    assert local == pytest.approx((c.start + 20 * c.hash_probe + 100 * c.hash_build + 7 * c.join_out) / 1000)
    stats = relation(4, 2, base=1000)
    local = ArrowCost().local(scan_of(A, B, predicate=(compare("<", A, Literal(3, INT)),)), ANY, stats, [])
    assert local == pytest.approx((c.start + c.scan_start + 1000 * (c.scan_row + 16 * c.scan_byte + c.call)) / 1000)


def test_arrow_tells_calls_on_text_from_others() -> None:
    """Searching costs by the byte, comparing as any call."""
    like = Call("like", (S, Literal("%x%", TEXT)), BOOL)
    same = Call("=", (S, Literal("x", TEXT)), BOOL)
    rows = RelationStats(1000.0, {4: ColumnFigures(9.0, width=40.0)})
    costs = [ArrowCost().local(FilterRows((test,)), ANY, relation(1), [rows]) for test in (like, same)]
    assert costs[0] - costs[1] == pytest.approx(40 * DEFAULTS.text_byte)


def test_arrow_counts_what_aggregates_compute() -> None:
    c, total = DEFAULTS, AggregateCall("sum", (Call("*", (A, Call("+", (A, B), INT)), INT),), False, None, INT)
    op = HashAggregate((0,), (AggregateItem(7, total), AggregateItem(8, AggregateCall("sum", (A,), False, None, INT))))
    local = ArrowCost().local(op, ANY, relation(5), [relation(1000, 2)])
    assert local == pytest.approx((c.start + 1000 * (c.group_in + 2 * c.group_call + 2 * c.call) + 5 * c.group_out) / 1000)


def test_a_projection_that_only_leaves_columns_out_is_free() -> None:
    narrow, renamed = ProjectRows((ProjectItem(0, A),)), ProjectRows((ProjectItem(5, A),))
    stats = relation(1000.0, 2)
    arrow = ArrowCost()
    for model in (arrow, SparkCost(), SparkCost(nodes=1)):
        assert model.local(narrow, ANY, stats, [stats]) == model.least(Project(narrow.items), stats, [stats]) == 0.0
        assert model.local(renamed, ANY, stats, [stats]) >= model.least(Project(renamed.items), stats, [stats]) > 0.0
    assert arrow.rerun(narrow, ANY, stats, [stats], [True]) == arrow.least_rerun(Project(narrow.items)) == 0.0
    assert arrow.rerun(renamed, ANY, stats, [stats], [True]) >= arrow.least_rerun(Project(renamed.items)) > 0.0


def test_costs_are_linear_in_the_coefficients() -> None:
    """So that they can be fitted, and a plan's amounts found by models of which one coefficient is 1."""
    coefficients = random_coefficients(Random(3))
    values = coefficients.as_dict()
    cases: list[tuple[PhysicalOperator, RelationStats, list[RelationStats]]] = [
        (hashed(A, B), relation(40), [relation(100), relation(20)]),
        (NestedLoopJoin(JoinKind.LEFT, (compare("<", A, B),)), relation(0.1), [relation(1e6), relation(0)]),
        (Sort((SortKey(0), SortKey(1))), relation(99, 2), [relation(99, 2)]),
        (scan_of(A, predicate=(compare("<", A, B),)), relation(3, base=5000), []),
    ]
    for op, output, inputs in cases:
        whole = ArrowCost(coefficients).local(op, ANY, output, inputs)
        parts = sum(values[name] * ArrowCost(only(name)).local(op, ANY, output, inputs) for name in NAMES)
        assert whole == pytest.approx(parts)


def test_join_costs_agree_with_local() -> None:
    """What a join space computes by arithmetic is what the operators cost."""
    left, right, out = relation(300), relation(20), relation(0.5)
    for model in (ArrowCost(), ArrowCost(random_coefficients(Random(5))), COut(), CMm()):
        floor, start, build, probe, merge, loop, pair, pair_call, each, *_ = model.join_costs()
        rows = max(floor, out.rows)
        inputs = [left, right]
        assert model.local(hashed(A, B), ANY, out, inputs) == pytest.approx(start + build * 20 + probe * 300 + each * rows)
        merged = MergeJoin(JoinKind.INNER, ((A, B),), ())
        assert model.local(merged, ANY, out, inputs) == pytest.approx(start + merge * 320 + each * rows)
        loops = NestedLoopJoin(JoinKind.INNER, (compare("<", A, B),))
        expected = start + loop * 320 + (pair + pair_call) * 6000 + each * rows
        assert model.local(loops, ANY, out, inputs) == pytest.approx(expected)


def test_spark_on_one_node_is_arrow_and_the_start_of_stages() -> None:
    inputs = [relation(1e6), relation(2e5)]
    for op, stages in ((hashed(A, B), 1), (FilterRows((compare("<", A, B),)), 0), (Sort((SortKey(0),)), 1)):
        arrow = ArrowCost().local(op, ANY, relation(1e5), inputs)
        assert SparkCost(nodes=1).local(op, ANY, relation(1e5), inputs) == pytest.approx(arrow + stages * EXCHANGE / 1000)


def test_spark_broadcasts_what_is_small_and_shuffles_what_is_large() -> None:
    c, model = DEFAULTS, SparkCost(nodes=4)
    large, small, out = relation(1e8), relation(1000), relation(1000)

    def moved(op: HashJoin, delivered: TraitSet, left: RelationStats, right: RelationStats) -> float:
        """Nanoseconds beyond arrow's work over four nodes."""
        work = ArrowCost().local(op, ANY, out, [left, right]) * 1000 - c.start
        return model.local(op, delivered, out, [left, right]) * 1000 - c.start - work / 4

    broadcast = EXCHANGE + NETWORK * 8000 * 3 / 4 + c.hash_build * 1000 * 3 / 4
    shuffle = EXCHANGE + NETWORK * 8 * 2e8 * 3 / 16
    assert moved(hashed(A, B), ANY, large, small) == pytest.approx(broadcast, rel=1e-6)
    assert moved(hashed(A, B), ANY, large, large) == pytest.approx(shuffle, rel=1e-6)
    copied = EXCHANGE + NETWORK * 8e8 * 3 / 4 + c.hash_build * 1e8 * 3 / 4  # keeps the order of the probe side
    assert moved(hashed(A, B), TraitSet((SortKey(0),)), large, large) == pytest.approx(copied, rel=1e-6)
    both = EXCHANGE + NETWORK * 8 * (1e8 + 1000) * 3 / 16  # a row without a match would be there four times
    assert moved(hashed(A, B, kind=JoinKind.RIGHT), ANY, large, small) == pytest.approx(both, rel=1e-6)
    assert moved(hashed(A, B, True, JoinKind.ANTI), ANY, small, large) == pytest.approx(both, rel=1e-6)


def test_spark_moves_groups_and_not_rows() -> None:
    c, model = DEFAULTS, SparkCost(nodes=4)
    op, rows = HashAggregate((0,), ()), relation(1e7)
    for groups, moved in ((10.0, 40.0), (9e6, 1e7)):
        work = ArrowCost().local(op, ANY, relation(groups), [rows]) * 1000 - c.start
        local = model.local(op, ANY, relation(groups), [rows]) * 1000
        assert local == pytest.approx(c.start + work / 4 + EXCHANGE + NETWORK * 8 * moved * 3 / 16, rel=1e-6)
    whole = model.local(HashAggregate((), ()), ANY, relation(1), [rows]) * 1000
    assert whole < EXCHANGE + c.start + 1e7 * c.group_in / 4


@pytest.mark.parametrize("model", [ArrowCost(), SparkCost(), CMm()], ids=["arrow", "spark", "c_mm"])
def test_there_are_no_more_runs_than_combinations_of_what_determines_them(model: CostModel) -> None:
    """B and C have 200 combinations where they are independent, but A with 50 values determines both."""
    stats = RelationStats(1000.0, {c.id: ColumnFigures(ndv) for c, ndv in ((A, 50.0), (B, 20.0), (C, 10.0), (D, 25.0))})
    assert stats.combinations(0b110) == 200
    assert stats.combinations(0b110, 0b1) == 50
    assert stats.combinations(0b100110) == float("inf")  # nothing is known of the last
    order = (SortKey(3),)

    def cost(op: PartialSort) -> float:
        return model.local(op, TraitSet(order), stats, [stats])

    assert cost(PartialSort(0b110, order)) < cost(PartialSort(0b110, order, (0b1,)))
    assert cost(PartialSort(0b1, order)) <= cost(PartialSort(0b110, order, (0b1,)))


@pytest.mark.parametrize("seed", range(20))
def test_no_order_of_a_union_is_cheaper_than_none(seed: int) -> None:
    """Under any coefficients: bounds rely on it."""
    model, inputs = ArrowCost(random_coefficients(Random(seed))), [relation(500.0), relation(500.0)]
    unions = (UnionAll((2,), ((0,), (1,))), ANY), (MergeUnion((2,), ((0,), (1,))), TraitSet((SortKey(2),)))
    anyhow, in_order = (model.local(union, traits, relation(1000.0), inputs) for union, traits in unions)
    assert anyhow <= in_order
