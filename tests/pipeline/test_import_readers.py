"""Rows of text files, told apart: every row is there once, as a record or as a reject with its number."""

from __future__ import annotations

import gzip
import hashlib
import json
import os

import pyarrow as pa
import pytest

from experiments.pipeline.intake.csv_records import CsvFile
from experiments.pipeline.intake.json_records import JsonFile
from experiments.pipeline.intake.parts import PartWriter
from experiments.pipeline.intake.records import numbers_without
from experiments.pipeline.intake.sources import find_sources
from experiments.pipeline.intake.typed_records import TypedFile
from experiments.pipeline.spark.errors import PipelineError


def rows_of(file):
    """{number: row} and {number: (reason, record)} of a file; each number once."""
    good, bad = {}, {}
    for records in file.records():
        columns = {name: column.to_pylist() for name, column in records.columns.items()}
        for i, number in enumerate(records.rows.tolist()):
            assert number not in good
            good[number] = tuple(columns[name][i] for name in columns)
        for reject in records.broken:
            assert reject.row not in good and reject.row not in bad
            bad[reject.row] = (reject.reason, reject.record)
    return good, bad


def csv_rows(tmp_path, data, **options):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    return rows_of(CsvFile(path, options, options.pop("names", None)))


def test_csv_with_bom_crlf_quotes_and_blank_lines(tmp_path):
    data = b'\xef\xbb\xbfa,b\r\n1,"x\r\ny"\r\n\r\n2\r\n"3,","say ""hi"""\r\n4,5,6\r\n,\r\n7,z'
    good, bad = csv_rows(tmp_path, data)
    assert good == {1: ("1", "x\r\ny"), 3: ("3,", 'say "hi"'), 5: (None, None), 6: ("7", "z")}
    assert bad == {2: ("1 field instead of 2", "2"), 4: ("3 fields instead of 2", "4,5,6")}


def test_csv_row_numbers_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.pipeline.intake.csv_records._BLOCK_BYTES", 500)
    lines = [f"{i},{i}" if i % 7 else f"{i}" for i in range(1, 1000)]
    good, bad = csv_rows(tmp_path, ("a,b\n" + "\n".join(lines) + "\n").encode())
    assert all(row == (str(number), str(number)) for number, row in good.items())
    assert sorted([*good, *bad]) == list(range(1, 1000)) and sorted(bad) == list(range(7, 1000, 7))


def test_csv_that_ends_within_quotes_does_not_swallow_rows(tmp_path):
    good, bad = csv_rows(tmp_path, b'a,b\n1,x\n2,"open\n3,y\n4,z\n')
    assert good == {1: ("1", "x")}
    assert bad == {2: ("a quote is opened and never closed", "2,open\n3,y\n4,z\n")}
    good, bad = csv_rows(tmp_path, b'a,b\n1,x\n2,"closed\n"\n3,"in 5"" pipes\n"\n')
    assert len(good) == 3 and not bad


def test_csv_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,caf\xe9\n2,ok\n\xff,1,2\n")
    records = list(CsvFile(path, {}).records())
    assert any(one.marked for one in records)
    good, bad = rows_of(CsvFile(path, {}))
    assert good[2] == ("2", "ok") and good[1] == ("1", "caf\U0010fee9") and bad[3][0] == "3 fields instead of 2"
    assert rows_of(CsvFile(path, {"encoding": "latin-1"}))[0][1] == ("1", "café")
    path.write_bytes("a,b\n1,é\n".encode("utf-16"))
    assert rows_of(CsvFile(path, {"encoding": "utf-16"}))[0] == {1: ("1", "é")}


