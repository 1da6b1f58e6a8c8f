"""Datasets made by Spark tasks: what is in them, that they are whole or not there, and that nothing is made twice.

At the end at size: TPC-H and TPC-DS at scale factor 1, a disk that fills up.
"""

import errno
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from experiments.cli import main
from experiments.pipeline.generate import generate as generate_module
from experiments.pipeline.generate import tpch as tpch_module
from experiments.pipeline.generate.generate import generate
from experiments.pipeline.generate.kinds import recipe
from experiments.pipeline.generate.parts import make_part
from experiments.pipeline.generate.recipe import parts_of
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.make import Dataset
from experiments.pipeline.spark.manifest import read_manifest
from experiments.pipeline.spark.session import unheard
from experiments.workloads.data import open_data
from experiments.workloads.join_graphs import join_graph
from experiments.workloads.joingraph_data import graph_tables
from experiments.workloads.joingraph_rows import column_values
from experiments.workloads.permutation import permuted
from optimizer.algebra.types import is_opaque
from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError, OutputError
from tests.conftest import duckdb_over
from tests.pipeline.conftest import lay, no_spark

TINY = Decimal("0.001")


def files_of(folder: Path) -> dict[str, int]:
    """Data files by path, with the time each was written."""
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in sorted(folder.rglob("*.parquet"))}


