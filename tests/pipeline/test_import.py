"""Imports on Spark, from end to end: every row read is imported or rejected, and nothing half-done is taken for a dataset."""

import gzip
import json
import os
import random
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from executor import Session
from experiments.cli import main
from experiments.pipeline.analyze import keys
from experiments.pipeline.analyze.analyze import analyze_dataset
from experiments.pipeline.intake import raw
from experiments.pipeline.intake.request import ImportRequest, import_dataset
from experiments.pipeline.intake.sources import Source, with_driver
from experiments.pipeline.intake.summary import summary_text
from experiments.pipeline.intake.tables import Tables
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.session import configured
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError, Interrupted, OutputError
from tests.pipeline.conftest import lay


@pytest.fixture
def importer(spark, tmp_path):
    """Imports `sources` into tmp_path/NAME; returns the folder and the manifest's counts."""

    def run(*sources, name="out", progress=lambda line: None, **options):
        request = ImportRequest(tuple(map(str, sources)), tmp_path / name, **options)
        made = import_dataset(request, lambda: spark, progress, "planscope data import …")
        for table in made.counts["tables"].values():
            assert table["read"] == table["kept"] + sum(one["rows"] for one in table["rejected"])
        return tmp_path / name, made.counts

    return run


@pytest.fixture
def shop(tmp_path):
    files = {
        "people/a.csv": b"\xef\xbb\xbfid,name,day,amount\r\n1,Ann,2020-01-01,1.50\r\n2,B,2020-02-30,2\r\n3,C\r\n"
        b"4,\xe9x,2020-03-01,3\r\n5,Dan,,1.234\r\n1,second,2020-01-01,1\r\n,nobody,2020-01-01,1\r\n",
        "people/b.csv": "id,name,day,amount\n7,Zoe,2021-01-01,9\n1,third,2021-01-01,9\n",
        "sales.json": '{"person": 1, "x": 1.5, "tags": []}\n{"person": 99}\nnonsense}\n'
        '{"person": 7, "big": 123456789012345678901}\n{"x": 2}\n',
        "schema.sql": "create table people (id int primary key, name varchar, day date, amount decimal(9,2));"
        "create table sales (person bigint references people (id), x double);",
    }
    return lay(tmp_path / "shop", files)


def damaged(rows: pa.Table) -> bytes:
    """A Parquet file of which a page is not what its checksum says."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="none", write_page_checksum=True)
    data = bytearray(sink.getvalue())
    data[200] ^= 1
    return bytes(data)


def rows(folder: Path, table: str) -> list[dict]:
    return [row for file in open_dataset(folder).tables[table].files for row in pq.read_table(file).to_pylist()]


def rejects(folder: Path, table: str) -> set[tuple]:
    files = sorted((folder / "_planscope" / "rejected" / table).glob("*.parquet"))
    found = [row for file in files for row in pq.read_table(file).to_pylist()]
    return {(Path(row["file"]).name, row["row"], row["column"], row["reason"]) for row in found}


def test_every_row_is_imported_or_rejected_once(importer, shop):
    """Also where Spark might take the folder's name for a pattern."""
    folder, counts = importer(shop, name="out [1]")
    assert [(row["id"], row["name"]) for row in rows(folder, "people")] == [(1, "Ann"), (7, "Zoe")]
    assert rejects(folder, "people") == {
        ("a.csv", 2, "day", "not a DATE"), ("a.csv", 3, None, "not 4 fields"),
        ("a.csv", 4, "name", "bytes that are no text in this encoding"), ("a.csv", 5, "amount", "not a DECIMAL(9,2)"),
        ("a.csv", 6, "id", "a row before it has the same key"), ("a.csv", 7, "id", "NULL, which is forbidden here"),
        ("b.csv", 2, "id", "a row before it has the same key"),
    }  # fmt: skip
    assert rejects(folder, "sales") == {("sales.json", 3, None, "not JSON")}
    catalog = open_dataset(folder)
    assert catalog.tables["people"].keys == (("id",),) and not catalog.tables["people"].columns[0].nullable
    assert catalog.tables["sales"].foreign_keys == ()  # a row refers to nobody, and rules trust what is declared
    (left_out,) = counts["tables"]["sales"]["left_out"]
    assert "1 row without a row to refer to, first row 2 of" in left_out
    assert counts["tables"]["sales"]["dropped"] == {"tags": "has objects or arrays in it, which imports lack"}
    joined = Session(folder).sql("select name, big from people, sales where id = person order by id").table
    assert joined.column("name").to_pylist() == ["Ann", "Zoe"]
    text = summary_text({"counts": counts}, str(folder))
    assert "people  2 of 9 rows, 7 rejected" in text
    assert "2 rows: id: a row before it has the same key, first '1' in row 6 of" in text
    # nothing is done twice, and what was imported is not written over
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    again = import_dataset(ImportRequest((str(shop),), folder), lambda: pytest.fail("needs Spark"), print)
    assert not again.made and again.counts == counts
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert set(again.manifest["inputs"]) == {str(path) for path in shop.rglob("*.*")}
    part = bytearray((folder / "people" / "part-00000.parquet").read_bytes())
    part[30] ^= 1
    with pytest.raises(OSError, match=r"(?i)crc"):  # pages have checksums
        pq.read_table(pa.BufferReader(bytes(part)), page_checksum_verification=True)
    with (shop / "people" / "b.csv").open("a") as file:
        file.write("8,New,,\n")
    with pytest.raises(OutputError, match=r"holds import of people, sales made before .*b\.csv changed"):
        importer(shop, name="out [1]")
    assert len(rows(folder, "people")) == 2


@pytest.mark.slow
def test_rows_that_refer_to_no_row_can_be_rejected(importer, tmp_path):
    """Rejecting one row can leave others without the row they refer to."""
    schema = "create table tree (id int primary key, parent int references tree (id));"
    lay(tmp_path / "shop", {"tree.csv": "id,parent\n1,\n2,1\n3,77\n4,3\n5,4\n6,2\n", "schema.sql": schema})
    folder, _ = importer(tmp_path / "shop", on_dangling="reject")
    assert [row["id"] for row in rows(folder, "tree")] == [1, 2, 6]
    assert {rejected[1::2] for rejected in rejects(folder, "tree")} == {(n, "refers to no row of tree") for n in (3, 4, 5)}
    assert len(open_dataset(folder).tables["tree"].foreign_keys) == 1