def test_csv_options(tmp_path):
    good, _ = csv_rows(tmp_path, b"1;'a;b';-\n", delimiter=";", quote="'", null="-", header="false", names=["x", "y", "z"])
    assert good == {1: ("1", "a;b", None)}
    good, _ = csv_rows(tmp_path, b'a,b\n"x\\"y",2\n', escape="\\")
    assert good == {1: ('x"y', "2")}
    good, _ = csv_rows(tmp_path, b"a\n1\n\n2\n")  # with one column a blank line is a NULL
    assert good == {1: ("1",), 2: (None,), 3: ("2",)}


def test_compressed_files_and_their_checksums(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    file = CsvFile(path, {})
    assert rows_of(file)[0] == {1: ("1", "2")}
    assert (file.sha256, file.size) == (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(PipelineError, match=r"t\.csv\.gz"):
        rows_of(CsvFile(path, {}))


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        (b"", {}, "is empty"),
        (b"a,,c\n", {}, "column 2 has no name"),
        (b"a;b\n1;2\n", {}, "delimiter=';'"),
        (b"a\tb\n1\t2\n", {}, "delimiter=tab"),
        (b"a\n1\n", {"delimiter": "ab"}, "one character"),
        (b"a\n1\n", {"header": "maybe"}, "true or false"),
        (b"a\n1\n", {"header": "false"}, "--schema"),
        (b"a\n1\n", {"encoding": "klingon"}, 'no encoding "klingon"'),
    ],
)
def test_csv_files_that_cannot_be_read(tmp_path, data, options, said):
    with pytest.raises(PipelineError, match=said):
        csv_rows(tmp_path, data, **options)


def test_csv_row_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.pipeline.intake.csv_records._BLOCK_BYTES", 1000)
    with pytest.raises(PipelineError, match="longer than"):
        csv_rows(tmp_path, b'a,b\n1,"' + b"x" * 5000 + b'"\n')


def json_rows(tmp_path, text):
    path = tmp_path / "t.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    file = JsonFile(path, {})
    good, bad = {}, {}
    for records in file.records():
        for i, number in enumerate(records.rows.tolist()):
            good[number] = {name: column[i].as_py() for name, column in records.columns.items() if column[i].as_py() is not None}
        bad |= {reject.row: reject.reason for reject in records.broken}
    return good, bad, file.kinds


def test_json_lines(tmp_path):
    text = '{"a": 1.10, "b": "x"}\n\n{"c": true, "a": null}\n[1]\n{"a": }\n{"a":1,"a":2}\n{"a": "\\ud800"}\n{"d": {"e": [1]}}\n'
    good, bad, kinds = json_rows(tmp_path, text)
    assert good == {1: {"a": "1.10", "b": "x"}, 2: {"c": "true"}, 7: {"d": '{"e": ["1"]}'}}
    assert bad == {3: "not a JSON object", 4: "not JSON", 5: "a key is there twice", 6: "half of a surrogate pair"}
    assert kinds == {"a": {"number"}, "b": {"text"}, "c": {"truth"}, "d": {"nested"}}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_json_arrays_and_objects_over_several_lines(tmp_path, monkeypatch, indent, chunk):
    monkeypatch.setattr("experiments.pipeline.intake.json_records._CHUNK", chunk)
    values = [{"a": i, "b": "],{" * i} for i in range(30)]
    expected = {i + 1: {"a": str(i), "b": "],{" * i} for i in range(30)}
    assert json_rows(tmp_path, json.dumps(values, indent=indent))[0] == expected
    assert json_rows(tmp_path, "\n".join(json.dumps(value, indent=indent) for value in values))[0] == expected


@pytest.mark.parametrize("text", ["", "  \n", "[]", " [ ] \n"])
def test_json_without_records(tmp_path, text):
    assert json_rows(tmp_path, text) == ({}, {}, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"a": 1}, {"a": ', "record 2 is no JSON"),
        ('[{"a": 1}', "cut off: its array does not end, after record 1"),
        ('[{"a": 1}] x', "more after the array"),
        ('[{"a": 1} {"a": 2', "record 2 is no JSON"),
        ("hello", "record 1 is no JSON"),
    ],
)
def test_json_files_that_cannot_be_read(tmp_path, text, said):
    with pytest.raises(PipelineError, match=said):
        json_rows(tmp_path, text)


