"""Rows of text files as Spark reads them: every row is there once, as a record or with the reason why it is none."""

import gzip
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.pipeline.intake import csv_files
from experiments.pipeline.intake.csv_files import CsvFiles
from experiments.pipeline.intake.json_files import faults, open_json, whole_files
from experiments.pipeline.intake.opened import OPEN_COST, Opened, listed
from experiments.pipeline.intake.prepare import codec_name, is_needed, prepare
from experiments.pipeline.intake.request import ImportRequest, planned
from experiments.pipeline.intake.resolve import resolve
from experiments.pipeline.intake.sources import Source, find_sources, tables_elsewhere
from experiments.pipeline.intake.summary import summary_text
from experiments.pipeline.intake.values import type_of
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.session import configured
from tests.pipeline.conftest import lay, no_spark


def rows_of(one):
    """Rows of an opened file, with None, or reasons of those that are none."""
    names = list(one.types)
    found = [tuple(row) for row in one.rows(names).collect()]
    return [row[: len(names)] if row[-2] is None else f"{row[-2]}: {row[-1]}" for row in found]


def rows_or_error(open_file, *arguments):
    try:
        return rows_of(open_file(*arguments))
    except PipelineError as error:
        return str(error)


@pytest.fixture(params=["looked at here", "looked at by Spark"])
def read_csv(request, spark, tmp_path, monkeypatch):
    """Rows of each of some texts, or the message of the error."""
    if request.param == "looked at by Spark":
        monkeypatch.setattr(csv_files, "SMALL", -1)

    def read(*texts, names=None, **options):
        paths = [tmp_path / f"{i}.csv" for i in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_bytes(text)
        csv = CsvFiles(spark, options)
        looked = csv.look({str(path): str(path) for path in paths})
        return [rows_or_error(csv.open, path, path, one, names or []) for path, one in looked.items()]

    with configured(spark, {OPEN_COST: str(1 << 40)}):
        yield read


def test_csv(read_csv):
    """Byte order mark, line ends, quotes, newlines in fields, blank lines, rows of another length, quotes left open."""
    bom, open_, closed, stray, single, late, header, wide, empty, spaces, breaks, nulls = read_csv(
        b'\xef\xbb\xbfa,b\r\n1,"x"\r\n\r\n2\r\n"3,","say ""hi"""\r\n4,5,6\r\n,\r\n7,z',
        b'a,b\n1,x\n2,"open\n3,y\n4,z\n',
        b'a,b\n1,x\n2,"closed\n"\n3,"in 5"" pipes\n"\n',
        b'a,b\n1,5" pipe\n2,y\n',
        b"a\n1\n\n2\n",  # with one column a blank line is a NULL
        b"\n\na\n1\n",  # but for those before the names
        b'"a\nb",c\n1,2\n',
        b'c,"a\n""b"\n1,2\n',
        b"a,b\n1,x\n\0\0\0\0\n\001\n\n2,y\n \n\x1a",
        b"a\n \n\n1\n\t\n",
        b'a,b\n1,"x\ny"\n \n\n2,y\n',
        b'\na\n"x\n\ny"\n""\n\nz\n',
    )
    assert bom == [("1", "x"), "not 2 fields: 2", ("3,", 'say "hi"'), "not 2 fields: 4,5,6", (None, None), ("7", "z")]
    assert open_ == [("1", "x"), "a quote is opened and never closed: 2,open\n3,y\n4,z\n"]
    assert closed == [("1", "x"), ("2", "closed\n"), ("3", 'in 5" pipes\n')]
    assert stray == [("1", '5" pipe'), ("2", "y")]
    assert single == [("1",), (None,), ("2",)] and late == [("1",)]
    assert header == [("1", "2")] and wide == [("1", "2")]
    bad = "not 2 fields: "
    assert empty == [("1", "x"), f"{bad}\0\0\0\0", f"{bad}\1", ("2", "y"), f"{bad} ", f"{bad}\x1a"]
    assert spaces == [(" ",), (None,), ("1",), ("\t",)]
    assert breaks == [("1", "x\ny"), f"{bad} ", ("2", "y")]
    assert nulls.endswith(
        '11.csv, line 7: this empty line is a NULL, which is not read where values have line breaks\nwrite "" for a NULL'
    )


@pytest.mark.few(2)
def test_csv_blanks_before_a_header_and_rows_over_lines(read_csv):
    texts = [f'{blank}\n{names}\n"x\ny",2\n' for names in ("a,b", '"a\n ",b') for blank in ("   ", "\n \n\n ", "\n")]
    assert read_csv(*map(str.encode, texts)) == [[("x\ny", "2")]] * 6


@pytest.mark.few(2)
def test_csv_rows_of_nulls_between_blanks(read_csv):
    """Spark's reader leaves out lines of nothing up to U+0020."""
    for delimiter in "\t \x01":
        lines = ["", "a_b", "_", "1_x", "", "_", '2_"y_"', "_"]
        (found,) = read_csv("\n".join(lines).replace("_", delimiter).encode(), delimiter=delimiter)
        assert found == [(None, None), ("1", "x"), (None, None), ("2", f"y{delimiter}"), (None, None)]


def test_csv_line_breaks_in_quotes(read_csv):
    """They stay what they are; where lines do not end alike, nothing is taken for a part of a value that is none."""
    crlf, lf, cr, both, mixed = read_csv(
        b'a,b\r\n1,"x\r\ny"\r\n2,z\r\n',
        b'a,b\n1,"x\ny"\n2,z\n',
        b'a,b\r1,"x\ry"\r2,z\r',
        b'a,b\r\n1,"x\ny"\r\n2,z\r\n',
        b'a,b\n1,"x\ny"\n2,z\r\n3,z\n',
    )
    assert [crlf, lf, cr, both] == [[("1", f"x{end}y"), ("2", "z")] for end in ("\r\n", "\n", "\r", "\n")]
    assert mixed == [("1", "x\ny"), "a CR in a file whose lines end in more than one way: None", ("3", "z")]
    breaks = ("\n", "\r", "\r\n")
    for end in breaks:
        text = end.join(["a,b", *(f'"{i}{one}{i}","z{one}"' for i, one in enumerate(breaks)), '5" x,y', ""])
        assert read_csv(text.encode()) == [[*((f"{i}{one}{i}", f"z{one}") for i, one in enumerate(breaks)), ('5" x', "y")]]


def test_csv_line_breaks_at_a_uri(spark, tmp_path):
    uri, csv = f"file:{tmp_path}/t.csv", CsvFiles(spark, {})

    def read(text):
        lay(tmp_path, {"t.csv": text})
        return rows_of(csv.open("t", uri, csv.look({"t": uri})["t"], []))

    for end in ("\n", "\r\n"):
        assert read(end.join(["a,b", '1,"x\r\ny"', '2,"x\ny"', ""])) == [("1", "x\r\ny"), ("2", "x\ny")]
    rows = read('a,b\n1,"x\ny"\n2,z\r\n')  # the last line ends otherwise
    assert rows[0] == ("1", "x\ny") and rows[1].startswith("a CR in a file whose lines end in more than one way")


@pytest.mark.few(2)
def test_csv_quotes_left_open_in_the_last_row(read_csv):
    """With and without a line break at the end of the file; stray quotes and line breaks in fields leave nothing open."""
    ends = [b'2,"open', b'2,"open\n', b'2,"', b'2,"\n', b'2,"say ""hi""', b'2,"open\n3,z']
    reason = "a quote is opened and never closed"
    for texts in ([b"a,b\n1,x\n" + end for end in ends], [b'a,b\n1,5" x\n' + end for end in ends if b"\n" not in end]):
        assert all(rows[0][0] == "1" and rows[1].startswith(f"{reason}: 2,") for rows in read_csv(*texts)), texts
    assert read_csv(b'a\nx\n"open')[0] == [("x",), f"{reason}: open"]
    assert read_csv(b'a,b\n1,x\n2,"5\\"', b'a,b\n"x\\"\ny",z\n2,"\\\\"\n', escape="\\") == [
        [("1", "x"), f'{reason}: 2,5"'],
        [('x"\ny', "z"), ("2", "\\")],
    ]
    whole = [b'2,5"', b'2,"x\ny,"', b'2,"x"', b'2,"x\ny"\n', b'2,"x\n"\n\n']
    assert not any(isinstance(row, str) for rows in read_csv(*(b"a,b\n1,x\n" + end for end in whole)) for row in rows)


@pytest.mark.few(2)
def test_csv_names_that_are_no_text(read_csv):
    latin, over, zipped, rows, ours = read_csv(
        "größe,b\n1,2\n".encode("latin-1"),
        b'"a\n\xf6",b\n1,2\n',
        gzip.compress(b"a\n1\n", mtime=0),
        b"a,b\n1,\xf6\n",
        "\ufffd\n1\n".encode(),
    )
    for said in (latin, over, zipped):
        assert "line 1: the names of columns are not UTF-8 text" in said
    assert rows == [("1", "\ufffd")] and ours == [("1",)]


@pytest.mark.few(2)
def test_csv_options(read_csv):
    options = {"delimiter": ";", "quote": "'", "null": "-", "header": "false"}
    assert read_csv(b"1;'a;b';-\n", b"", names=["x", "y", "z"], **options) == [[("1", "a;b", None)], []]
    assert read_csv(b'a,b\n"x\\"y",2\n', escape="\\") == [[('x"y', "2")]]
    assert read_csv(b'a,b\n"x ""y""",2\n"x",3\n', escape='"') == [[('x "y"', "2"), ("x", "3")]]


@pytest.mark.few(2)
def test_csv_files_that_cannot_be_read(read_csv):
    empty, unnamed, semicolon, tab, cut, wide, nul = read_csv(
        b"", b"a,,c\n", b"a;b\n1;2\n", b"a\tb\n1\t2\n", b'a,"b\n1,2\n', "a,b\n1,2\n".encode("utf-16"), b'a,b\n1,"x\0y"\n'
    )
    assert "NUL bytes, which get lost in quotes" in nul
    assert "UTF-16: --option encoding=utf-16" in wide
    assert "line 1: a quote is opened and never closed" in cut
    assert "is empty" in empty and "column 2 has no name" in unnamed and "delimiter=';'" in semicolon and "delimiter=tab" in tab
    assert "--schema" in read_csv(b"a\n1\n", header="false")[0]
    for option, said in (({"delimiter": "ab"}, "one character"), ({"header": "maybe"}, "true or false")):
        with pytest.raises(PipelineError, match=said):
            read_csv(b"a\n1\n", **option)
    with pytest.raises(PipelineError, match='no encoding of text "klingon"'):
        codec_name("klingon")


def test_a_large_file_is_for_all_cores_and_its_rows_stay_in_order(spark, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i},{i}\n" if i % 7 else f"{i}\n" for i in range(1, 1000)))
    csv = CsvFiles(spark, {})
    opened = csv.open("t", str(path), csv.look({"t": str(path)})["t"], [])
    with configured(spark, {"spark.sql.files.maxPartitionBytes": "1000"}):
        assert opened.rows(["a", "b"]).rdd.getNumPartitions() > 2
        found = rows_of(opened)
    assert found == [(str(i), str(i)) if i % 7 else f"not 2 fields: {i}" for i in range(1, 1000)]


def test_other_encodings(spark, tmp_path):
    assert not is_needed("csv", "UTF8") and is_needed("json", "latin-1")
    source, target = tmp_path / "a.csv.gz", tmp_path / "new" / "0"
    for encoding, text, expected in (
        ("utf-16", "a\né\n".encode("utf-16"), "a\né\n".encode()),
        ("latin-1", b"a\n\xe9\n", "a\né\n".encode()),
        ("ascii", b"a\n\xe9\n", b"a\n\xff\n"),
    ):
        source.write_bytes(gzip.compress(text))
        assert prepare(source, target, "csv", encoding).read_bytes() == expected
        target.unlink()
    source.write_bytes(gzip.compress("a\n1\n".encode("utf-16-le")))
    with pytest.raises(
        PipelineError, match=r"a\.csv\.gz is no text in utf-16 \(.*BOM\)\ntry --option encoding=utf-16-le or utf-16-be"
    ):
        prepare(source, target, "csv", "UTF16")
    source.write_bytes(source.read_bytes()[:-9])
    with pytest.raises(PipelineError, match="damaged"):
        prepare(source, target, "csv", "ascii")


@pytest.fixture
def read_json(spark, tmp_path):
    def read(*texts):
        paths = [tmp_path / f"{i}.json" for i in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        files = list(map(str, paths))
        whole = whole_files(spark, files)
        wrong = faults(spark, {file: file for file in whole}) if whole else {}
        return [wrong.get(file) or rows_or_error(lambda file: open_json(spark, {file: file}, whole), file) for file in files]

    return read


def test_json_lines(read_json):
    (found,) = read_json(
        b'{"a": 1.10, "b": "x"}\n\n{"b": true, "a": null}\n[1]\n{"a": }\n{"a":1,"a":2}\n{"a": "\\ud800"}\n{"a":1} 2\n'
        b'{"a":1},{"a":2}\n{"a":1}] x\n{"a": "\xff"}\n{"a":12345678901234567890123456789012345678}\n{"a":1}{"a":2}\n'
        b'{"a":1234567890123456789012345678901234567890}\n{"a":1e400}\n{"b":[-1e400]}\n{"a":1e308,"b":"\\": 1e400,"}\n'
    )
    assert found == [
        ("1.1", "x"), (None, "true"), "not a JSON object: [1]", 'not JSON: {"a": }', 'a key is there twice: {"a":1,"a":2}',
        'half of a surrogate pair: {"a": "\\ud800"}', 'not JSON: {"a":1} 2', 'not JSON: {"a":1},{"a":2}', 'not JSON: {"a":1}] x',
        'bytes that are no text in this encoding: {"a": "\ufffd"}', ("12345678901234567890123456789012345678", None),
        'not JSON: {"a":1}{"a":2}', 'a whole number of more than 38 digits: {"a":1234567890123456789012345678901234567890}',
        'a number too large for a DOUBLE: {"a":1e400}', 'a number too large for a DOUBLE: {"b":[-1e400]}',
        ("1.0E308", '": 1e400,'),
    ]  # fmt: skip


@pytest.mark.slow
def test_json_over_several_lines(read_json):
    values = [{"a": i, "b": "],{ }\n{" * i} for i in range(30)]
    expected = [(str(i), "],{ }\n{" * i) for i in range(30)]
    texts = [json.dumps(values, indent=indent) for indent in (None, 2)]
    texts += ["\n".join(json.dumps(value, indent=indent) for value in values) for indent in (None, 2)]
    assert read_json(*texts) == [expected] * 4
    assert read_json("", "  \n", "[]", " [ ] \n") == [[], [], [], []]


def test_json_zeros_keep_their_sign(read_json):
    values = [{"a": -0.0, "b": "-0.0", "c\\": '\\": -0.0, "'}, {"a": -0.01, "b": [-0.0], "c\\": "-0.0"}, {"a": 0.0, "b": 'x"y'}]
    lines = "".join(json.dumps(one, indent=None) + "\n" for one in values)
    expected = [("-0.0", "-0.0", '\\": -0.0, "'), ("-0.01", "[-0.0]", "-0.0"), ("0", 'x"y', None)]
    assert read_json(lines, json.dumps(values, indent=1)) == [expected] * 2
    assert read_json('{"a": -0.00}\n{"a": -0.0e0}\n{"a": -0}\n{"a": "-0.0}\n')[0] == [
        ("-0.0",), ("-0.0",), ("0",), 'not JSON: {"a": "-0.0}',
    ]  # fmt: skip


@pytest.mark.slow
def test_json_files_that_cannot_be_read(read_json):
    texts = ['[{"a": 1}, {"a": ', '[{"a": 1}', '[{"a": 1}] x', '[{"a": 1} {"a": 2', '[{"a": 1, "a": 2}]', '{"a": 1,']
    texts += ['{"a": [\n{"b": 1}\n{"b": 2}\n]}']
    assert all("is no JSON: cut off, more after its array, or a key twice" in one for one in read_json(*texts))
    huge, long = read_json('[{"a": 1e400}]', '[{"a": 1},\n{"a": 1234567890123456789012345678901234567890}]')
    assert "has a number too large for a DOUBLE" in huge and "has a whole number of more than 38 digits" in long
    for text in (b'[{"a":"caf\xe9"},{"a":"x"}]\n', b'{"a":\n"caf\xe9"}'):
        assert "0.json has bytes that are no text in this encoding\n" in read_json(text)[0]


@pytest.mark.slow
def test_a_bad_first_line_of_json_is_rejected_as_others_are(read_json):
    texts = [b"null", b"1", b'{"a":1} // c', b"[1]", b"hello", b'{"a":"caf\xe9"}', b'{"a":"caf\xe9', b'{"a":{"b":1}']
    for text, found in zip(texts, read_json(*(text + b'\n{"a":2}\n' for text in texts)), strict=True):
        assert len(found) == 2 and found[0].endswith(f": {text.decode(errors='replace')}") and found[1] == ("2",), text


def test_json_lines_that_are_rejected_say_nothing_of_types(spark, tmp_path):
    path = tmp_path / "t.json"
    path.write_text('{"b": 1, "a": 2}\n{"a": "x"} 2\n{"a": 1e400}\n[{"a": "x"}]\n{"c": "x"}, {"b": "x"}\n')
    opened = open_json(spark, {"t": str(path)}, frozenset())
    assert [(name, type_of(mask)) for name, mask in opened.masks.items()] == [("b", pa.int64()), ("a", pa.int64())]


def test_sources(tmp_path):
    names = (
        "orders/b.csv", "orders/a.csv", "people.jsonl.gz", "x y.parquet", "notes.md", "_temp.csv", ".hidden.csv",
        "orders/_old.csv.gz", "orders/_SUCCESS", "orders/_metadata", "orders/.a.csv.crc", "schema.sql",
    )  # fmt: skip
    shop = lay(tmp_path / "shop", dict.fromkeys(names, ""))
    found = find_sources([shop], None, None)
    assert [(t.name, t.format, [Path(f).name for f in t.files]) for t in found.tables] == [
        ("orders", "csv", ["a.csv", "b.csv"]),
        ("people", "json", ["people.jsonl.gz"]),
        ("x y", "parquet", ["x y.parquet"]),
    ]
    skipped = [".hidden.csv", "_temp.csv", "notes.md", "orders/_old.csv.gz"]
    assert sorted(found.skipped) == [shop / name for name in skipped] and found.schema == shop / "schema.sql"
    told = summary_text({"counts": {"tables": {}, "skipped": ["_temp.csv", "notes.md"]}}, "out").splitlines()
    assert told == ["not imported, its name begins with . or _: _temp.csv", "not imported, its kind is not known: notes.md"]
    one = find_sources([shop / "orders", shop / "orders" / "a.csv"], None, "all").tables
    assert [(t.name, len(t.files)) for t in one] == [("all", 2)], "a file that is named twice is read once"
    parts = lay(tmp_path / "parts", {"a.csv": "", "b.csv": "", "t/k=/_x": ""})
    for sources, table, said in (
        ([parts], None, r"COLUMN=VALUE \(none is empty; __HIVE_DEFAULT_PARTITION__ is NULL\)"),
        ([tmp_path / "none"], None, "no file or folder"),
        ([shop / "notes.md"], None, r"what kind of file is this.*or another of Spark's, such as avro"),
        ([shop], "all", "different kinds"),
        ([parts / "a.csv", parts / "b.csv"] * 2, None, r'(?s)"a" is there twice.*"b" is there twice.*rename all but one'),
        ([shop / "orders"], "a/b", "cannot be a table"),
    ):
        with pytest.raises(PipelineError, match=said):
            find_sources(sources, None, table)
    with pytest.raises(PipelineError, match=r'"T" is there twice: .*x/T\nleave one of them out'):
        tables_elsewhere("parquet", {}, ["s3://x/t", "s3://x/T"], ())


def test_names_of_tables_elsewhere_and_of_formats(tmp_path):
    tables = tables_elsewhere("table", {}, ["shop.orders", "spark_catalog.shop.`items`"], ())
    tables += tables_elsewhere("avro", {}, ["s3://x/v1.0", "s3://x/people.avro", "s3://x/sales"], ())
    assert [one.name for one in tables] == ["orders", "items", "v1.0", "people", "sales"]
    for format, name in (("CSV", "t.txt"), ("Parquet", "t.parquet")):
        request = ImportRequest((str(lay(tmp_path, {name: ""}) / name),), tmp_path / "out", format=format)
        (table,) = planned(request).found.tables
        assert (table.name, table.format, list(table.files)) == ("t", format.lower(), [str(tmp_path / name)])


def test_damaged_arrow_offsets_are_an_error(tmp_path):
    rows = pa.table({"s": [f"value {i}" for i in range(1000)]})
    path, target = tmp_path / "t.arrow", tmp_path / "t.parquet"
    with pa.ipc.new_file(str(path), rows.schema) as writer:
        writer.write_table(rows)
    assert pq.read_table(prepare(path, target, "arrow", "utf-8")) == rows
    path.write_bytes(path.read_bytes().replace((21).to_bytes(4, "little"), (1 << 30).to_bytes(4, "little"), 1))
    with pytest.raises(PipelineError, match=r"t\.arrow is damaged, incomplete or no arrow file"):
        prepare(path, tmp_path / "new.parquet", "arrow", "utf-8")


def test_arrow_columns_that_parquet_lacks_become_nulls_of_a_type_that_imports_lack(tmp_path):
    spans = pa.array([(1, 2, 3), None], pa.month_day_nano_interval())
    rows = pa.table({"a": [1, 2], "span": spans, "b": ["x", "y"], "many": pa.array([[], None], pa.list_(spans.type))})
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(str(path), rows.schema) as writer:
        writer.write_table(rows)
    made = pq.read_table(prepare(path, tmp_path / "t.parquet", "arrow", "utf-8"))
    assert made.select(["a", "b"]) == rows.select(["a", "b"]) and made.column_names == rows.column_names
    opened = Opened({"t.arrow": "t.arrow"}, dict(zip(made.column_names, made.schema.types, strict=True)), no_spark)
    found = resolve("t", [opened], None, False, {})
    assert found.dropped["span"] == "is struct<month_day_nano_interval: null>, which imports lack"
    assert [column.name for column in found.columns] == ["a", "b"]


def test_a_name_that_is_not_utf_8(tmp_path):
    (tmp_path / os.fsdecode(b"caf\xe9.md")).touch()
    lay(tmp_path, {"a.csv": "x\n1\n"})
    assert len(find_sources([tmp_path], None, None).tables) == 1, "it is passed over"
    (tmp_path / os.fsdecode(b"caf\xe9.csv")).touch()
    with pytest.raises(PipelineError, match="is not UTF-8, as Arrow and Spark want it: rename it"):
        find_sources([tmp_path], None, None)


def test_declarations_at_a_uri_are_no_rows(spark, tmp_path):
    folder = lay(tmp_path / "t", {"a.csv": "x\n1\n", "schema.sql": "create table t (x int);"})
    found = listed(spark, Source("t", "csv", path=f"file:{folder}"))
    assert [Path(file).name for file in found.files] == ["a.csv"]


def test_a_csv_name_that_is_longer_than_the_reader_takes(tmp_path):
    files, path = CsvFiles(None, {}), lay(tmp_path, {"a.csv": "x" * 200_000 + ",b\n1,2\n"}) / "a.csv"
    with pytest.raises(PipelineError, match=r"a\.csv, line 1: field larger than field limit"):
        files.open("a.csv", str(path), files.look({"a.csv": str(path)})["a.csv"], [])


@pytest.mark.parametrize("name", ["nosuch", "a\0b", "é"])
def test_an_encoding_that_is_none(name):
    with pytest.raises(PipelineError, match="there is no encoding of text"):
        codec_name(name)


@pytest.mark.parametrize("place", ["t.csv", "shop/t.csv", "shop/t/part.csv"])
def test_a_pipe_is_not_waited_for(tmp_path, place):
    (tmp_path / "shop" / "t").mkdir(parents=True)
    os.mkfifo(tmp_path / place)
    with pytest.raises(PipelineError, match="is a pipe, socket or device, not a file with rows"):
        find_sources([tmp_path / place.split("/")[0]], None, None)