@pytest.mark.slow
def test_rejects_can_fail_the_import(importer, shop, tmp_path):
    with pytest.raises(PipelineError, match=r"(?s)nothing was imported.*people: 1 row: not 4 fields, first '3,C' in row 3"):
        importer(shop, on_reject="fail")
    assert not (tmp_path / "out").exists()
    twice = lay(tmp_path / "twice", {"t.csv": "id\n1\n1\n", "schema.sql": "create table t (id int primary key);"})
    with pytest.raises(PipelineError, match="same key"):
        importer(twice, on_reject="fail")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_first_row_of_each_key_stays(importer, tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.pipeline.intake.raw.SMALL", -1)  # parts are finished by tasks
    choose = random.Random(3)
    source = tmp_path / "t"
    source.mkdir()
    expected: dict[tuple, tuple] = {}
    uniques, kept = set(), []
    for number in range(3):
        lines = []
        for i in range(200):
            key = (choose.choice(["a", "b", "", "A"]), choose.randint(1, 30))
            unique = choose.choice([None, choose.randint(1, 400)])
            lines.append(f"{key[0]},{key[1]},{unique or ''},{number}/{i}")
            if key[0] and key not in expected:
                expected[key] = (unique, f"{number}/{i}")
        (source / f"{number}.csv").write_text("\n".join(["k1,k 2,u,place", *lines]) + "\n")
    for unique, place in expected.values():  # a second key looks at the rows that the first one left
        if unique is None or unique not in uniques:
            kept.append(place)
            uniques.add(unique)
    schema = tmp_path / "schema.sql"
    schema.write_text('create table t (k1 varchar, "k 2" int, u int unique, place varchar, primary key (k1, "k 2"));')
    folder, counts = importer(source, schema=schema, tables=("t",))
    assert [row["place"] for row in rows(folder, "t")] == kept
    assert counts["tables"]["t"]["read"] == 600
    for file, row, _, _ in rejects(folder, "t"):
        assert f"{file[0]}/{row - 1}" not in kept


@pytest.mark.slow
def test_an_interrupted_import_goes_on(importer, tmp_path):
    source = lay(tmp_path / "shop", {f"t{i}.csv": f"a\n{i}\n" for i in range(3)})

    def stop(line: str) -> None:
        if line.startswith("t1: 1 of 1"):
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="goes on where it stopped"):
        importer(source, progress=stop)
    folder = tmp_path / "out"
    with pytest.raises(CatalogError):
        open_dataset(folder)
    said: list[str] = []
    importer(source, progress=said.append)
    assert not any(line.startswith("t0: 1 of 1") for line in said)
    assert [rows(folder, f"t{i}") for i in range(3)] == [[{"a": i}] for i in range(3)]
    assert sorted(path.name for path in (folder / "_planscope").iterdir()) == ["manifests"]


def test_an_analysis_of_what_was_imported_checks_no_key_again(importer, tmp_path, monkeypatch):
    """Sketches do not prove a key of two columns."""
    schema = "create table t (a int, b int, primary key (a, b))"
    folder, counts = importer(lay(tmp_path / "shop", {"t.csv": "a,b\n1,1\n1,2\n2,1\n2,1\n", "schema.sql": schema}))
    assert counts["tables"]["t"]["kept"] == 3
    (table,) = analyze_dataset(folder, lambda: pytest.fail("needs Spark")).tables
    assert (table.keys, table.rows) == (1, 3)
    for path in ("constraints.json", "manifests/analyze.json"):
        (folder / "_planscope" / path).unlink()
    (table,) = analyze_dataset(folder, lambda: pytest.fail("needs Spark")).tables
    assert (table.keys, table.rows) == (1, 3), "few rows show it here"
    for path in ("constraints.json", "manifests/analyze.json"):
        (folder / "_planscope" / path).unlink()
    monkeypatch.setattr(keys, "SMALL", 0)
    with pytest.raises(pytest.fail.Exception, match="needs Spark"):
        analyze_dataset(folder, lambda: pytest.fail("needs Spark"))


