"""planscope data analyze: figures against DuckDB's exact ones, what is read again, what contradicts a declaration, odd tables."""

import errno
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from executor.session import Session
from experiments.commands.data.analyze import command
from experiments.commands.data.show import command as show_command
from experiments.lock import hold
from experiments.pipeline.analyze import keys, pieces, scan
from experiments.pipeline.analyze.analyze import AnalyzeReport, analyze_dataset
from experiments.pipeline.sketches.hyperloglog import STANDARD_ERROR
from experiments.pipeline.spark.manifest import manifest_path, read_manifest
from experiments.workloads.data import dataset_folder, open_data
from optimizer.catalog.table import Catalog, ColumnStats
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError, OutputError, PlanscopeError
from tests.conftest import duckdb_over
from tests.pipeline.conftest import lay, no_spark

Analyze = Callable[..., AnalyzeReport]


@pytest.fixture
def in_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the data."""
    monkeypatch.setattr(scan, "SMALL", 0)
    monkeypatch.setattr(keys, "SMALL", 0)


@pytest.fixture
def analyze(request: pytest.FixtureRequest) -> Analyze:
    """By Spark where an analysis asks for it: to sketch much, or to verify keys."""
    return lambda folder, **options: analyze_dataset(folder, lambda: request.getfixturevalue("spark"), **options)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def check_against_duckdb(catalog: Catalog) -> int:
    """Figures of every column within what they promise; the number of columns."""
    exact = duckdb_over(catalog)
    columns = 0
    for table in catalog.tables.values():
        for column in table.columns:
            columns += 1
            check_column(exact, table.name, column.name, table.stats.rows, table.stats.columns[column.name])
    return columns


def check_column(exact: duckdb.DuckDBPyConnection, table: str, name: str, rows: int, stats: ColumnStats) -> None:
    c, t = quoted(name), quoted(table)

    def one(sql: str, *values: Any) -> Any:
        return exact.execute(sql, values).fetchone()[0]  # type: ignore[index]

    counts = f"select count(*) - count({c}), count(distinct {c}), min({c}), max({c}) from {t}"
    nulls, ndv, low, high = exact.execute(counts).fetchall()[0]
    most = one(f"select max(n) from (select count({c}) n from {t} group by {c})")
    assert stats.nulls == nulls and stats.ndv == pytest.approx(ndv, rel=3 * STANDARD_ERROR), name
    assert (stats.min, stats.max) == (low, high)
    assert not rows or stats.degrees[0][1] >= (most or 0)
    for value, share in stats.mcv:
        assert share * rows == pytest.approx(one(f"select count(*) from {t} where {c} = ?", value), rel=0.06), (name, value)
    if stats.histogram is not None:
        bounds = stats.histogram.bounds
        mass = 0.0
        for i in range(0, len(bounds) - 1, 9):
            mass = sum(stats.histogram.rows[:i]) + rows * sum(share for value, share in stats.mcv if value <= bounds[i])
            true = one(f"select count(*) from {t} where {c} <= ?", bounds[i])
            assert abs(mass - true) <= 2 / 100 * rows, (name, i)


@pytest.mark.slow
@pytest.mark.usefixtures("in_spark")
def test_tpch(tpch: Catalog, tmp_path: Path, analyze: Analyze) -> None:
    """All columns of all tables; then nothing is read again, and Spark is not even asked for."""
    folder = copy(tpch, tmp_path)
    report = analyze(folder)
    assert report.read == 8 and {t.name: (t.keys, t.foreign_keys) for t in report.tables}["lineitem"] == (1, 4)
    found = {t.name: t for t in report.tables}
    assert found["orders"].unique == [] and "c_name" in found["customer"].unique and "p_name" not in found["lineitem"].unique
    catalog = open_dataset(folder)
    assert check_against_duckdb(catalog) == 61
    lineitem = catalog.tables["lineitem"]
    assert lineitem.stats.analyzed.endswith("all 60,175 rows")
    assert lineitem.stats.distinct[("l_partkey", "l_suppkey")] == pytest.approx(7_900, rel=0.06)
    assert catalog.tables["orders"].stats.columns["o_orderkey"].degrees == ((15_000, 1),)
    again = analyze_dataset(folder, no_spark)
    assert again.read == 0 and [t.pieces for t in again.tables] == [1] * 8
    assert open_dataset(folder).tables["lineitem"].stats.columns == lineitem.stats.columns


def copy(catalog: Catalog, target: Path) -> Path:
    """The files of a dataset without what is known of them, apart from the order of rows."""
    folder = target / "data"
    source = next(iter(catalog.tables.values())).files[0].parent
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("statistics", "statistics.json", "sketches"))
    return folder


def write_parts(folder: Path, parts: dict[str, list[int]]) -> None:
    tables = {name: pa.table({"a": values, "b": [str(v % 7) for v in values]}) for name, values in parts.items()}
    lay(folder, {f"t/{name}.parquet": table for name, table in tables.items()})


@pytest.mark.slow
@pytest.mark.usefixtures("in_spark")
def test_small_data_need_no_spark(tmp_path: Path, analyze: Analyze, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"1": [1, 2, 3], "2": [3, 5], "3": [7]}
    write_parts(tmp_path / "here", parts)
    write_parts(tmp_path / "there", parts)
    assert analyze(tmp_path / "there").read == 3
    monkeypatch.setattr(scan, "SMALL", 1 << 20)
    assert analyze_dataset(tmp_path / "here", no_spark).read == 3
    here, there = (open_dataset(tmp_path / name).tables["t"].stats for name in ("here", "there"))
    assert here.columns == there.columns and here.analyzed


def test_only_new_and_changed_files_are_read(tmp_path: Path, analyze: Analyze) -> None:
    write_parts(tmp_path, {"1": [1, 2, 3], "2": [4, 5]})
    assert analyze(tmp_path).read == 2
    write_parts(tmp_path, {"3": [6, 6]})
    assert open_dataset(tmp_path).tables["t"].stats.analyzed == ""
    report = analyze(tmp_path)
    assert (report.read, report.tables[0].pieces) == (1, 3)
    assert open_dataset(tmp_path).tables["t"].stats.columns["a"].ndv == 6
    write_parts(tmp_path, {"1": [1, 1, 1]})
    assert analyze(tmp_path).read == 1
    stats = open_dataset(tmp_path).tables["t"].stats
    assert stats.rows == 7 and stats.columns["a"].mcv[0] == (1, 3 / 7)
    (tmp_path / "t" / "2.parquet").unlink()
    report = analyze_dataset(tmp_path, no_spark)
    assert report.read == 0 and open_dataset(tmp_path).tables["t"].stats.rows == 5
    assert len(list((tmp_path / "_planscope" / "sketches").glob("*.parquet"))) == 2


@pytest.mark.usefixtures("in_spark")
def test_sketches_are_merged_in_a_tree(tmp_path: Path, analyze: Analyze, monkeypatch: pytest.MonkeyPatch) -> None:
    """By Spark's tasks, where there are many pieces; the result is that of merging all of them here."""
    write_parts(tmp_path, {str(i): list(range(i * 700, i * 700 + 1000)) for i in range(7)})
    lay(tmp_path, {"empty.csv": "x\n", "names.csv": "x"})
    monkeypatch.setattr(scan, "FAN", 2)
    report = analyze(tmp_path, joint=[("t", ("a", "b"))])
    assert [t.read for t in report.tables] == [1, 0, 7]
    by_spark = open_dataset(tmp_path).tables["t"].stats
    assert by_spark.columns["a"].ndv == 5200 and by_spark.columns["b"].mcv[0][1] == pytest.approx(1 / 7, rel=0.01)
    manifest_path(tmp_path, "analyze").unlink()
    monkeypatch.undo()
    assert analyze_dataset(tmp_path, no_spark).read == 0
    here = open_dataset(tmp_path).tables["t"].stats
    assert (here.columns, here.distinct) == (by_spark.columns, by_spark.distinct) and here.distinct[("a", "b")] > 5000
    shutil.rmtree(tmp_path / "_planscope" / "sketches")
    again = analyze_dataset(tmp_path, no_spark)  # the manifest says that there is nothing to do
    assert [(t.rows, t.pieces, t.unique) for t in again.tables] == [(t.rows, t.pieces, t.unique) for t in report.tables]


