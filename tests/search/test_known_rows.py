"""Estimators that look rows up: one answer for each set of relations, in every search, and true ones in every plan."""

import itertools
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import reject
from hypothesis import strategies as st

from executor.counting import of_catalog
from experiments.workloads.queries import resolve_sql
from optimizer.algebra import Join, JoinKind, Leaf, LimitRows, Tree
from optimizer.algebra.join_graph import JoinGraph
from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset
from optimizer.errors import SqlError
from optimizer.joins.inner import InnerRegion
from optimizer.stats.choose import EstimatorFactory
from optimizer.stats.injected import Injected
from optimizer.stats.perturbed import Perturbed
from optimizer.stats.relation import RelationStats
from planscope import Estimator, Session, Settings
from tests.conftest import quick_and_slow
from tests.differential.datasets import POOL, dataset
from tests.differential.join_queries import join_queries
from tests.differential.queries import Query, queries
from tests.examples import try_examples
from tests.search.graphs import SHAPES, GraphQuery, graph_query
from tests.search.planning import new_search


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts are kept from one test to the next in no test here; data is where it always is."""
    home = tmp_path_factory.mktemp("counts")
    monkeypatch.setattr("experiments.workloads.cache.cache_folder", lambda: home)


# -- one set, one estimate ----------------------------------------------------------------------------------------------------


def some_known(query: GraphQuery, seed: int) -> dict[frozenset[str], float]:
    """Rows of about half of all sets of tables."""
    dice = random.Random(seed)
    names = [scan.alias for scan in query.scans]
    sets = [frozenset(s) for k in range(1, len(names) + 1) for s in itertools.combinations(names, k)]
    return {s: float(dice.choice((0, 1, 7, 10**4, 10**9))) for s in sets if dice.random() < 0.5}


LOOKED_UP: dict[str, Callable[[GraphQuery, int], EstimatorFactory]] = {
    "injected": lambda query, seed: lambda catalog, columns: Injected(catalog, columns, some_known(query, seed)),
    "perturbed": lambda query, seed: (
        lambda catalog, columns: Perturbed(catalog, columns, Estimator(catalog, columns), 100.0, seed)
    ),
}


@pytest.mark.parametrize("name", LOOKED_UP)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_every_join_of_a_set_has_the_same_rows(name: str, shape: str, seed: int) -> None:
    """From each connected subset and complement, whichever way both were made; and as a join graph."""
    query = graph_query(shape, 3 + seed, seed)
    estimator = LOOKED_UP[name](query, seed)(query.catalog, query.columns)
    leaves = [Tree(scan) for scan in query.scans]
    stats = [estimator.estimate(leaf.op, leaf.props, []) for leaf in leaves]
    region = InnerRegion(tuple(leaf.columns for leaf in leaves), tuple(dict.fromkeys(s for *_, s in query.edges)))
    n = len(leaves)
    found: dict[int, RelationStats] = {1 << i: each for i, each in enumerate(stats)}
    compared = 0
    for s in sorted(range(1, 1 << n), key=int.bit_count):
        if not s & (s - 1) or not region.graph.connected(s):
            continue
        members = [i for i in range(n) if s >> i & 1]
        graph = Tree(JoinGraph(region.within(s)), tuple(leaves[i] for i in members))
        rows = estimator.estimate(graph.op, graph.props, [stats[i] for i in members]).rows
        for a in range(1, s):
            b = s ^ a
            if not a & ~s and a in found and b in found:
                join = Join(JoinKind.INNER, region.across(a, b))
                props = join.derive_props([Leaf(0, graph.props).props, Leaf(1, graph.props).props])
                found[s] = estimator.estimate(join, props, [found[a], found[b]])
                assert found[s].rows == rows
                compared += 1
    assert compared >= n


@pytest.mark.parametrize("name", LOOKED_UP)
def test_every_search_finds_the_same_optimum(name: str) -> None:
    query = graph_query("cycle", 6, 2)
    costs = set()
    for changes in ({}, {"pruning": "none"}, {"enumeration": "rules"}, {"driver": "iterative"}, {"exploration": "on_demand"}):
        search = new_search(query, Settings.from_mapping(dict(changes)))
        search.memo.figures.estimator = LOOKED_UP[name](query, 1)(query.catalog, query.columns)  # type: ignore[attr-defined]
        costs.add(round(search.run(query.tree, query.order).best_cost, 6))
    assert len(costs) == 1


# -- true rows in plans -------------------------------------------------------------------------------------------------------


def assert_true(session: Session, sql: str) -> None:
    """Every operator that was run to its end has the rows it was thought to have."""
    explained = session.explain(sql, analyze=True)
    assert explained.actual is not None
    checked = 0
    stack = [explained.plan.root]
    while stack:
        node = stack.pop()
        actual = explained.actual.get(node.id)  # None: an empty input made it unnecessary
        if actual is not None and not actual.fewer:  # by a filter that a join above made at run time
            assert node.rows == actual.rows, f"{node.op.name} of\n{explained}"
            checked += 1
        stack += node.inputs if not isinstance(node.op, LimitRows) else ()  # which stops what is below it
    assert checked


PICKED = (3, 5, 7, 9, 10, 13, 16, 18, 21)


@pytest.mark.parametrize("number", quick_and_slow(PICKED, (n for n in range(1, 23) if n not in PICKED)))
def test_plans_of_tpch(tpch: Catalog, number: int) -> None:
    """In 17 a count takes seconds: eager aggregation groups the pairs of two tables that only an inequality links."""
    assert_true(Session(tpch, {"estimator": "true"}), resolve_sql(f"tpch/q{number:02}"))


VARIANTS = ({}, {}, {"prepass": False}, {"enumeration": "rules"}, {"decorrelate": "none"}, {"driver": "iterative"})


@pytest.mark.parametrize(("number", "count"), quick_and_slow([(0, 15)], [(100 + part, 300) for part in range(5)]))
def test_plans_of_random_queries(tmp_path: Path, number: int, count: int) -> None:
    catalogs: dict[int, Catalog] = {}

    def true(query: Query, index: int, variant: dict[str, object]) -> None:
        if index not in catalogs:
            catalogs[index] = open_dataset(dataset(tmp_path, index).folder)
        try:
            assert_true(Session(catalogs[index], {"estimator": "true", **variant}), query.sql)
        except SqlError:
            reject()  # DuckDB refuses it too, which test_random_queries looks at

    statements = st.booleans().flatmap(lambda joins: join_queries() if joins else queries())
    try_examples(true, number, count, statements, st.integers(0, POOL - 1), st.sampled_from(VARIANTS))


# -- counts are kept ----------------------------------------------------------------------------------------------------------

SQL = "select count(*) from nation join region on n_regionkey = r_regionkey where n_name < 'K'"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[of_catalog.RowCounter]:
    """The counters of the sessions opened from here on."""
    made = []
    make = of_catalog.row_counter
    monkeypatch.setattr(of_catalog, "row_counter", lambda catalog: made.append(make(catalog)) or made[-1])
    return made


def test_a_second_session_counts_nothing(tpch: Catalog, counted: list, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))  # where nobody has counted yet
    plans = [Session(tpch, {"estimator": "true"}).optimize(sql).plan for sql in (SQL, SQL.replace("n_name", "nation.n_name"))]
    assert counted[0].counted > 0
    assert counted[1].counted == 0
    assert plans[0].cost == plans[1].cost


def test_other_data_is_counted_again(tpch: Catalog, tmp_path: Path, counted: list) -> None:
    """A copy with the same rows too: what has been written since is not taken for what was counted."""
    for name in ("nation", "region"):
        shutil.copy(tpch.tables[name].files[0], tmp_path / f"{name}.parquet")
    versions = set()
    for _ in range(2):
        catalog = open_dataset(tmp_path)
        versions.add(of_catalog.data_version(catalog))
        Session(catalog, {"estimator": "true"}).optimize(SQL)
        (tmp_path / "nation.parquet").write_bytes(tpch.tables["nation"].files[0].read_bytes())
    assert len(versions) == 2
    assert counted[0].counted == counted[1].counted > 0