@pytest.mark.slow
def test_an_import_that_ends_before_its_last_step_goes_on(importer, shop, monkeypatch):
    """Rows that the checks removed stay removed, wherever the end came."""
    from experiments.pipeline.intake import tables
    from experiments.pipeline.spark import make

    whole, _ = importer(shop, name="whole")
    for module, step in ((tables, "publish_declared"), (make, "write_manifest")):
        with monkeypatch.context() as patch:
            patch.setattr(module, step, lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(Interrupted):
                importer(shop, name=step)
        folder, _ = importer(shop, name=step)
        assert rows(folder, "people") == rows(whole, "people") and rejects(folder, "people") == rejects(whole, "people")


@pytest.mark.slow
def test_damaged_and_differing_files_are_named(importer, tmp_path):
    good = pa.table({"a": pa.array(range(5000)), "b": pa.array([str(i) for i in range(5000)])})
    source = lay(tmp_path / "t", {"0.parquet": good, "1.parquet": good})
    (source / "1.parquet").write_bytes((source / "1.parquet").read_bytes()[:-100])
    reason = r"1\.parquet is damaged, incomplete or no parquet file(?s:.*)nothing was imported"
    with pytest.raises(PipelineError, match=reason):
        importer(source, tables=("t",), on_reject="fail")
    with pytest.raises(PipelineError, match=reason):
        importer(source / "1.parquet")
    assert not (tmp_path / "out").exists()
    folder, counts = importer(source, tables=("t",), name="footer")
    assert counts["damaged"].keys() == {str(source / "1.parquet")} and len(rows(folder, "t")) == 5000
    assert "not imported: " in (text := summary_text({"counts": counts}, str(folder))) and "1.parquet is damaged" in text
    data = bytearray((source / "0.parquet").read_bytes())
    data[4:2000] = b"\0" * 1996  # the footer is whole, the pages are not
    (source / "1.parquet").write_bytes(data)
    folder, counts = importer(source, tables=("t",), name="pages")
    assert counts["damaged"].keys() == {str(source / "1.parquet")} and len(rows(folder, "t")) == 5000
    with pytest.raises(PipelineError, match=r"1\.parquet is damaged(?s:.*)nothing was imported"):
        importer(source / "1.parquet", name="alone")
    with pytest.raises(CatalogError):
        open_dataset(tmp_path / "alone")
    few = pa.table({"a": [i % 5 for i in range(100)], "b": [f"v{i % 5}" for i in range(100)]})
    pq.write_table(few, source / "1.parquet", compression="none")
    data, a = bytearray((source / "1.parquet").read_bytes()), pq.read_metadata(source / "1.parquet").row_group(0).column(0)
    end = a.dictionary_page_offset + a.total_compressed_size
    data[end - 12 : end] = b"\xff" * 12  # places that the dictionary has not
    (source / "1.parquet").write_bytes(data)
    folder, counts = importer(source, tables=("t",), name="places")
    assert counts["damaged"].keys() == {str(source / "1.parquet")} and len(rows(folder, "t")) == 5000
    lay(source, {"1.parquet": good.rename_columns(["a", "c"]), "2.parquet": b"no file of Parquet"})
    # that the latter was put aside is nothing to go on with
    with pytest.raises(PipelineError, match=r'0\.parquet has a column "b", .*1\.parquet has none'):
        importer(source, tables=("t",), name="drift")
    folder, _ = importer(source, tables=("t",), name="drift", merge_schema=True)
    merged = rows(folder, "t")
    assert merged[0] == {"a": 0, "b": "0", "c": None} and merged[-1] == {"a": 4999, "b": None, "c": "4999"}


@pytest.mark.few(4)
@pytest.mark.parametrize(("ending", "text"), [("csv.gz", "a,b\n1,2\n"), ("json.gz", '{"a": 1, "b": 2}\n')])
def test_a_damaged_file_among_many(importer, tmp_path, monkeypatch, ending, text):
    """Spark looks at some at a time, which may all be damaged while others are not."""
    monkeypatch.setattr("experiments.pipeline.intake.opened.BATCH", 1)
    good = gzip.compress(text.encode())
    lay(tmp_path / "t", {f"0.{ending}": good, f"1.{ending}": b"no gzip", f"2.{ending}": good})
    folder, counts = importer(tmp_path / "t", tables=("t",))
    assert counts["damaged"].keys() == {str(tmp_path / "t" / f"1.{ending}")}
    assert rows(folder, "t") == [{"a": 1, "b": 2}] * 2
    with pytest.raises(PipelineError, match=rf"1\.{ending} is damaged(?s:.*)nothing was imported"):
        importer(tmp_path / "t" / f"1.{ending}", name="alone")


def test_tables_of_damaged_files_alone_are_left_out(importer, tmp_path):
    """One empty file once ended the import of a folder of tables."""
    files = {"people.csv": "id,city\n1,7\n2,8\n", "cities.csv": "", "sales.csv": "person;sum\n1;2\n"}
    schema = "create table cities (id int primary key); create table people (id int primary key, city int references cities);"
    folder, counts = importer(lay(tmp_path / "shop", {**files, "schema.sql": schema}))
    assert rows(folder, "people") == [{"id": 1, "city": 7}, {"id": 2, "city": 8}] and counts["tables"].keys() == {"people"}
    assert counts["damaged"].keys() == {str(tmp_path / "shop" / name) for name in ("cities.csv", "sales.csv")}
    text = summary_text({"counts": counts}, str(folder))
    assert "cities.csv is empty" in text and "delimiter=';'" in text and "table cities is not imported with it" in text
    with pytest.raises(PipelineError, match=r"cities\.csv is empty(?s:.*)nothing was imported"):
        importer(tmp_path / "shop", name="strict", on_reject="fail")
    folder, _ = importer(tmp_path / "shop", name="each", options={"Sales.delimiter": ";", "quote": "'"})
    assert rows(folder, "sales") == [{"person": 1, "sum": 2}] and len(rows(folder, "people")) == 2
    for option, said in (("sale.delimiter", "no table sale(?s:.*)sales"), ("sales.header2", 'no option "sales.header2"')):
        with pytest.raises(PipelineError, match=said):
            importer(tmp_path / "shop", name="wrong", options={option: ";"})


@pytest.mark.slow
def test_colons_in_paths(importer, tmp_path):
    """Hadoop takes what is before one for the scheme of a URI."""
    rows_of_u = pa.table({"a": range(1000)})
    files = {"t/k=a:b/2024-01-01T10:00:00.csv.gz": gzip.compress(b"a\n1\n"), "x:y.orc": pa.table({"a": [2]})}
    shop = lay(tmp_path / "at 10:00", {**files, "u/1:0.parquet": rows_of_u, "u/1:1.parquet": damaged(rows_of_u)})
    folder, counts = importer(shop)
    assert rows(folder, "t") == [{"a": 1, "k": "a:b"}] and rows(folder, "x:y") == [{"a": 2}] and len(rows(folder, "u")) == 1000
    assert counts["damaged"].keys() == {str(shop / "u" / "1:1.parquet")}


@pytest.mark.slow
def test_many_damaged_files_are_found_in_three_readings(importer, tmp_path, monkeypatch):
    read_all, readings = Tables._made, []
    monkeypatch.setattr(Tables, "_made", lambda self, tables: readings.append(tables) or read_all(self, tables))
    good = pa.table({"a": range(1000)})
    lay(tmp_path / "t", {"0.parquet": good, **{f"{i}.parquet": damaged(good) for i in range(1, 6)}, "x/y": ""})
    folder, counts = importer(tmp_path / "t" / "x" / "..", tables=("t",))
    assert len(counts["damaged"]) == 5 and len(rows(folder, "t")) == 1000 and len(readings) == 3


@pytest.mark.slow
def test_many_json_files_are_of_one_type(importer, tmp_path, monkeypatch):
    """Spark looks at some at a time: what it knows of the first ones need not hold for others."""
    monkeypatch.setattr("experiments.pipeline.intake.opened.BATCH", 1)
    files = {"a.json": '{"x": 1, "y": 1}\n', "b.json": '{"x": "one", "y": 2.5}\n', "c.json": '{"x": null, "y": 3}\n'}
    folder, counts = importer(lay(tmp_path / "t", files), tables=("t",))
    assert rows(folder, "t") == [{"x": "1", "y": 1.0}, {"x": "one", "y": 2.5}, {"x": None, "y": 3.0}]
    assert counts["tables"]["t"]["rejected"] == []


@pytest.mark.few(1)
@pytest.mark.parametrize(("format", "files"), [("json", 3), ("csv", 6), ("json", 6), ("parquet", 6)])
def test_many_files_are_read_in_one_go(importer, tmp_path, monkeypatch, format, files):
    """In the order of their names, whatever Spark's; each row with its number in its file, and what the folder of that says. Few
    are read one by one."""
    checked, calls = raw.checked, []
    monkeypatch.setattr(raw, "checked", lambda *given: calls.append(given) or checked(*given))
    shop, kept = tmp_path / "shop", []
    more = {"_metadata": "x"} if format == "parquet" else {}
    for i in range(files):
        found = [{"k": k, "v": f"{i}/{k}", **more} for k in (0, *range(10 * i + 1, 11 * i + 2))]
        kept += [{**row, "day": f"{i} +%20"} for row in found if row["k"] or not i]
        lines = {"csv": ["", "k,v", *(f"{row['k']},{row['v']}" for row in found)], "json": [json.dumps(row) for row in found]}
        text = "\n".join([*lines[format], ""]) if format in lines else pa.Table.from_pylist(found)
        lay(shop, {f"t/day={i} +%2520/a [{i}].{format}": text})
    lay(tmp_path, {"schema.sql": "create table t (k bigint primary key, day varchar);", "x/y": ""})
    folder, _ = importer(tmp_path / "x" / ".." / "shop", schema=tmp_path / "schema.sql")
    assert rows(folder, "t") == kept and len(calls) == (files if files < 4 else 1)
    same = "a row before it has the same key"
    assert rejects(folder, "t") == {(f"a [{i}].{format}", 1, "k", same) for i in range(1, files)}


@pytest.mark.slow
def test_json_files_without_a_key_that_can_be_read_are_put_aside(importer, tmp_path):
    texts = {"good": '{"a": 1}', "empty": "", "commas": '{"a": 1},\n{"a": 2},', "quotes": '{"it\'s \\"x\\"": 1}', "none": "{}"}
    files = {f"{name}.json": text for name, text in texts.items()} | {"nested.parquet": pa.table({"nested": [{"x": 1}]})}
    folder, counts = importer(lay(tmp_path / "files", files))
    assert rows(folder, "good") == [{"a": 1}] and list(counts["tables"]) == ["good"]
    found = {Path(label).stem: reason.removeprefix(label) for label, reason in counts["damaged"].items()}
    assert found == {
        "empty": " is empty: a JSON file holds records, one a line",
        "commas": " has no record with a key: the first line that is not empty is not JSON",
        "quotes": ': the key it\'s "x" has both kinds of quotes in it, which Spark cannot look up; rename it',
        "none": " has no record with a key: the first line that is not empty is an object of none",
        "nested": " has no column to import: nested is struct<x: int64>, which imports lack",
    }


def test_texts_of_another_encoding_are_rejected_and_told(importer, tmp_path):
    (tmp_path / "t.json").write_bytes(b'{"a": "ok"}\n{"a": "caf\xe9 x"}\n')
    pq.write_table(pa.table({"a": pa.array([b"ok", b"caf\xe9 x"]).view(pa.string())}), tmp_path / "u.parquet")
    folder, counts = importer(tmp_path / "t.json", tmp_path / "u.parquet")
    for name, file, column, value in (("t", "t.json", None, '{"a": "caf\ufffd x"}'), ("u", "u.parquet", "a", "caf\ufffd x")):
        assert rows(folder, name) == [{"a": "ok"}]
        assert rejects(folder, name) == {(file, 2, column, "bytes that are no text in this encoding")}
        assert counts["tables"][name]["rejected"][0]["value"] == value


def test_json_values_of_odd_kinds(importer, tmp_path):
    """Integers beyond BIGINT, of 19 digits as well as of 20, are decimals; objects and arrays among other values are texts."""
    numbers = '{"a": 9999999999999999999, "b": 18446744073709551615, "c": 1.0}\n{"a": 1, "b": 1, "c": 2}\n'
    nested = '{"a": 1, "o": {"x": 1}}\n{"a": "x", "o": [1]}\n{"a": [1, 2], "o": null}\n{"a": {"y": 1}}\n'
    folder, counts = importer(lay(tmp_path / "files", {"numbers.json": numbers, "nested.json": nested}))
    types = [column.type for column in open_dataset(folder).tables["numbers"].columns]
    assert types == [pa.decimal128(38, 0), pa.decimal128(38, 0), pa.float64()]
    assert [row["a"] for row in rows(folder, "nested")] == ["1", "x", "[1,2]", '{"y":1}']
    assert counts["tables"]["nested"]["dropped"].keys() == {"o"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "last"),
    [
        ('a,b\n1,"x\n2"\n3,y\n', {"a": 3, "b": "y"}), ('a\n"x\n2"\ny\n', {"a": "y"}), ('"a\nb",c\n1,x\n', {"a\nb": 1, "c": "x"}),
        ('"a\nb"\nx\n', {"a\nb": "x"}),
    ],
)  # fmt: skip
def test_quotes_over_lines_below_a_folder_with_brackets(importer, tmp_path, text, last):
    folder = lay(tmp_path / "from [1]", {"t.csv": text})
    assert rows(importer(folder / "t.csv")[0], "t")[-1] == last