@pytest.fixture(scope="module")
def split(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """TPC-H at 0.001 in two files a table: fourteen runs of tpchgen-cli, of a second each, in Spark's tasks."""
    return generate(recipe("tpch", TINY, 2), tmp_path_factory.mktemp("split") / "data", lambda: spark, unheard)


def check_keys(catalog: Catalog, connection: duckdb.DuckDBPyConnection) -> int:
    """Every declared key is unique and every foreign key finds its row; how many foreign keys there are."""
    foreign = 0
    for table in catalog.tables.values():
        for key in table.keys:
            columns = ", ".join(key)
            assert connection.sql(f"select 1 from {table.name} group by {columns} having count(*) > 1 limit 1").fetchall() == []
            nulls = " or ".join(f"{column} is null" for column in key)
            assert connection.sql(f"select 1 from {table.name} where {nulls} limit 1").fetchall() == []
        for link in table.foreign_keys:
            foreign += 1
            on = " and ".join(f"a.{here} = b.{there}" for here, there in zip(link.columns, link.referenced, strict=True))
            there = " and ".join(f"a.{here} is not null" for here in link.columns)
            orphans = f"select 1 from {table.name} a where {there} and not exists (from {link.table} b where {on}) limit 1"
            assert connection.sql(orphans).fetchall() == [], (table.name, link)
    return foreign


def check_orders(catalog: Catalog, connection: duckdb.DuckDBPyConnection) -> None:
    """The rows come in every order that the catalog claims."""
    for table in catalog.tables.values():
        if table.order:
            rows = ds.dataset([str(file) for file in table.files]).to_table(columns=list(table.order)).to_pylist()
            found = [tuple(row.values()) for row in rows]
            assert found == sorted(found), table.name


@pytest.mark.slow
def test_tpch_in_files_of_a_table_or_of_a_part(split: Dataset, tmp_path: Path) -> None:
    """Of all tables in one run of tpchgen-cli, and of one table as a task makes it, the rows are those of many parts."""
    one, several = open_data("tpch:0.001"), open_dataset(Path(split.place))
    assert split.counts["rows"] == {name: table.stats.rows for name, table in one.tables.items()}
    assert split.counts["rows"]["orders"] == 1500 and split.counts["rows"]["region"] == 5
    make_part(part(tmp_path, "tpch", "orders"))
    assert pq.read_table(tmp_path / "orders.parquet").equals(pq.read_table(one.tables["orders"].files[0]))
    assert [file.name for file in several.tables["orders"].files] == [f"part-0000{i}.parquet" for i in range(2)]
    assert [file.name for file in several.tables["nation"].files] == ["nation.parquet"]
    for name, table in one.tables.items():
        tables = [ds.dataset([str(file) for file in t.files]).to_table() for t in (table, several.tables[name])]
        assert tables[0].equals(tables[1]), name
        assert table.order == several.tables[name].order != ()
    check_orders(several, duckdb_over(several))
    assert check_keys(several, duckdb_over(several)) == 9
    partsupp = several.tables["partsupp"]  # has no key at this scale, so none is declared
    assert (partsupp.keys, partsupp.order) == ((), ("ps_partkey",))
    assert all(key.table != "partsupp" for key in several.tables["lineitem"].foreign_keys)


@pytest.mark.slow
def test_the_manifest_says_what_was_made_and_that_is_left_alone(split: Dataset) -> None:
    manifest = read_manifest(Path(split.place), "generate")
    assert manifest is not None
    assert manifest["settings"] == {"kind": "tpch", "scale": "0.001", "parts": 2}
    assert manifest["counts"]["rows"] == split.counts["rows"]
    assert set(manifest["counts"]["seconds"]) == {"session", "generate"}
    assert set(manifest["files"]) == {*files_of(Path(split.place)), "schema.sql"}
    assert not (Path(split.place) / "_planscope" / "unfinished").exists()
    before = files_of(Path(split.place))
    again = generate(recipe("tpch", TINY, 2), Path(split.place), no_spark, unheard)
    assert not again.made
    assert again.counts["rows"] == split.counts["rows"] and again.counts["seconds"] == split.counts["seconds"]
    assert files_of(Path(split.place)) == before


@pytest.mark.slow
def test_another_dataset_is_not_overwritten(split: Dataset, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"holds tpch at scale 0\.001 \(parts 2\), not tpch at scale 0\.002"):
        generate(recipe("tpch", Decimal("0.002")), Path(split.place), no_spark, unheard)
    (tmp_path / "letter.txt").write_text("dear reader")
    with pytest.raises(OutputError, match=r"is not empty \(it holds letter\.txt\)"):
        generate(recipe("tpch", TINY), tmp_path, no_spark, unheard)
    with pytest.raises(OutputError, match="is a file"):
        generate(recipe("tpch", TINY), tmp_path / "letter.txt", no_spark, unheard)


@pytest.mark.slow
def test_files_lost_later_are_noticed(split: Dataset, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(split.place, tmp_path / "copy"))
    (copy / "orders" / "part-00001.parquet").unlink()
    with pytest.raises(OutputError, match="missing or were changed"):
        generate(recipe("tpch", TINY, 2), copy, no_spark, unheard)


def leave_unfinished(split: Dataset, folder: Path) -> Path:
    """`folder` as a kill leaves it: some parts, one that is cut off, and the scraps of a task."""
    inside = Path(shutil.copytree(split.place, folder / "_planscope" / "unfinished"))
    for name in ("schema.sql", "_planscope/order.json", "_planscope/manifests/generate.json"):
        (inside / name).unlink()
    (inside / "orders" / "part-00001.parquet").unlink()
    damaged = inside / "lineitem" / "part-00000.parquet"
    damaged.write_bytes(damaged.read_bytes()[:5000])
    settings = {"inputs": {}, "settings": {"kind": "tpch", "scale": "0.001", "parts": 2}}
    content = {"version": 1, "what": "tpch at scale 0.001", "settings": settings, "resume": "planscope data generate tpch ..."}
    return lay(inside, {".task-x/customer.parquet": "half", "request.json": json.dumps(content)})


@pytest.mark.slow
def test_an_interrupted_generation_makes_what_is_missing_and_no_more(spark: SparkSession, split: Dataset, tmp_path: Path) -> None:
    inside = leave_unfinished(split, tmp_path / "data")
    before = files_of(inside)
    with pytest.raises(CatalogError, match=r"(?s)unfinished tpch at scale 0\.001.*go on with it: planscope data generate tpch"):
        open_dataset(tmp_path / "data")
    with pytest.raises(OutputError, match=r"unfinished tpch at scale 0\.001, not tpch at scale 0\.002"):
        generate(recipe("tpch", Decimal("0.002")), tmp_path / "data", no_spark, unheard)
    lines: list[str] = []
    made = generate(recipe("tpch", TINY, 2), tmp_path / "data", lambda: spark, lines.append)
    assert made.made and made.counts["rows"] == split.counts["rows"]
    assert "tpch:0.001: 13 of 14 files are there already" in lines
    after = files_of(tmp_path / "data")
    changed = {name for name, time in after.items() if before.get(name) != time}
    assert changed == {"orders/part-00001.parquet", "lineitem/part-00000.parquet"}
    assert not (tmp_path / "data" / "_planscope" / "unfinished").exists()
    for name in after:
        assert (tmp_path / "data" / name).read_bytes() == (Path(split.place) / name).read_bytes()


@pytest.mark.slow
def test_a_task_that_fails_leaves_the_rest_to_go_on_with(spark: SparkSession, split: Dataset, tmp_path: Path) -> None:
    inside = leave_unfinished(split, tmp_path / "data")
    blocked = inside / "orders" / "part-00001.parquet"
    blocked.mkdir()  # the task cannot put its file there
    with pytest.raises(PipelineError, match=r"orders/part-00001\.parquet"):
        generate(recipe("tpch", TINY, 2), tmp_path / "data", lambda: spark, unheard)
    assert (inside / "part" / "part-00000.parquet").exists()
    with pytest.raises(CatalogError, match=r"(?s)unfinished tpch at scale 0\.001.*generate tpch --scale 0\.001 --parts 2"):
        open_dataset(tmp_path / "data")
    blocked.rmdir()
    assert generate(recipe("tpch", TINY, 2), tmp_path / "data", lambda: spark, unheard).counts["rows"] == split.counts["rows"]


def part(folder: Path, kind: str, table: str) -> dict[str, Any]:
    """A Spark task that makes one table."""
    made = {"folder": str(folder), "scale": "0.001", "module": recipe(kind, TINY).module, "path": f"{table}.parquet"}
    return {**made, "table": table, "number": 0, "of": 1, "rows": 5}


@pytest.mark.parametrize(
    ("script", "error", "message"),
    [
        ("echo no luck >&2; exit 3", CatalogError, r"tpchgen-cli could not make orders\.parquet of tpch:0\.001: no luck"),
        ("exit 3", CatalogError, r"could not make orders\.parquet of tpch:0\.001: exit code 3"),
        ("exit 0", CatalogError, r"could not make orders\.parquet of tpch:0\.001: exit code 0"),
        ("echo 'Error: No space left on device (os error 28)' >&2; exit 1", OutputError, r"no space left for orders\.parquet"),
    ],
)
def test_a_generator_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, error: type[Exception], message: str
) -> None:
    program = tmp_path / "tpchgen-cli"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(tpch_module, "generator", lambda: str(program))
    with pytest.raises(error, match=message):
        make_part(part(tmp_path, "tpch", "orders"))
    with pytest.raises(error, match=message.replace(r"orders\.parquet", "the tables")):
        tpch_module.make_tables(tmp_path, "0.001")
    assert [path.name for path in tmp_path.iterdir()] == ["tpchgen-cli"], "nothing half-written remains"