@pytest.mark.usefixtures("in_spark")
def test_a_file_that_changes_while_it_is_analyzed(tmp_path: Path, spark: SparkSession) -> None:
    """Written anew after the files were looked at, and put back later with its old time: its figures were never those of t."""
    write_parts(tmp_path, {"1": list(range(1000))})
    file = tmp_path / "t" / "1.parquet"
    good, looked_at = file.read_bytes(), file.stat()

    def change() -> SparkSession:
        write_parts(tmp_path, {"1": [7] * 1000})
        os.utime(file, ns=(looked_at.st_atime_ns, looked_at.st_mtime_ns))
        return spark

    with pytest.raises(PlanscopeError, match=r"1\.parquet changed while it was analyzed\n.*again"):
        analyze_dataset(tmp_path, change)
    file.write_bytes(good)
    os.utime(file, ns=(looked_at.st_atime_ns, looked_at.st_mtime_ns))
    assert analyze_dataset(tmp_path, lambda: spark).read == 1
    assert open_dataset(tmp_path).tables["t"].stats.columns["a"].ndv == 1000


def test_a_file_that_changes_while_the_folder_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows were counted before, and it would be sketched after."""
    write_parts(tmp_path, {"1": list(range(1000))})

    def change(folder: Path, **options: bool) -> Catalog:
        catalog = open_dataset(folder, **options)
        write_parts(tmp_path, {"1": [7] * 10})
        return catalog

    monkeypatch.setattr("experiments.pipeline.analyze.analyze.open_dataset", change)
    with pytest.raises(CatalogError, match=r"1\.parquet changed while it was analyzed"):
        analyze_dataset(tmp_path, no_spark)


@pytest.mark.usefixtures("in_spark")
def test_keys_of_a_file_that_changes_meanwhile(tmp_path: Path, spark: SparkSession) -> None:
    """What was found out about a key counts for no other file."""
    schema = "create table t (k bigint, l bigint, primary key (k, l))"
    lay(tmp_path, {"t.parquet": pa.table({"k": [1, 1, 2], "l": [1, 2, 3]}), "schema.sql": schema})
    analyze_dataset(tmp_path, lambda: spark)
    findings = tmp_path / "_planscope" / "constraints.json"
    findings.unlink()

    def change() -> SparkSession:
        pq.write_table(pa.table({"k": [5, 5, 2], "l": [1, 2, 3]}), tmp_path / "t.parquet")
        return spark

    with pytest.raises(PlanscopeError, match=r"t\.parquet changed while it was analyzed"):
        analyze_dataset(tmp_path, change)
    assert not findings.exists()


def test_one_analysis_at_a_time(tmp_path: Path, analyze: Analyze) -> None:
    write_parts(tmp_path, {"1": [1, 2, 3]})
    (tmp_path / "_planscope").mkdir()
    refusal = f"another process is at work on the analysis of .*process {os.getpid()}"
    with hold(tmp_path / "_planscope" / ".analyze.lock", "a test"), pytest.raises(PlanscopeError, match=refusal):
        analyze_dataset(tmp_path, no_spark)
    assert analyze(tmp_path).read == 1


def test_combinations_of_columns(tmp_path: Path, analyze: Analyze) -> None:
    """Those asked for are counted without reading anything else again, and from then on."""
    values = list(range(40_000))
    columns = {"a": [v % 100 for v in values], "B b": [None if v % 10 == 0 else v % 70 for v in values], "c": values}
    pq.write_table(pa.table({**columns, "t": pa.array(values, pa.time64("us"))}), tmp_path / "t.parquet", row_group_size=9000)
    assert analyze(tmp_path).read == 1
    size = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "_planscope" / "sketches").iterdir()}
    report = analyze(tmp_path, joint=[("T", ("b B".swapcase()[::-1], "A"))])
    assert report.read == 1
    assert {p.name: p.stat().st_mtime_ns for p in (tmp_path / "_planscope" / "sketches").iterdir() if p.name in size} == size
    exact = len(set(zip(columns["a"], columns["B b"], strict=True)))
    assert open_dataset(tmp_path).tables["t"].stats.distinct[("a", "B b")] == pytest.approx(exact, rel=0.05)
    again = analyze_dataset(tmp_path, no_spark)
    assert again.read == 0 and ("a", "B b") in open_dataset(tmp_path).tables["t"].stats.distinct
    for joint, match in [
        (("t", ("a", "x")), 'no column "x"'),
        (("t", ("a", "T")), 'column "t" of t is of type TIME'),
        (("u", ("a", "c")), 'no table "u"'),
    ]:
        with pytest.raises(CatalogError, match=match):
            analyze_dataset(tmp_path, no_spark, joint=[joint])
    with pytest.raises(CatalogError, match='no table "u"'):
        analyze_dataset(tmp_path, no_spark, tables=["u"])


def test_combinations_of_a_table_that_is_not_analyzed(tmp_path: Path) -> None:
    lay(tmp_path, {"a.csv": "x,y\n1,2\n", "b.csv": "p,q\n1,2\n"})
    with pytest.raises(CatalogError, match="columns of b are to be counted together, but only a is to be analyzed"):
        analyze_dataset(tmp_path, no_spark, tables=["a"], joint=[("B", ("p", "q"))])


def test_a_contradicted_declaration_is_an_error(tmp_path: Path, analyze: Analyze) -> None:
    pq.write_table(pa.table({"k": [3, 1, 2, 3], "x": [1, 2, 3, 4]}), tmp_path / "one.parquet")
    pq.write_table(pa.table({"k": [1, 9, None], "y": [3, 9, 9]}), tmp_path / "two.parquet")
    schema = "create table one (k bigint, x bigint {}); create table two (k bigint {}, y bigint)"
    (tmp_path / "schema.sql").write_text(schema.format(", primary key (k)", ""), "utf-8")
    with pytest.raises(CatalogError) as caught:
        analyze(tmp_path)
    assert "one (k) is declared as a key, but has 1 value more than once, as (3)" in str(caught.value)
    assert "correct schema.sql, or the data; until then queries do not rely on it" in str(caught.value)
    with pytest.raises(CatalogError, match=r"one \(k\) is declared as a key"):
        analyze_dataset(tmp_path, no_spark)  # it is known by now
    assert open_dataset(tmp_path).tables["one"].keys == ()
    assert run(tmp_path, "select distinct k from one") == [1, 2, 3]
    assert run(tmp_path, "select two.y from two left join one on one.k = two.k") == [3, 9, 9]
    show = CliRunner().invoke(show_command, [str(tmp_path)], obj={})
    assert "not relied on: one (k) is declared as a key, but has 1 value more than once" in show.output
    assert "once the declarations are true" in " ".join(show.output.split())
    assert not (tmp_path / "_planscope" / "statistics.json").exists()
    (tmp_path / "schema.sql").write_text(schema.format(", primary key (x)", "references one (k)"), "utf-8")
    with pytest.raises(
        CatalogError, match=r"two \(k\) is declared to reference one \(k\), but has 1 row that it lacks, as \(9\)"
    ):
        analyze(tmp_path)
    assert all(not table.stats.analyzed for table in open_dataset(tmp_path).tables.values())
    (tmp_path / "schema.sql").write_text(schema.format(", primary key (x)", ""), "utf-8")
    report = analyze_dataset(tmp_path, no_spark)  # what was read before is known
    assert report.read == 0 and [t.keys for t in report.tables] == [1, 0]
    assert all(table.stats.analyzed for table in open_dataset(tmp_path).tables.values())


def run(folder: Path, sql: str) -> list[Any]:
    """The first column, sorted."""
    return sorted(Session(open_dataset(folder)).sql(sql).table.column(0).to_pylist())


def test_a_key_that_is_true_again_is_relied_on_again(tmp_path: Path, analyze: Analyze) -> None:
    lay(tmp_path, {"schema.sql": "create table t (k bigint primary key)", "t.parquet": pa.table({"k": [1, 2, 1]})})
    with pytest.raises(CatalogError, match="as a key"):
        analyze(tmp_path)
    assert open_dataset(tmp_path).tables["t"].keys == ()
    pq.write_table(pa.table({"k": [1, 2, 3]}), tmp_path / "t.parquet")
    assert open_dataset(tmp_path).tables["t"].keys == (("k",),)
    analyze(tmp_path)
    assert open_dataset(tmp_path).tables["t"].keys == (("k",),)


@pytest.mark.usefixtures("in_spark")
def test_odd_tables(tmp_path: Path, analyze: Analyze) -> None:
    names = {'a "b" c': pa.array([1, None, 1]), "ünï \u4f60": pa.array(["x", "", None]), "list": pa.array([[1], [2], None])}
    pq.write_table(pa.table(names), tmp_path / "odd 'ñame\".parquet")
    pq.write_table(pa.table({"n": pa.array([], pa.int32()), "s": pa.array([], pa.string())}), tmp_path / "empty.parquet")
    pq.write_table(pa.table({"n": pa.nulls(5), "f": pa.array([None, math.nan, 1.0, -0.0, 0.0])}), tmp_path / "nulls.parquet")
    pq.write_table(pa.table({"w": ["x" * 100_000, "x" * 100_000 + "y", "z"]}), tmp_path / "wide.parquet")
    report = analyze(tmp_path)
    assert report.read == 4
    found = {name: table.stats.columns for name, table in open_dataset(tmp_path).tables.items()}
    odd = found["odd 'ñame\""]
    assert odd['a "b" c'] == ColumnStats(1, 1, 1, 1.0, 8.0, ((1, 2 / 3),), None, ((1, 2),))
    assert odd["ünï \u4f60"] == ColumnStats(1, "", "x", 2.0, 0.5, (("", 1 / 3), ("x", 1 / 3)), None, ((2, 1),))
    assert odd["list"] == ColumnStats()  # nothing is computed with it
    assert found["empty"]["n"] == ColumnStats(0, ndv=0.0) and found["empty"]["s"].histogram is None
    assert found["nulls"]["n"].nulls == 5 and found["nulls"]["n"].ndv == 0.0 and found["nulls"]["f"].ndv == 3.0
    assert found["wide"]["w"].ndv == 3.0 and len(found["wide"]["w"].max) == 1
    assert analyze_dataset(tmp_path, no_spark).read == 0


def test_csv_and_arrow_files_give_the_same_figures(tmp_path: Path, analyze: Analyze) -> None:
    table = pa.table(
        {
            "i": [v * 37 % 5000 for v in range(20_000)],
            "f": [None if v % 11 == 0 else v / 8 for v in range(20_000)],
            "s": [f"text {v % 900}" for v in range(20_000)],
            "d": pa.array([v % 400 for v in range(20_000)], pa.int32()).view(pa.date32()),
        }
    )
    pq.write_table(table, tmp_path / "p.parquet", row_group_size=3000)
    pacsv.write_csv(table, tmp_path / "c.csv")
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), table.schema) as writer:
        writer.write_table(table, 4000)
    analyze(tmp_path)
    found = open_dataset(tmp_path).tables
    assert found["p"].stats.columns == found["c"].stats.columns == found["a"].stats.columns
    assert found["p"].stats.columns["i"].ndv == 5000 and found["p"].stats.columns["s"].histogram is not None


@pytest.mark.usefixtures("in_spark")
def test_a_damaged_file_among_good_ones(tmp_path: Path, analyze: Analyze) -> None:
    """It is named; once it is there again, only what was not read is."""
    for i in range(4):
        write_parts(tmp_path, {str(i): list(range(i * 1000, i * 1000 + 1000))})
    bad = tmp_path / "t" / "2.parquet"
    good = bad.read_bytes()
    bad.write_bytes(good[:4] + b"\x00" * 1500 + good[1504:])  # pages, not the footer
    with pytest.raises(PlanscopeError, match=r"2\.parquet cannot be read.*\n?.*write it again, or move it out of the folder"):
        analyze(tmp_path)
    assert open_dataset(tmp_path).tables["t"].stats.analyzed == ""
    bad.write_bytes(good)
    read = analyze(tmp_path).read
    assert 1 <= read <= 4 and open_dataset(tmp_path).tables["t"].stats.columns["a"].ndv == 4000


def test_a_table_that_cannot_be_read_for_a_while_keeps_its_sketches(tmp_path: Path, analyze: Analyze) -> None:
    lay(tmp_path, dict.fromkeys(("a.parquet", "b.parquet"), pa.table({"x": [1, 2, 3]})))
    assert analyze(tmp_path).read == 2
    (tmp_path / "a.parquet").rename(tmp_path / "kept")
    (tmp_path / "a.parquet").write_bytes(b"no Parquet")
    assert analyze_dataset(tmp_path, no_spark).read == 0
    (tmp_path / "kept").replace(tmp_path / "a.parquet")
    assert analyze_dataset(tmp_path, no_spark).read == 0


def test_a_file_in_several_pieces_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"a": range(1000)}), tmp_path / "t.parquet", row_group_size=100)
    size = (tmp_path / "t.parquet").stat().st_size
    monkeypatch.setattr(pieces, "PIECE", size // 2)
    monkeypatch.setattr(scan, "SMALL", size)
    assert analyze_dataset(tmp_path, no_spark).tables[0].pieces == 2


def test_a_damaged_sketch(tmp_path: Path, analyze: Analyze) -> None:
    write_parts(tmp_path, {"1": [1, 2, 3]})
    analyze(tmp_path)
    (sketch,) = (tmp_path / "_planscope" / "sketches").glob("*.parquet")
    manifest_path(tmp_path, "analyze").unlink()  # which says that there is nothing to do
    whole, other = sketch.read_bytes(), pa.BufferOutputStream()
    pq.write_table(pa.table({"columns": [["a"]], "sketch": [b"?"]}), other)
    for content in (b"", whole[: len(whole) // 2], other.getvalue().to_pybytes()):
        sketch.write_bytes(content)
        with pytest.raises(PlanscopeError, match=r"cannot read .*parquet.*\n?.*delete it: planscope data analyze makes it again"):
            analyze_dataset(tmp_path, no_spark)
    sketch.unlink()
    assert analyze(tmp_path).read == 1


def test_hundreds_of_columns(tmp_path: Path, analyze: Analyze) -> None:
    columns = {f"c{i}": pa.array([i, i + 1, None], pa.int64() if i % 2 else pa.float64()) for i in range(300)}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    pacsv.write_csv(pa.table(columns).select(range(50)), tmp_path / "u.csv")
    assert analyze(tmp_path).read == 2
    found = open_dataset(tmp_path).tables
    assert found["t"].stats.columns["c299"].ndv == 2 and len(found["u"].stats.columns) == 50


@pytest.mark.slow
def test_a_sample(tmp_path: Path, analyze: Analyze) -> None:
    """Of rows where there are few row groups; of row groups where there are many. Keys stay unverified."""
    rows = 200_000
    columns = {"k": range(rows), "g": [v * 7919 % 1000 for v in range(rows)], "s": [v // 50 for v in range(rows)]}
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    pq.write_table(table, tmp_path / "few.parquet")
    pq.write_table(table, tmp_path / "many.parquet", row_group_size=500)
    pq.write_table(table, tmp_path / "bare.parquet", write_statistics=False)
    (tmp_path / "schema.sql").write_text("create table few (k bigint, g bigint primary key, s bigint)", "utf-8")
    report = analyze(tmp_path, sample=0.1)
    assert [t.keys for t in report.tables] == [0, 0, 0] and all(not t.unique for t in report.tables)
    for name, read in (("few", 20_000), ("many", 20_000)):
        stats = open_dataset(tmp_path).tables[name].stats
        seen = int(stats.analyzed.split("sample of ")[1].split(" of ")[0].replace(",", ""))
        assert seen == pytest.approx(read, rel=0.05) and stats.rows == rows
        assert stats.columns["k"].ndv == pytest.approx(rows, rel=0.02)
        assert stats.columns["s"].ndv == pytest.approx(rows / 50, rel=0.1)
        assert (stats.columns["k"].min, stats.columns["k"].max, stats.columns["k"].nulls) == (0, rows - 1, 0)
        assert stats.columns["k"].degrees == () and stats.columns["s"].histogram is not None
        common = sum(share for _, share in stats.columns["s"].mcv)
        assert sum(stats.columns["s"].histogram.rows) + common * rows == pytest.approx(rows, rel=0.001) and common < 0.01
    assert open_dataset(tmp_path).tables["many"].stats.columns["g"].ndv == pytest.approx(1000, rel=0.05)
    bare = open_dataset(tmp_path).tables["bare"].stats.columns["k"]
    assert bare.min is None and bare.max is None and bare.histogram is not None  # the least of a sample bounds nothing
    (tmp_path / "schema.sql").unlink()
    assert analyze(tmp_path).read == 3 and analyze_dataset(tmp_path, no_spark, sample=0.1).read == 0


def test_of_a_sample_small_tables_are_read_whole_and_what_no_row_shows_is_unknown(tmp_path: Path, analyze: Analyze) -> None:
    few, many = [0, 1, None], [None] * 40_000 + [1]
    pq.write_table(pa.table({"k": pa.array(few)}), tmp_path / "few.parquet")
    pq.write_table(pa.table({"k": pa.array(many)}), tmp_path / "many.parquet", row_group_size=50_000)
    analyze(tmp_path, sample=0.01)
    few_stats, many_stats = (open_dataset(tmp_path).tables[name].stats for name in ("few", "many"))
    assert "all 3 rows" in few_stats.analyzed and (few_stats.columns["k"].ndv, few_stats.columns["k"].nulls) == (2, 1)
    assert "a sample of" in many_stats.analyzed
    assert (many_stats.columns["k"].ndv, many_stats.columns["k"].nulls) == (None, 40_000)
    analyze(tmp_path, sample=1e-9)  # no row was read, and "all 0 rows" was stored
    assert "a sample of" in open_dataset(tmp_path).tables["many"].stats.analyzed


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a relative folder, as the README has it; the manifest names the files within the folder."""
    write_parts(tmp_path, {"1": [1, 2, 3]})
    monkeypatch.chdir(tmp_path.parent)
    for read in (1, 0):
        result = CliRunner().invoke(command, [tmp_path.name, "-q"], obj={}, catch_exceptions=False)
        assert result.exit_code == 0 and f"read {read} of 1 part of files" in result.output and " a, b\n" in result.output
    manifest = read_manifest(tmp_path, "analyze")
    assert manifest is not None and "_planscope/statistics.json" in manifest["files"]
    for arguments in (["--joint", "t(a"], ["--joint", "t(a)"], ["--sample", "2"], ["--sample", "nan"]):
        assert CliRunner().invoke(command, [str(tmp_path), *arguments], obj={}).exit_code == 2


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_parts(tmp_path, {"1": [1, 2, 3]})
    lay(tmp_path, {"_planscope/sketches": "in the way"})
    with pytest.raises(OutputError, match=r"cannot write .*_planscope.*\n.*goes on from there"):
        analyze_dataset(tmp_path, no_spark)

    def full(table: pa.Table, file: BinaryIO, **options: Any) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device")

    monkeypatch.setattr(pieces.pq, "write_table", full)
    with pytest.raises(OutputError, match=f"{os.strerror(errno.ENOSPC)}\n.*goes on from there"):
        pieces.write_sketches(tmp_path / "s" / "x.parquet", {("a",): b"sketch"})
    assert list((tmp_path / "s").iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("in_spark")
def test_tpch_at_scale_factor_1(tmp_path: Path, analyze: Analyze) -> None:

    folder = copy(open_data("tpch:1"), tmp_path)
    report = analyze(folder)
    assert report.read > 20
    assert check_against_duckdb(open_dataset(folder)) == 61
    assert analyze_dataset(folder, no_spark).read == 0


def test_statistics_of_other_files_are_said_not_to_be_used(tmp_path: Path, analyze: Analyze) -> None:
    lay(tmp_path, {"t.parquet": pa.table({"k": [1, 2]}), "u.parquet": pa.table({"k": [3]})})
    analyze(tmp_path)
    said: list[str] = []
    open_data(str(tmp_path), said.append)
    assert not said
    pq.write_table(pa.table({"k": [1, 2, 3]}), tmp_path / "t.parquet")
    open_data(str(tmp_path), said.append)
    assert len(said) == 1 and said[0].startswith("statistics are not used") and "analysis: t\nplanscope data analyze" in said[0]


def test_statistics_of_a_copied_built_in_dataset_are_said_not_to_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = dataset_folder("tpch:0.01")  # what is said while it is made, or waited for, is not asked about
    said: list[str] = []
    open_data("tpch:0.01", said.append)
    assert not said
    shutil.copytree(made, tmp_path / "tpch-0.01", copy_function=shutil.copyfile)
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    open_data("tpch:0.01", said.append)
    assert len(said) == 1 and said[0].startswith("statistics are not used")