def test_rows_of_files_with_open_quotes_are_numbered_by_file(importer, tmp_path):
    files = {"t/a.csv": 'a,b\n1,x\n2,y\n3,"open\nz\n', "t/b.csv": 'a,b\n10,x\n1,y\n30,"open\nz\n'}
    schema = "create table t (a int primary key, b varchar);"
    folder, _ = importer(lay(tmp_path / "shop", {**files, "schema.sql": schema}))
    assert [row["a"] for row in rows(folder, "t")] == [1, 2, 10]
    assert rejects(folder, "t") == {
        ("a.csv", 3, None, "a quote is opened and never closed"),
        ("b.csv", 2, "a", "a row before it has the same key"),
        ("b.csv", 3, None, "a quote is opened and never closed"),
    }


def test_rejected_rows_of_the_year_0_are_told(importer, tmp_path):
    row, schema = "0000-01-01,0000-02-29 10:00\n", "create table t (d date primary key, at timestamp);"
    folder, counts = importer(lay(tmp_path / "shop", {"t.csv": f"d,at\n{row}{row}", "schema.sql": schema}))
    assert rejects(folder, "t") == {("t.csv", 2, "d", "a row before it has the same key")}
    assert counts["tables"]["t"]["rejected"][0]["value"] == "0000-01-01"


