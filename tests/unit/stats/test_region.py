"""Rows of every subset of a region: looked up factor by factor, they are what the estimator says of the subset as a whole."""

import numpy as np
import pyarrow as pa
import pytest

from optimizer.algebra import ColumnRef, LogicalProps, Scalar, Tree, compare, conjunction
from optimizer.algebra.columns import Columns, column_set, union
from optimizer.catalog.table import Catalog
from optimizer.cost.c_out import COut
from optimizer.figures import Figures
from optimizer.joins.collect import collect_join_graphs
from optimizer.joins.inner import InnerRegion, inner_region
from optimizer.memo.group import Group
from optimizer.stats.region import RegionRows
from optimizer.stats.region_parts import inner_parts, region_stats
from optimizer.stats.relation import ColumnFigures, RelationStats
from planscope import Estimator, Settings
from tests.search.graphs import SHAPES, graph_query
from tests.search.planning import new_search


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(6))
def test_every_connected_subset_has_the_estimate_of_its_join(shape: str, seed: int) -> None:
    """Shared columns, several conjuncts an edge, equalities within a relation, keys, NULLs."""
    n = 3 + seed % 4
    query = graph_query(shape, n, seed)
    search = new_search(query, Settings())
    tree: Tree = collect_join_graphs(query.tree, lambda region: True)
    group = search.memo.group(search.memo.insert(tree)[0])
    assert group.region is not None
    leaves = [search.memo.group(gid) for gid in group.region.leaves]
    rows = RegionRows([leaf.stats for leaf in leaves], group.region.predicate)
    region = InnerRegion(tuple(leaf.props.columns for leaf in leaves), group.region.predicate)
    estimator = search.memo.figures.estimator  # type: ignore[attr-defined]
    compared = 0
    for s in range(1, 1 << n):
        if region.graph.connected(s):
            members = tuple(leaves[i].stats for i in range(n) if s >> i & 1)
            whole = estimator.inner_region(members, region.within(s), group.props)
            assert rows.rows(s) == pytest.approx(whole.rows, rel=1e-9)
            compared += 1
    assert compared >= n


class Halved(Estimator):
    """Joins of an even number of relations give half as many rows as thought."""

    def inner_region(self, leaves, predicate, props):  # type: ignore[no-untyped-def]
        stats = super().inner_region(leaves, predicate, props)
        if len(leaves) % 2 == 0:
            stats.rows /= 2
        return stats


def test_an_estimator_that_overrides_joins_is_asked_for_every_set() -> None:
    costs = set()
    for mode in ("adaptive", "rules"):
        query = graph_query("cycle", 5, 2)
        search = new_search(query, Settings(enumeration=mode))
        search.memo.figures.estimator = Halved(query.catalog, query.columns)  # type: ignore[attr-defined]
        costs.add(round(search.run(query.tree, query.order).best_cost, 6))
    usual = new_search(query, Settings())
    assert len(costs) == 1
    assert costs != {round(usual.run(query.tree, query.order).best_cost, 6)}


def table(rows: float, ndvs: dict[int, float], *keys: int) -> RelationStats:
    return RelationStats(rows, {c: ColumnFigures(ndv) for c, ndv in ndvs.items()}, keys=keys)


def equal(a: int, b: int) -> Scalar:
    return compare("=", ColumnRef(a, pa.int64()), ColumnRef(b, pa.int64()))


@pytest.mark.parametrize(("relations", "rows"), [(60, 1e6), (100, 1e6), (100, 1e5), (250, 1e3)])
def test_many_large_relations_do_not_overflow(relations: int, rows: float) -> None:
    """The product of their rows does not fit a float; what the keys leave of it does."""
    leaves = [table(rows, {2 * i: rows, 2 * i + 1: rows}) for i in range(relations)]
    chain = RegionRows(leaves, tuple(equal(2 * i + 1, 2 * i + 2) for i in range(relations - 1)))
    everything = (1 << relations) - 1
    assert chain.rows(everything) == pytest.approx(rows)
    if relations <= 62:
        assert chain.vector(np.array([everything])) == pytest.approx([rows])


SALES = table(10_000, {0: 4000, 1: 200, 2: 500}, 0b11)  # ticket, item, customer
RETURNS = table(1_000, {10: 900, 11: 250, 12: 300}, 0b11 << 10)