def test_no_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tpch_module.shutil, "which", lambda *_, **__: None)
    with pytest.raises(CatalogError, match="not installed: pip install tpchgen-cli"):
        make_part(part(tmp_path, "tpch", "orders"))


def test_a_disk_that_fills_up_while_a_part_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_batch", full)
    with pytest.raises(OutputError, match=r"no space left for chain_4_r0\.parquet"):
        make_part(part(tmp_path, "joingraph", "chain_4_r0"))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_too_small_from_the_start(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"tpch:100000 needs about 36,\d{3},\d{3}\.0 MB, but .* left\nchoose a smaller scale"):
        generate(recipe("tpch", Decimal(100_000)), tmp_path / "data", no_spark, unheard)
    assert list(tmp_path.iterdir()) == []


def test_parts_follow_sizes_and_never_outnumber_rows() -> None:
    assert [part.path for part in parts_of("t", 1e6, 1e6, None)] == ["t.parquet"]
    assert len(parts_of("t", 1e9, 128e9, None)) == 1000
    assert len(parts_of("t", 3, 10, 8)) == 3
    assert len(parts_of("t", 1e12, 1e15, None)) == 99_999, "names with five digits"


@pytest.mark.parametrize("name", ["clique/6", "star/5", "chain/5", "random/8/3"])
@pytest.mark.parametrize("scale", [0.0001, 0.003, 0.02])
def test_columns_of_join_graphs_are_as_their_statistics_say(name: str, scale: float) -> None:
    for table in graph_tables(join_graph(name), scale):
        numbers = np.arange(table.stats.rows, dtype=np.uint64)
        for column, stats in table.stats.columns.items():
            values = column_values(table, column, numbers)
            found, counts = np.unique(values, return_counts=True)
            assert len(found) == stats.ndv
            assert (found[0], found[-1]) == (1, stats.max if stats.ndv > 1 else 1)
            assert counts.max() - counts.min() <= 1, "each value equally often"