@pytest.mark.slow
def test_extreme_tables(importer, tmp_path):
    odd = {"a b": [1, 1, 2], 'quo"te': [1, 2, 3], "ti`ck.dot": [1, 2, 2], "Größe 名": ["x", None, "z"]}
    files = {
        "wide.parquet": pa.table({f"c{i}": pa.array([i, None]) for i in range(120)}),
        "sp ace ünï.parquet": pa.table(odd),
        "nulls.parquet": pa.table({"n": pa.nulls(3), "s": pa.array([None] * 3, pa.string())}),
        "none.parquet": pa.table({"a": pa.array([], pa.int64())}),
        "header_only.csv": "x,y\n",
        "schema.sql": 'create table "sp ace ünï" ("a b" int, "quo""te" int, "ti`ck.dot" int, '
        'primary key ("a b", "ti`ck.dot"), unique ("quo""te"));',
    }
    folder, _ = importer(lay(tmp_path / "[odd] *names*", files), name="[out] %20*")
    catalog = open_dataset(folder)
    assert {name: table.stats.rows for name, table in catalog.tables.items()} == {
        "wide": 2, "sp ace ünï": 3, "nulls": 3, "none": 0, "header_only": 0,
    }  # fmt: skip
    assert len(catalog.tables["wide"].columns) == 120 and len(catalog.tables["sp ace ünï"].keys) == 1
    assert [str(c.type) for c in catalog.tables["header_only"].columns] == ["string", "string"]
    found = Session(folder).sql('select sum("ti`ck.dot") s from "sp ace ünï" where "Größe 名" is not null').table
    assert found.to_pylist() == [{"s": 3}]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"t.csv": ""}, "is empty"),
        ({"t.csv": "a,a\n1,2\n"}, 'more than one column "a"'),
        ({"t.json": '{"a": 1, "A": 2}'}, 'columns "a" and "A", the same to SQL'),
        ({"t.csv": "a,A\n1,2\n"}, 'columns "a" and "A", the same to SQL'),
        ({"t.csv": "a;b\n1;2\n"}, "separated by ';'"),
        ({"t.csv": 'a;b\n1;"x, y"\n'}, "separated by ';'"),
        ({"t:0.csv": "a;b\n1;2\n"}, "separated by ';'"),
        ({"t.json": '{"a": 1, "A": 2}', "u.csv": "b,B\n1,2\n"}, 'columns "a" and "A", the same to SQL'),
        ({"t.json": '{"a": 1, "A": 2}', "u.csv": "b,B\n1,2\n"}, 'columns "b" and "B", the same to SQL'),
        ({"t.json": "[]"}, "is empty: a JSON file holds records, one a line"),
        ({"t.txt": "a"}, "no file to import"),
        ({"t.csv": "a\n1\n", "schema.sql": "create table u (a int);"}, "declares none of the tables to import"),
        ({"t.csv": "a\n1\n", "schema.sql": "create table t (b int);"}, '"b" of table t is declared, but not there'),
        ({"t.csv": "a\n1\n", "schema.sql": "select 1"}, "cannot read"),
    ],
)
def test_sources_that_cannot_be_imported(importer, tmp_path, files, said):
    with pytest.raises((PipelineError, CatalogError)) as error:
        importer(lay(tmp_path / "source", files))
    assert said in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def derby(spark) -> Iterator[str]:
    """The URL of a database in the memory of Spark's own process, with a table ORDERS."""
    url = "jdbc:derby:memory:import_test"
    spark._jvm.java.lang.System.setProperty("derby.stream.error.file", os.devnull)  # no derby.log in the working directory
    assert spark._jvm.java.lang.Class.forName("org.apache.derby.iapi.jdbc.AutoloadedDriver") is not None
    connection = spark._jvm.java.sql.DriverManager.getConnection(f"{url};create=true")
    statement = connection.createStatement()
    columns = 'id int, "tot al" decimal(12,2), seen timestamp, day date, name varchar(20), raw char(2) for bit data, t time'
    statement.execute(f"create table orders ({columns})")
    for i in range(1, 51):
        key = i if i != 40 else 39
        statement.execute(
            f"insert into orders values ({key}, {i}.25, timestamp('2020-03-29 02:30:0{i % 10}.000001'), date('1500-01-01'), "
            f"{'null' if i % 5 == 0 else chr(39) + 'n' + str(i) + chr(39)}, x'00ff', time('10:00:00'))"
        )
    statement.execute("create table empty_one (a int)")
    yield url
    for table in ("orders", "empty_one"):
        statement.execute(f"drop table {table}")
    connection.close()


