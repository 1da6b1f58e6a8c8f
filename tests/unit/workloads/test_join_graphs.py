"""Join graphs by name: the shapes, their queries, and the figures behind them."""

from math import inf

import pytest

from experiments.workloads.data import open_data
from experiments.workloads.join_graphs import FAMILIES, JoinGraph, graph_of_table, join_graph
from experiments.workloads.joingraph_data import JoinGraphCatalog, graph_tables
from experiments.workloads.queries import default_data, resolve_sql
from optimizer.algebra import Scan, Tree, postorder
from optimizer.errors import SqlError
from optimizer.prepass.hep import run_program
from optimizer.prepass.program import PROGRAM
from optimizer.rules.interface import RuleContext
from optimizer.settings import DEFAULTS
from optimizer.sql.bind import bind
from optimizer.stages import required_only
from optimizer.stats.estimator import Estimator

NAMES = ("chain/2", "chain/9", "star/2", "star/8", "cycle/2", "cycle/3", "cycle/8", "clique/2", "clique/7", "grid/1x5")
MORE = ("steinbrunn_star/8/1", "steinbrunn_random/9/2/3", "grid/3x4", "random/2/1", "random/9/1", "random/9/2", "random/30/7")


@pytest.mark.parametrize(
    ("name", "relations", "edges"),
    [
        ("chain/9", 9, 8), ("star/9", 9, 8), ("cycle/9", 9, 9), ("cycle/2", 2, 1), ("clique/9", 9, 36), ("grid/3x4", 12, 17),
        ("random/9/4", 9, 12), ("random/3/4", 3, 3),
    ],
)  # fmt: skip
def test_relations_and_edges(name: str, relations: int, edges: int) -> None:
    graph = join_graph(name)
    assert (graph.name, graph.relations, len(graph.edges)) == (name, relations, edges)


@pytest.mark.parametrize("name", NAMES + MORE)
def test_every_graph_is_connected_and_simple(name: str) -> None:
    graph = join_graph(name)
    assert all(0 <= low < high < graph.relations for low, high in graph.edges)
    assert sorted(set(graph.edges)) == list(graph.edges)
    reached = {0}
    for _ in graph.edges:
        reached |= {other for edge in graph.edges if reached & set(edge) for other in edge}
    assert len(reached) == graph.relations


@pytest.mark.parametrize("name", NAMES + MORE)
def test_queries_bind_with_a_column_pair_for_every_edge(name: str) -> None:
    catalog, graph = open_data("joingraph"), join_graph(name)
    bound = bind(resolve_sql(name), catalog)
    scans = [node.op for node in postorder(bound.tree) if isinstance(node, Tree) and isinstance(node.op, Scan)]
    assert len(scans) == graph.relations
    assert len(bound.columns) == 2 * len(graph.edges) + 1  # and the count
    assert default_data(name) == catalog.name


@pytest.mark.parametrize("name", NAMES + MORE)
def test_figures_fit_together(name: str) -> None:
    graph = join_graph(name)
    tables = graph_tables(graph)
    for number, table in enumerate(tables):
        assert table.name == graph.table(number) and table.stats.rows >= 1 and not table.files
        for column in table.columns:
            stats = table.stats.columns[column.name]
            assert stats.ndv is not None and 1 <= stats.ndv <= table.stats.rows and stats.ndv <= stats.max
        assert all(table.stats.columns[key].ndv == table.stats.rows for (key,) in table.keys)
        assert not table.foreign_keys


def test_there_are_keys_and_plain_counts() -> None:
    tables = [table for name in ("chain/20", "star/20", "cycle/20") for table in graph_tables(join_graph(name))]
    columns = sum(len(table.columns) for table in tables)
    keys = sum(len(table.keys) for table in tables)
    assert 0.2 * columns < keys < 0.5 * columns


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ["chain/100", "star/100", "cycle/100", "clique/40", "grid/8x12", "random/100/3"])
def test_estimates_of_large_graphs_stay_in_range(name: str) -> None:
    """From the scans up to the whole join, in the order of the text: no overflow, no nought."""
    catalog = open_data("joingraph")
    bound = bind(resolve_sql(name), catalog)
    tree = run_program(PROGRAM, required_only(bound, bound.tree), RuleContext(bound.columns, DEFAULTS)).tree
    estimator = Estimator(catalog, bound.columns)
    stats = {}
    for node in postorder(tree):
        assert isinstance(node, Tree)
        stats[id(node)] = estimator.estimate(node.op, node.props, [stats[id(below)] for below in node.inputs])
        assert 0 < stats[id(node)].rows < inf