def test_permutations() -> None:
    for size in [*range(1, 40), 1000, 4097]:
        numbers = np.arange(size, dtype=np.uint64)
        assert sorted(permuted(numbers, size, "a")) == list(range(size))
    assert list(permuted(np.array([7], np.uint64), 1000, "a")) == [permuted(np.arange(1000, dtype=np.uint64), 1000, "a")[7]]


def test_rows_of_join_graphs(spark: SparkSession, tmp_path: Path) -> None:
    """In parts by Spark and, as they are few, at once without it."""
    wanted = recipe("joingraph", Decimal("0.001"), 2, ["cycle/5"])
    made = generate(wanted, tmp_path / "data", lambda: spark, unheard)
    catalog = open_dataset(Path(made.place))
    expected = {table.name: table for table in graph_tables(join_graph("cycle/5"), 0.001)}
    assert set(catalog.tables) == set(expected)
    connection = duckdb_over(catalog)
    assert check_keys(catalog, connection) == 0
    for name, table in catalog.tables.items():
        assert table.stats.rows == expected[name].stats.rows
        assert table.keys == expected[name].keys
        for column, stats in expected[name].stats.columns.items():
            assert connection.sql(f"select count(distinct {column}) from {name}").fetchone() == (stats.ndv,)
    at_once = generate(recipe("joingraph", Decimal("0.001"), None, ["cycle/5"]), tmp_path / "again", no_spark, unheard)
    assert "session" not in at_once.counts["seconds"]
    for name, table in open_dataset(Path(at_once.place)).tables.items():
        rows = [ds.dataset([str(file) for file in files]).to_table() for files in (table.files, catalog.tables[name].files)]
        assert rows[0].equals(rows[1])


@pytest.mark.slow
def test_tpcds(spark: SparkSession, tmp_path: Path, dsdgen: duckdb.DuckDBPyConnection) -> None:
    made = generate(recipe("tpcds", Decimal("0.01"), 2), tmp_path / "data", lambda: spark, unheard)
    catalog = open_dataset(Path(made.place))
    assert len(catalog.tables) == 24
    assert not any(is_opaque(column.type) for table in catalog.tables.values() for column in table.columns)
    connection = duckdb_over(catalog)
    for name, table in catalog.tables.items():
        assert dsdgen.sql(f"select count(*) from {name}").fetchone() == (table.stats.rows,) == (made.counts["rows"][name],)
        if len(table.files) == 2:
            rows = ds.dataset([str(file) for file in table.files]).to_table()
            assert rows.equals(dsdgen.sql(f"select * from {name}").to_arrow_table().cast(rows.schema)), name
    assert sum(len(table.files) == 2 for table in catalog.tables.values()) == 7
    assert check_keys(catalog, connection) == 107
    assert catalog.tables["store_sales"].order == ("ss_ticket_number",)
    assert catalog.tables["inventory"].order == ("inv_date_sk", "inv_warehouse_sk", "inv_item_sk")
    check_orders(catalog, connection)
    assert not list(Path(made.place).rglob("*.duckdb")), "the database has done its work"