def test_tables_over_jdbc(importer, derby, tmp_path):
    schema = tmp_path / "schema.sql"
    schema.write_text("create table orders (id bigint primary key, name varchar);")
    url = f"{derby};user=app;password=hush"
    options = {"url": url, "partitionColumn": "id", "lowerBound": "1", "upperBound": "50", "numPartitions": "3"}
    folder, counts = importer(format="jdbc", tables=("ORDERS",), options=options, schema=schema)
    found = {row["ID"]: row for row in rows(folder, "ORDERS")}
    assert len(found) == 49 and counts["tables"]["ORDERS"]["rejected"][0]["reason"] == "a row before it has the same key"
    row = found[3]
    assert str(row["tot al"]) == "3.25" and str(row["SEEN"]) == "2020-03-29 02:30:03.000001" and str(row["DAY"]) == "1500-01-01"
    assert row["NAME"] == "n3" and row["RAW"] == b"\x00\xff" and found[5]["NAME"] is None
    assert "hush" not in "".join(path.read_text(errors="replace") for path in folder.rglob("*.json"))
    empty, _ = importer(format="jdbc", tables=("EMPTY_ONE",), options={"url": derby}, name="empty")
    assert open_dataset(empty).tables["EMPTY_ONE"].stats.rows == 0


@pytest.mark.parametrize(
    ("options", "tables", "said"),
    [
        ({"url": "jdbc:derby:memory:import_test"}, ("NOTHERE",), "NOTHERE"),
        ({"url": "jdbc:derby:memory:no_such_database"}, ("T",), "Database 'memory:no_such_database' not found"),
        ({"url": "jdbc:nodriver://host/db?password=hush"}, ("T",), "--jars"),
        ({"url": "jdbc:x"}, (), "--table"),
        ({}, ("t",), "url=jdbc:"),
    ],
)
def test_jdbc_that_is_refused(importer, derby, tmp_path, options, tables, said):
    with pytest.raises(PipelineError) as error:
        importer(format="jdbc", options=options, tables=tables)
    assert said in str(error.value) and "hush" not in str(error.value) and len(str(error.value)) < 700
    assert not (tmp_path / "out").exists()


def test_a_driver_is_the_one_that_a_jar_names(tmp_path):
    """Java would look for it among the jars that it started with."""
    for name, services in (("a.jar", None), ("b.jar", "# the driver\n\norg.example.Driver # of ours\n")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("org/example/Driver.class", b"")
            if services is not None:
                archive.writestr("META-INF/services/java.sql.Driver", services)
    (tmp_path / "c.jar").write_text("no archive")
    jars = [tmp_path / f"{name}.jar" for name in "abc"]
    options = {"url": "jdbc:example:x"}
    assert with_driver(Source("t", "jdbc", options=options), jars).options == {**options, "driver": "org.example.Driver"}
    assert with_driver(Source("t", "jdbc", options=options), jars[::2]).options == options
    assert with_driver(Source("t", "jdbc", options={**options, "driver": "mine"}), jars).options["driver"] == "mine"
    assert with_driver(Source("t", "csv"), jars).options == {}


def test_small_tables_take_few_jobs(importer, spark, tmp_path):
    """Their files are looked at together, and so are the types of their columns."""
    lay(tmp_path / "shop", dict.fromkeys(("a.csv", "b.csv", "c.csv"), 'n,"day, or so",text\n1,2020-01-01,x\n2,,"y,z"\n'))
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup(None))
    folder, _ = importer(tmp_path / "shop")
    assert len(set(tracker.getJobIdsForGroup(None)) - before) <= 7
    assert rows(folder, "b")[1] == {"n": 2, "day, or so": None, "text": "y,z"}


