"""STATS and the workloads whose sub-plans have been counted: data, queries and counts fit together."""

import csv
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from executor.session import Session
from experiments.stored_rows import open_source
from experiments.workloads.data import dataset_folder, open_data
from experiments.workloads.described import with_described_tables
from experiments.workloads.queries import built_in_queries, default_data, resolve_sql
from experiments.workloads.true_cardinalities import WORKLOADS, true_cardinalities
from optimizer.catalog.table import Catalog
from optimizer.errors import CatalogError, SqlError
from optimizer.sql.schema import parse_schema
from tests.conftest import quick_and_slow

FOLDER = Path(__file__).parent.parent.parent.parent / "experiments" / "workloads"
SHARED = FOLDER.parent.parent.parent / "shared" / "workloads"
ROWS = {
    "badges": 79_851, "comments": 174_305, "postHistory": 303_187, "postLinks": 11_102,
    "posts": 91_976, "tags": 1_032, "users": 40_325, "votes": 328_064,
}  # fmt: skip
WITHOUT_ROWS = ("comments", "postHistory")
RUNNABLE = (
    "001", "006", "017", "019", "021", "022", "023", "024", "028", "029", "030", "031", "040", "041", "056", "057", "093", "094",
    "102", "103", "138",
)  # fmt: skip


@pytest.fixture(scope="module")
def stats() -> Catalog:
    return open_data("stats")


def test_tables(stats: Catalog) -> None:
    assert {table.name: table.stats.rows for table in stats.tables.values()} == ROWS
    assert {table.name for table in stats.tables.values() if not table.files} == set(WITHOUT_ROWS)
    assert not stats.statistics_only
    assert all(table.keys == (("Id",),) for table in stats.tables.values())
    assert open_data("stats").digest == stats.digest
    assert sum(len(table.foreign_keys) for table in stats.tables.values()) == 12


def test_declared_keys_hold_of_the_rows(stats: Catalog) -> None:
    ids = {name: open_source(t).to_table(columns=["Id"])["Id"] for name, t in stats.tables.items() if t.files}
    for name, values in ids.items():
        assert len(values.unique()) == ROWS[name] and not values.null_count
    for name in ids:
        for key in stats.tables[name].foreign_keys:
            values = open_source(stats.tables[name]).to_table(columns=list(key.columns)).column(0).drop_null()
            assert key.referenced == ("Id",) and pc.all(pc.is_in(values, value_set=ids[key.table].combine_chunks())).as_py()


def test_the_rows_are_those_that_were_handed_over(stats: Catalog) -> None:
    given = SHARED / "stats_ceb" / "data"
    if not given.is_dir():
        assert stats.tables["votes"].files
        return
    for name, table in stats.tables.items():
        if table.files:
            assert pq.read_table(table.files[0]).equals(pq.read_table(given / f"{name}.parquet")), name


def test_files_stay_small() -> None:
    sizes = {path: path.stat().st_size for name in WORKLOADS for path in (FOLDER / name).rglob("*") if path.is_file()}
    assert max(sizes.values()) < 1_000_000 and sum(sizes.values()) < 3_000_000
    for name in WORKLOADS:
        assert "licence" in (FOLDER / name / "SOURCE.md").read_text("utf-8")
    assert "Attribution-ShareAlike 3.0" in (dataset_folder("stats") / "SOURCE.md").read_text("utf-8")


@pytest.mark.few(3)
@pytest.mark.parametrize(("workload", "queries", "sets"), [("stats", 146, 3_209), ("job_m", 113, 9_472), ("job_light", 70, 950)])
def test_queries_and_counts(workload: str, queries: int, sets: int) -> None:
    named = [query.name for query in built_in_queries() if query.name.startswith(f"{workload}/")]
    counted = true_cardinalities(workload)
    assert len(named) == queries and set(counted) == set(named)
    assert sum(map(len, counted.values())) == sets
    assert {default_data(name) for name in named} == {"stats" if workload == "stats" else "job"}
    for query, by_aliases in counted.items():
        everything = frozenset().union(*by_aliases)
        assert everything in by_aliases, query
        assert all(f" {alias}".lower() in resolve_sql(query).lower() for alias in everything)


def test_unknown_workload() -> None:
    with pytest.raises(SqlError, match="no true cardinalities are known"):
        true_cardinalities("tpch")


@pytest.mark.parametrize("number", quick_and_slow(RUNNABLE[:4], RUNNABLE[4:]))
def test_queries_give_the_counts(stats: Catalog, number: str) -> None:
    counted = true_cardinalities("stats")[f"stats/{number}"]
    found = Session(stats).sql(resolve_sql(f"stats/{number}")).table
    assert found.column(0).to_pylist() == [counted[max(counted, key=len)]]


def test_titles_say_what_can_run() -> None:
    with (FOLDER / "stats" / "index.csv").open(encoding="utf-8", newline="") as file:
        runnable = [row["query"] for row in csv.DictReader(file) if "not to run" not in row["title"]]
    assert tuple(runnable) == RUNNABLE


def test_tables_without_rows_are_planned_not_run(stats: Catalog) -> None:
    session = Session(stats)
    assert session.explain("select count(*) from comments c, posts p where c.PostId = p.Id and p.Score > 3").plan is not None
    with pytest.raises(CatalogError, match='table "comments" has statistics only'):
        session.sql("select count(*) from comments")


def test_counts_beside_the_rows_must_fit(stats: Catalog) -> None:
    declared = parse_schema("create table comments (id integer primary key)", Path("more.sql"))
    with pytest.raises(CatalogError, match="is there already"):
        with_described_tables(stats, declared, {"comments": {"rows": 1}})
    declared = parse_schema("create table extra (u integer references users (Id))", Path("more.sql"))
    more = with_described_tables(stats, declared, {"extra": {"rows": 5}})
    assert more.tables["extra"].foreign_keys[0].table == "users" and more.tables["extra"].stats.rows == 5
    assert more.digest != stats.digest
    with pytest.raises(CatalogError, match="no row count"):
        with_described_tables(stats, declared, {})