def test_a_set_has_the_same_rows_whatever_else_is_joined_to_it() -> None:
    """Relations 0 and 2 are aliases of a table: which of them stands for the other does not depend on relation 3."""
    leaves = [table(1000, {0: 1000, 1: 1000}), table(1, {2: 1}), table(1000, {3: 1000, 4: 1}), table(30, {5: 30})]
    links = equal(0, 2), equal(1, 3), equal(4, 5)
    alone = RegionRows(leaves[:3], conjunction(links[:2])).rows(0b111)
    wider = RegionRows(leaves, conjunction(links))
    sets = np.tile(np.arange(1, 16), 2)
    assert alone == wider.rows(0b111) == pytest.approx(1.0)
    assert wider.vector(sets) == pytest.approx([wider.rows(s) for s in sets.tolist()], rel=1e-12)


def test_which_key_finds_rows_does_not_depend_on_what_else_is_joined() -> None:
    """Either of two tables of as many rows has a key in their equalities: 222 rows where the second is joined to others, too."""
    leaves = [table(1000, {0: 900, 1: 5, 2: 300}, 0b11), table(1000, {10: 300, 11: 900, 12: 5}, 1 << 10), table(7, {20: 100})]
    links = equal(0, 10), equal(1, 12), equal(2, 11)
    rows = [RegionRows(leaves[:n], conjunction((*links, equal(10, 20))[:n + 1])).rows(0b11) for n in (2, 3)]  # fmt: skip
    assert rows[0] == rows[1]


@pytest.mark.parametrize("more", [{}, {2: 12}])
def test_a_row_found_by_a_key_of_two_columns_counts_once_with_its_copies(more: dict[int, int]) -> None:
    """Whichever of the two tables has fewer values of each column: a return has one sale, by its customer too."""
    for sales in (SALES, table(10_000, {0: 800, 1: 200, 2: 250}, 0b11), table(10_000, {0: 4000, 1: 300, 2: 500}, 0b11)):
        rows = RegionRows([sales, RETURNS], tuple(equal(a, b) for a, b in ({0: 10, 1: 11} | more).items()))
        assert rows.rows(0b11) == pytest.approx(1_000)
        assert rows.vector(np.array([0b11])) == pytest.approx([1_000])


def test_an_equality_with_another_relation_than_the_keys_is_no_copy() -> None:
    """As in TPC-H 5: a line finds its supplier by key, whose nation is that of the customer in one of 25 cases."""
    lines, suppliers, customers = table(1_000, {0: 100}), table(100, {10: 100, 11: 25}, 1 << 10), table(50, {21: 25})
    rows = RegionRows([lines, suppliers, customers], (equal(0, 10), equal(11, 21)))
    assert rows.rows(0b11) == pytest.approx(1_000)
    assert rows.rows(0b111) == pytest.approx(1_000 * 50 / 25)


@pytest.mark.parametrize("alike", [None, 2, 4])
def test_a_leaf_that_is_a_join_and_hides_columns_is_estimated_with_its_region(alike: int | None) -> None:
    """Set by set and all at once, as what the estimator says of their join graphs. `alike`: what the first or the second hides
    and the third has too."""
    within, hidden = table(1_000, {0: 1_000, 1: 10}), table(50, {2: 50})
    matched = region_stats(40.0, (within, hidden), (equal(0, 2),), LogicalProps(0b11))
    narrowed = RelationStats(300.0, {3: ColumnFigures(100)}, None, (), (table(300, {3: 100, 4: 7}),), (), True)
    other = table(20, {5: 8} if alike is None else {alike: 20, 5: 8})
    assert matched.hides and set(matched.columns) == {0, 1}
    leaves = enumerate((matched, narrowed, other))
    groups = [Group(number, LogicalProps(column_set(stats.columns)), stats, 0.0, ()) for number, stats in leaves]
    predicate = conjunction((equal(0, 3), equal(1, 5)))
    region = inner_region(tuple(group.props.columns for group in groups), predicate, False)
    estimator = Estimator(Catalog("none", ()), Columns())
    rows = Figures(estimator, COut()).region_rows(region, groups)
    for s in (0b001, 0b010, 0b100, 0b011, 0b101, 0b111):
        members = [group for i, group in enumerate(groups) if s >> i & 1]
        leaves, conjuncts = inner_parts([group.stats for group in members], region.within(s))
        props = LogicalProps(union(group.props.columns for group in members))
        expected = members[0].stats.rows if len(members) == 1 else estimator.inner_region(leaves, conjuncts, props).rows
        assert rows.rows(s) == pytest.approx(expected, rel=1e-12)
        assert rows.vector(np.array([s])) == pytest.approx([expected], rel=1e-12)
        assert len(leaves) == len(members) + (s & 1) * (alike != 2 or not s & 0b100)