def test_on_the_command_line(spark, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("id;v\n1;x\n2;y\nz\n")
    command = ["data", "import", "a.csv", "-o", "out", "--option", "delimiter=;"]
    assert main([*command, "-q"]) == 0 and main(command) == 0
    out, err = capfd.readouterr()
    assert "a  2 of 3 rows, 1 rejected" in out and "out was made of the same sources in the same way" in out and err == ""
    assert [row["v"] for row in rows(Path("out"), "a")] == ["x", "y"]
    assert main(["data", "import", "a.csv", "-o", "new", "--format", "nosuch", "-q"]) == 2
    assert 'knows a format "nosuch"' in capfd.readouterr().err and not Path("new").exists()


@pytest.mark.slow
def test_partitioned_folders_keep_their_columns(importer, tmp_path):
    """As DuckDB reads them; as one table, and as one of several."""
    shop = tmp_path / "shop"
    days = pa.table({"day": ["2024-01-31", "2024-02-01", None] * 20, "kind": ["a b", "c/d"] * 30, "n": range(60)})
    ds.write_dataset(days, shop / "sales", format="parquet", partitioning=["day", "kind"], partitioning_flavor="hive")
    ds.write_dataset(days.slice(0, 9), shop / "texts", format="csv", partitioning=["kind"], partitioning_flavor="hive")
    (shop / "other.csv").write_text("x\n1\n")
    (shop / "schema.sql").write_text("create table texts (kind varchar not null, day date, n int); create table other (x int)")
    exact = duckdb.sql(f"from read_parquet('{shop}/sales/**/*.parquet', hive_partitioning = true)").to_arrow_table()
    for source, name in ((shop, "all"), (shop / "sales", "one")):
        folder, _ = importer(source, name=name)
        table = open_dataset(folder).tables["sales"]
        assert {c.name: str(c.type) for c in table.columns} == {"n": "int64", "day": "date32[day]", "kind": "string"}
        found = pa.Table.from_pylist(rows(folder, "sales")).select(exact.column_names).sort_by("n")
        assert found.to_pylist() == exact.sort_by("n").to_pylist() and found.num_rows == 60
    texts = sorted(rows(tmp_path / "all", "texts"), key=lambda row: row["n"])
    assert [row["kind"] for row in texts] == days["kind"].to_pylist()[:9] and texts[0]["day"] == date(2024, 1, 31)
    (shop / "sales" / "day=2024-01-31" / "kind=a%20b" / "odd").mkdir()
    with pytest.raises(PipelineError, match=r"only folders of partitions are read there, which are called COLUMN=VALUE"):
        importer(shop, name="bad")


@pytest.mark.slow
def test_names_and_texts_are_what_they_are_whatever_the_settings(importer, spark, tmp_path):
    there = {"planscope": [1], "`": ["\\"]}
    lay(tmp_path, {"t/day=${env:HOME}/a.parquet": pa.table(there), "u.tsv": '${env:HOME}\t${spark.app.name}\nx\t"1\n"\n'})
    with configured(spark, {"spark.sql.parser.escapedStringLiterals": "true"}):
        folder, _ = importer(tmp_path / "t", tmp_path / "u.tsv")
    assert rows(folder, "t") == [{"planscope": 1, "`": "\\", "day": "${env:HOME}"}]
    assert rows(folder, "u") == [{"${env:HOME}": "x", "${spark.app.name}": 1}]


def test_a_partition_that_is_a_column_too(importer, tmp_path):
    lay(tmp_path, {"t/A=1/x.parquet": pa.table({"a": [2]})})
    with pytest.raises(PipelineError, match=r'x.parquet has a column "A" and lies in a folder A=...; rename one of them'):
        importer(tmp_path / "t")
    folder, _ = importer(tmp_path / "t" / "A=1" / "x.parquet", name="alone")
    assert rows(folder, "x") == [{"a": 2}]


@pytest.mark.slow
def test_uris_and_tables_of_the_catalog(importer, spark, tmp_path, hdfs):
    """No local path leads to the files of the URIs."""
    there = tmp_path / "there"
    for day, text in (("2024-01-01", '{"x": 1, "y": "p"}\n{"x": 2}\nbad}\n'), ("2024-01-02", '{"x": 3}\n')):
        lay(there, {f"t/day={day}/a.json": text, f"p/day={day}/a.parquet": pa.table({"x": [1]})})
    folder, _ = importer(f"{hdfs.uri}/t", name="uri", format="json")
    days = date(2024, 1, 1), date(2024, 1, 2)
    assert [tuple(row.values()) for row in rows(folder, "t")] == [(1, "p", days[0]), (2, None, days[0]), (3, None, days[1])]
    assert rejects(folder, "t") == {("a.json", 3, None, "not JSON")}
    folder, _ = importer(f"{hdfs.uri}/p", name="parquet", format="parquet")
    assert sorted((row["day"].day, row["x"]) for row in rows(folder, "p")) == [(1, 1), (2, 1)], "in no particular order"
    ends = {"crlf": "\r\n", "cr": "\r", "lf": "\n"}
    for name, end in ends.items():
        (there / f"{name}.csv").write_bytes(f'a,b{end}1,"x{end}y"{end}2,z{end}'.encode())
    folder, _ = importer(*(f"{hdfs.uri}/{name}.csv" for name in ends), name="ends")
    assert all([row["b"] for row in rows(folder, name)] == [f"x{end}y", "z"] for name, end in ends.items())
    spark.range(3).createOrReplaceTempView("three")
    assert [row["id"] for row in rows(importer("three", name="table", format="table")[0], "three")] == [0, 1, 2]
    with pytest.raises(PipelineError, match="say --format"):
        importer("s3a://bucket/orders", name="s3")


@pytest.mark.slow
@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_files_at_uris_that_differ(importer, tmp_path, hdfs, format):
    """As those of a folder."""
    one, other = pa.table({"x": pa.array([1], pa.int32()), "y": ["p"]}), pa.table({"x": [2**40]})
    lay(tmp_path / "there", {f"t/zip=00501/a.{format}": one, f"t/zip=10001/a.{format}": other})
    with pytest.raises(PipelineError, match=r'zip=00501/a\.\w+ has a column "y", .*zip=10001/a\.\w+ has none\n--merge-schema'):
        importer(f"{hdfs.uri}/t", format=format)
    lay(tmp_path / "there", {f"u/zip=00501/a.{format}": other, f"u/zip=10001/a.{format}": other})
    folder, _ = importer(f"{hdfs.uri}/u", format=format, name="alike")
    assert sorted(row["zip"] for row in rows(folder, "u")) == ["00501", "10001"]
    folder, _ = importer(f"{hdfs.uri}/t", format=format, merge_schema=True)
    assert rows(folder, "t") == [{"x": 1, "y": "p", "zip": "00501"}, {"x": 2**40, "y": None, "zip": "10001"}]


@pytest.mark.slow
@pytest.mark.parametrize(("format", "bad"), [("orc", 1), ("orc", 0), ("parquet", 0)])
def test_files_at_uris_that_cannot_be_read(importer, tmp_path, hdfs, format, bad):
    """Damaged ones are put aside; of one that cannot be reached nobody knows."""
    files = [tmp_path / "there" / "t" / f"day={day}" / "a" for day in range(3)]
    for day, file in enumerate(files):
        file.parent.mkdir(parents=True)
        (pq if format == "parquet" else orc).write_table(pa.table({"x": [day] * 1000}), file)
    hdfs.failing["OPEN"] = 1000
    with pytest.raises(PipelineError, match=rf"cannot read {hdfs.uri}/t: Spark failed: .*OPEN is refused$"):
        importer(f"{hdfs.uri}/t", name=format, format=format)
    hdfs.failing.clear()
    files[bad].write_bytes(files[bad].read_bytes()[:-50])
    folder, counts = importer(f"{hdfs.uri}/t", name=format, format=format)
    assert {(row["x"], row["day"]) for row in rows(folder, "t")} == {(day, day) for day in range(3) if day != bad}
    [(label, reason)] = counts["damaged"].items()
    assert label == f"{hdfs.uri}/t/day={bad}/a" and reason.startswith(f"{label} is damaged, incomplete or no {format} file")


@pytest.mark.slow
def test_rows_keep_their_numbers_where_tables_are_split_differently(importer, spark, tmp_path):
    lines = [f"{i % 90},{'x' if i % 7 == 0 else i}" for i in range(1, 121)]
    files = {"a.csv": "\n".join(["k,v", *lines, ""])} | {f"b/{i}.csv": f"k\n{i}\n" for i in range(8)}
    lay(tmp_path / "shop", {**files, "schema.sql": "create table a (k int primary key, v int); create table b (k int);"})
    with configured(spark, {"spark.sql.files.maxPartitionBytes": "200"}):
        folder, _ = importer(tmp_path / "shop")
    assert len(list((folder / "a").iterdir())) > 2
    seen, expected = set(), set()
    for row in range(1, 121):
        if row % 7 and row % 90 in seen:
            expected.add(("a.csv", row, "k", "a row before it has the same key"))
        elif row % 7:
            seen.add(row % 90)
    assert rejects(folder, "a") == expected | {("a.csv", row, "v", "not a INTEGER") for row in range(7, 121, 7)}
    assert [row["v"] for row in rows(folder, "a")] == sorted(row["v"] for row in rows(folder, "a"))


def test_timestamps_as_spark_writes_them(importer, tmp_path):
    """In INT96, which reaches further than nanoseconds in Arrow; queried and imported."""
    moments = [
        datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), None, datetime(2020, 7, 1, 12), datetime(1600, 1, 1),
    ]  # fmt: skip
    (tmp_path / "shop").mkdir()
    stored = pa.table({"at": pa.array(moments, pa.timestamp("us")), "n": range(5)})
    pq.write_table(stored, tmp_path / "shop" / "t.parquet", use_deprecated_int96_timestamps=True, store_schema=False)
    assert pq.read_metadata(tmp_path / "shop" / "t.parquet").schema.column(0).physical_type == "INT96"
    folder, _ = importer(tmp_path / "shop")
    for dataset in (folder, tmp_path / "shop"):
        assert Session(dataset).sql("select at from t order by n").table["at"].to_pylist() == moments
    (report,) = analyze_dataset(tmp_path / "shop", lambda: pytest.fail("needs Spark")).tables
    assert "at" not in report.unique and open_dataset(tmp_path / "shop").tables["t"].stats.columns["at"].max == moments[1]