def test_json_bytes_that_are_no_text(tmp_path):
    good, bad, _ = json_rows(tmp_path, b'{"a": "ok"}\n{"a": "\xff"}\n')
    assert good == {1: {"a": "ok"}} and bad == {2: "bytes that are no text in this encoding"}


def test_numbers_without():
    assert numbers_without(1, 4, [2, 3, 9]).tolist() == [1, 4, 5, 6]
    assert numbers_without(5, 0, []).tolist() == []
    assert pa.array(numbers_without(3, 2, [])).to_pylist() == [3, 4]


def test_sources(tmp_path):
    shop = tmp_path / "shop"
    (shop / "orders").mkdir(parents=True)
    for name in (
        "orders/b.csv",
        "orders/a.csv",
        "people.jsonl.gz",
        "x y.parquet",
        "notes.md",
        "_temp.csv",
        ".hidden.csv",
        "schema.sql",
    ):
        (shop / name).touch()
    found = find_sources([shop], None, None)
    assert [(t.name, t.format, [f.name for f in t.files]) for t in found.tables] == [
        ("orders", "csv", ["a.csv", "b.csv"]),
        ("people", "json", ["people.jsonl.gz"]),
        ("x y", "parquet", ["x y.parquet"]),
    ]
    assert found.skipped == (shop / "notes.md",) and found.schema == shop / "schema.sql"
    one = find_sources([shop / "orders", shop / "orders" / "a.csv"], None, "all").tables
    assert [(t.name, len(t.files)) for t in one] == [("all", 3)]
    with pytest.raises(PipelineError, match="no file or folder"):
        find_sources([tmp_path / "none"], None, None)
    with pytest.raises(PipelineError, match="what kind of file"):
        find_sources([shop / "notes.md"], None, None)
    with pytest.raises(PipelineError, match="different kinds"):
        find_sources([shop], None, "all")
    with pytest.raises(PipelineError, match="is there twice"):
        find_sources([shop / "orders" / "a.csv", shop / "orders" / "a.csv"], None, None)
    with pytest.raises(PipelineError, match="cannot be a table"):
        find_sources([shop / "orders"], None, "a/b")


def test_damaged_arrow_offsets_are_an_error(tmp_path):
    rows = pa.table({"s": [f"value {i}" for i in range(1000)]})
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), rows.schema) as writer:
        writer.write_table(rows)
    content = (tmp_path / "t.arrow").read_bytes()
    (tmp_path / "t.arrow").write_bytes(content.replace((21).to_bytes(4, "little"), (1 << 30).to_bytes(4, "little"), 1))
    with pytest.raises(PipelineError, match=r"t\.arrow is damaged, incomplete or no arrow file"):
        list(TypedFile(tmp_path / "t.arrow", "arrow").records(["s"]))


@pytest.mark.parametrize("place", ["t.csv", "shop/t.csv", "shop/t/part.csv"])
def test_a_pipe_is_not_waited_for(tmp_path, place):
    (tmp_path / "shop" / "t").mkdir(parents=True)
    os.mkfifo(tmp_path / place)
    with pytest.raises(PipelineError, match="is a pipe, socket or device, not a file with rows"):
        find_sources([tmp_path / place.split("/")[0]], None, None)


def test_parts_have_checksums_of_their_pages(tmp_path):
    writer = PartWriter(tmp_path / "t.parquet", pa.schema([("a", pa.int64())]))
    writer.write(pa.record_batch({"a": range(1000)}))
    writer.close()
    (content := bytearray((tmp_path / "t.parquet").read_bytes()))[200] ^= 1
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(PipelineError, match=r"t\.parquet is damaged.*(?i:crc)"):
        list(TypedFile(tmp_path / "t.parquet", "parquet").records(["a"]))