@pytest.fixture(scope="module")
def dsdgen() -> Iterator[duckdb.DuckDBPyConnection]:
    """TPC-DS at 0.01 straight from DuckDB."""
    from experiments.pipeline.generate.tpcds import extension

    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension()}'")
    connection.execute("CALL dsdgen(sf = 0.01)")
    yield connection
    connection.close()


def test_tpcds_without_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CatalogError, match=r"not installed: pip install 'planscope\[tpcds\]'"):
        recipe("tpcds", Decimal(1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tpch", "--scale", "x", "-o", "DIR"], '"x" is no scale factor: write --scale S'),
        (["tpch", "--scale", "1", "-o", "DIR", "--graph", "chain/3"], "--graph names join graphs, which tpch does not have"),
        (["joingraph", "--scale", "1", "-o", "DIR", "--graph", "blob/3"], 'there is no join graph "blob/3"'),
        (["joingraph", "--scale", "1000", "-o", "DIR"], "joingraph is made up to scale 100"),
        (["tpcds", "--scale", "0.001", "-o", "DIR"], "tpcds is made from scale 0.01 on, not at 0.001"),
        (["tpch", "--scale", "1", "-o", "DIR", "--parts", "0"], "0 is not in the range"),
        (["nothing", "--scale", "1", "-o", "DIR"], "'nothing' is not one of"),
    ],
)
def test_what_is_wrong(arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "data"
    assert main(["data", "generate", *(str(target) if a == "DIR" else a for a in arguments)]) == 2
    assert message in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.slow
def test_tpch_at_scale_factor_1(spark: SparkSession, tmp_path: Path) -> None:
    made = generate(recipe("tpch", Decimal(1)), tmp_path / "data", lambda: spark, unheard)
    subprocess.run(
        [tpch_module.generator(), "parquet", "-q", "-s", "1", "--num-threads", "2", "-o", str(tmp_path / "plain")], check=True
    )
    catalog, expected = open_dataset(Path(made.place)), open_dataset(tmp_path / "plain")
    assert made.counts["rows"]["lineitem"] == 6_001_215
    for name, table in catalog.tables.items():
        assert table.stats.rows == expected.tables[name].stats.rows
        assert table.order
    assert len(catalog.tables["lineitem"].files) == 2
    assert catalog.tables["lineitem"].order == ("l_orderkey", "l_linenumber")
    assert catalog.tables["partsupp"].keys == (("ps_partkey", "ps_suppkey"),)


@pytest.mark.slow
def test_tpcds_at_scale_factor_1(spark: SparkSession, tmp_path: Path) -> None:
    made = generate(recipe("tpcds", Decimal(1)), tmp_path / "data", lambda: spark, unheard)
    assert made.counts["rows"]["store_sales"] == 2_880_404
    catalog = open_dataset(Path(made.place))
    assert len(catalog.tables["store_sales"].files) == 2
    assert catalog.tables["store_sales"].order == ("ss_ticket_number",)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk; others here have the errors without one")
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tpch", "tpcds", "joingraph"])
def test_a_full_disk(spark: SparkSession, small_disk: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    wanted = recipe(kind, {"tpch": Decimal("0.1"), "tpcds": Decimal("0.05"), "joingraph": Decimal(1)}[kind])
    monkeypatch.setattr(generate_module, "check_space", lambda *_: None)  # let it run into the wall
    with pytest.raises((OutputError, PipelineError), match="no space left for"):
        generate(wanted, small_disk / "data", lambda: spark, unheard)
    left = small_disk / "data" / "_planscope" / "unfinished"
    assert not list(left.glob(".task-*")), "scraps take no space"
    if left.exists():
        with pytest.raises(CatalogError, match=f"unfinished {kind}"):
            open_dataset(small_disk / "data")
    subprocess.run(["mount", "-o", "remount,size=400m", str(small_disk)], check=True)
    made = generate(wanted, small_disk / "data", lambda: spark, unheard)
    assert sum(made.counts["rows"].values()) > 100_000
    open_dataset(small_disk / "data")