def test_orc(importer, tmp_path):
    """Arrow counts ORC's timestamps in nanoseconds, Spark in microseconds; the files say nothing of the unit."""
    moments = [
        datetime(2020, 1, 1), datetime(2020, 9, 13, 12, 26, 40), datetime(1960, 5, 5, 5, 5, 5),
        datetime(2020, 7, 1, 12, 0, 0, 123456),
    ]  # fmt: skip
    rows = pa.table(
        {
            "at": pa.array([*moments, None], pa.timestamp("us")),
            "moment": pa.array([None, *moments], pa.timestamp("us", "UTC")),
            "day": pa.array([date(1600, 2, 29), date(9999, 12, 31), None, date(1970, 1, 1), date(1700, 3, 1)]),
            "price": pa.array([Decimal("1.50"), Decimal("-99999.99"), None, Decimal("0.01"), Decimal(0)], pa.decimal128(7, 2)),
            "n": pa.array([2**63 - 1, -(2**63), None, 0, 1]),
            "x": pa.array([1.5, float("nan"), None, float("-inf"), -0.0]),
            "s": pa.array(["", "é\n", None, "\x00", "a"]),
            "yes": pa.array([True, False, None, True, False]),
        }
    )
    orc.write_table(rows, str(tmp_path / "t.orc"))
    folder, counts = importer(tmp_path / "t.orc")
    assert counts["tables"]["t"]["kept"] == 5
    expected = rows.set_column(1, "moment", rows["moment"].cast(pa.timestamp("us")))
    assert [str(row) for row in ds.dataset(folder / "t").to_table().to_pylist()] == [str(row) for row in expected.to_pylist()]


def test_old_days_and_fractions_in_orc(importer, tmp_path):
    """Arrow's writer notes no calendar, and counts fractions before 1970 down; it cannot read beyond its nanoseconds itself."""
    days = [date(1, 1, 1), date(1582, 10, 4), date(1582, 10, 14), date(2020, 1, 1)]
    near = [datetime(1969, 12, 31, 23, 59, 59, 500000), datetime(1700, 1, 1, 0, 0, 0, 1), None, datetime(2020, 1, 1)]
    far = [datetime(1, 1, 1), datetime(1422, 6, 3), datetime(1582, 10, 14), datetime(9999, 12, 31)]
    (tmp_path / "shop" / "some").mkdir(parents=True)
    stored = {"near": (days, near), "far": ([None] * 4, far), "some/0": (days, near)}
    stored["some/1"] = (days, [*far[:3], datetime(1500, 1, 1, 0, 0, 0, 500000)])
    for name, (d, at) in stored.items():
        columns = [pa.array(d, pa.date32()), pa.array(at, pa.timestamp("us")), pa.array(at, pa.timestamp("us", "UTC"))]
        orc.write_table(pa.table([*columns, at], ["d", "at", "zoned", "text"]), str(tmp_path / "shop" / f"{name}.orc"))
    (tmp_path / "shop" / "schema.sql").write_text("create table near (text varchar); create table some (d date);")
    folder, counts = importer(tmp_path / "shop")
    for name in ("near", "some"):
        found = [(row["d"], row["at"], row["zoned"]) for row in rows(folder, name)]
        assert found == [(day, at, at) for day, at in zip(days, near, strict=True)]
    assert rows(folder, "near")[0]["text"] == "1969-12-31 23:59:59.5"
    assert [row["zoned"] for row in rows(folder, "far")] == [row["at"] for row in rows(folder, "far")] == [*far[:2], far[3]]
    assert rejects(folder, "far") == {
        ("far.orc", 3, None, "a day from 5 to 24 October 1582, in a file that does not say its calendar")
    }
    [(label, reason)] = counts["damaged"].items()
    assert label == str(tmp_path / "shop" / "some" / "1.orc") and "(java.lang.IllegalArgumentException: nanos > 9" in reason