def test_the_same_in_every_process_and_release() -> None:
    """Numbers to compare with published ones: a change of the generator has to be meant."""
    assert open_data("joingraph").digest == open_data("joingraph").digest
    (hub, *others) = graph_tables(join_graph("star/4"))
    assert [table.stats.rows for table in (hub, *others)] == [6_900_000, 18_000, 22_000, 180_000]


def test_tables_are_found_by_name_in_any_case() -> None:
    catalog = JoinGraphCatalog()
    assert catalog.statistics_only and "chain_4_r0" in catalog.tables and "chain_5_r0" not in catalog.tables
    table = catalog.table("Grid_3x4_R11")
    assert table is not None and table.name == "grid_3x4_r11" and [c.name for c in table.columns] == ["to7", "to10"]
    assert catalog.table("grid_3x4_r11") is table
    for name in (
        "grid_3x4_r12", "chain_1_r0", "chain_04_r0", "chain_4_r00", "clique_201_r0", "lineitem", "chain_4", "grid_34_r0",
    ):  # fmt: skip
        assert catalog.table(name) is None, name
    assert graph_of_table("random_9_2_r8") == join_graph("random/9/2")


def test_names_have_a_normal_form() -> None:
    assert join_graph("CLIQUE/08") == join_graph("clique/8") == JoinGraph("clique/8", 8, join_graph("clique/8").edges)
    assert resolve_sql("Chain/2").splitlines()[-1] == "WHERE r0.to1 = r1.to0;"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("clique/1", '"clique/1" has 1 relation; clique/N can have 2 to 200'), ("clique/201", "can have 2 to 200"),
        ("chain/301", "can have 2 to 300"), ("chain/99999", "write chain/N"), ("star/", "write star/N: a hub"),
        ("star/x", "write star/N: a hub"), ("star/-3", "write star/N: a hub"), ("grid/4", "write grid/RxC"),
        ("grid/0x4", "has 0 relations"), ("random/4", "write random/N/SEED"), ("chain/4/4", "write chain/N"),
        ("steinbrunn_chain/4", "write steinbrunn_SHAPE/N/SEED"), ("steinbrunn_grid/9x9/1", "can have 2 to 60"),
    ],
)  # fmt: skip
def test_what_is_wrong(name: str, message: str) -> None:
    with pytest.raises(SqlError) as error:
        resolve_sql(name)
    assert message in str(error.value)


def test_tables_by_steinbrunn_have_the_published_shares() -> None:
    """Of rows 15, 30, 35 and 20 percent in the four decades; of domains 5, 50, 30 and 15 percent; each seed has its own."""
    tables = [table for seed in range(60) for table in graph_tables(join_graph(f"steinbrunn_cycle/20/{seed}"))]
    rows = [table.stats.rows for table in tables]
    shares = [
        sum(low < count <= high for count in rows) / len(rows) for low, high in ((9, 100), (100, 1e3), (1e3, 1e4), (1e4, 1e5))
    ]
    assert sum(shares) == 1 and shares == pytest.approx([0.15, 0.30, 0.35, 0.20], abs=0.03)
    values = [column.ndv for table in tables if table.stats.rows >= 1000 for column in table.stats.columns.values()]
    shares = [
        sum(low < count <= high for count in values) / len(values) for low, high in ((1, 10), (10, 100), (100, 500), (500, 1e3))
    ]
    assert sum(shares) == 1 and shares == pytest.approx([0.05, 0.50, 0.30, 0.15], abs=0.03)
    assert all(column.ndv <= table.stats.rows for table in tables for column in table.stats.columns.values())
    assert graph_of_table("steinbrunn_random_9_2_3_r8") == join_graph("Steinbrunn_random/9/2/03")


def test_every_family_is_listed() -> None:
    assert {family.partition("/")[0] for family in FAMILIES} == {
        "chain", "star", "cycle", "clique", "grid", "random", "snowflake", "steinbrunn_SHAPE",
    }  # fmt: skip
