"""The Join Order Benchmark: every query can be planned, and its statistics say what their source says."""

from pathlib import Path

import pytest

from experiments.workloads.data import open_data
from experiments.workloads.queries import built_in_queries, default_data, resolve_sql
from optimizer.algebra import Join, Scan, Tree, postorder
from optimizer.catalog.table import Catalog
from optimizer.prepass.hep import run_program
from optimizer.prepass.program import PROGRAM
from optimizer.rules.interface import RuleContext
from optimizer.settings import DEFAULTS
from optimizer.sql.bind import bind
from optimizer.stages import required_only

FOLDER = Path(__file__).parent.parent.parent.parent / "experiments" / "workloads" / "job"
QUERIES = [query for query in built_in_queries() if query.name.startswith("job/")]


@pytest.fixture(scope="module")
def job() -> Catalog:
    return open_data("job")


def test_all_113_queries_are_there_and_little_bulk() -> None:
    assert len(QUERIES) == 113 and QUERIES[0].name == "job/1a" and QUERIES[-1].name == "job/33c"
    assert {query.name.removeprefix("job/") for query in QUERIES} == {file.stem for file in FOLDER.glob("[0-9]*.sql")}
    assert all(default_data(query.name) == "job" for query in QUERIES)
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 400_000


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_every_query_goes_through_the_pre_pass(query, job: Catalog) -> None:
    """As many scans as its title says relations; afterwards every join has a predicate and every filter is in a scan.

    With the declared foreign keys, relations that only repeat a key would go.
    """
    bound = bind(resolve_sql(query.name), job)
    before = [node for node in postorder(bound.tree) if isinstance(node, Tree)]
    settings = DEFAULTS.replace(disable=["foreign_key_join_remove"])
    rewritten = run_program(PROGRAM, required_only(bound, bound.tree), RuleContext(bound.columns, settings))
    after = [node for node in postorder(rewritten.tree) if isinstance(node, Tree)]
    relations = int(query.title.split()[0])
    for trees in (before, after):
        assert sum(isinstance(tree.op, Scan) for tree in trees) == relations
    assert rewritten.converged
    assert {tree.op.name for tree in after} == {"scan", "join", "aggregate"}
    assert all(tree.op.predicate for tree in after if isinstance(tree.op, Join))
    for tree in (*before, *after):
        assert tree.columns == tree.props.columns


def test_tables_have_the_published_rows_and_keys(job: Catalog) -> None:
    assert len(job.tables) == 21 and job.statistics_only
    assert sum(table.stats.rows for table in job.tables.values()) == 74_190_187
    for table in job.tables.values():
        assert table.keys == (("id",),)
        assert table.stats.columns["id"].ndv == table.stats.rows
        assert table.files == () and table.stats.bytes == 0


def test_figures_do_not_contradict_each_other(job: Catalog) -> None:
    for table in job.tables.values():
        for column in table.columns:
            stats, rows = table.stats.columns[column.name], table.stats.rows
            assert stats.nulls is not None and 0 <= stats.nulls <= rows
            assert column.nullable or stats.nulls == 0
            assert stats.ndv is not None and stats.ndv <= rows - stats.nulls
            shares = [share for _, share in stats.mcv]
            assert sum(shares) <= 1 - stats.nulls / rows + 0.001 and shares == sorted(shares, reverse=True)
            assert all(stats.min <= value <= stats.max for value, _ in stats.mcv)


def test_foreign_keys_stay_within_the_keys_they_name(job: Catalog) -> None:
    found = [(table, key) for table in job.tables.values() for key in table.foreign_keys]
    assert len(found) == 14
    for table, key in found:
        target = job.table(key.table)
        assert target is not None and (key.referenced,) == target.keys
        stats, referenced = table.stats.columns[key.columns[0]], target.stats.columns["id"]
        assert referenced.min <= stats.min and stats.max <= referenced.max and stats.ndv <= referenced.ndv, (table.name, key)


@pytest.mark.parametrize(
    ("table", "column", "expected"),
    [
        ("title", "kind_id", (0, 1, 7, 6.0, ((7, 0.6), (1, 0.25)))),  # the largest of the source is a misread row
        ("title", "production_year", (72_095, 1880, 2019, 132.0, ())),  # NULL is no value
        ("name", "gender", (1_466_357, None, None, 2.0, ())),
        ("movie_info_idx", "note", (1_380_035, None, None, 0.0, ())),  # nothing but NULL
        ("cast_info", "role_id", (0, 1, 11, 11.0, ((1, 0.35), (2, 0.2)))),
        ("keyword", "keyword", (0, None, None, 36_629.0, ())),  # more than 10,000: (10,000 · 134,170)^½
        ("title", "title", (0, None, None, 159_007.0, ())),  # declared NOT NULL: two titles look like NULL to the source
    ],
)
def test_some_figures(job: Catalog, table: str, column: str, expected: tuple) -> None:
    stored = job.table(table)
    assert stored is not None
    stats = stored.stats.columns[column]
    assert (stats.nulls, stats.min, stats.max, stats.ndv, stats.mcv) == expected
