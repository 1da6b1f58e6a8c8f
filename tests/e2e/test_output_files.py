"""Files that appear whole or not at all, and rows in every format."""

import io
import json
import os
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor.atomic import atomic_output
from executor.formats import FORMATS, show_table, unique_names, write_rows
from experiments.commands.output import sink as sink_of
from optimizer.errors import ExecutionError, OutputError

ROWS = pa.table(
    [
        pa.array([Decimal("0.0000001"), None, Decimal("12345678901234567890.1234567")], pa.decimal128(38, 7)),
        pa.array(["", "NULL", None]),
        pa.array(["a\x1b[31m\n", "日本", None]),
        pa.array([1.5, float("nan"), float("-inf")]),
        pa.array([0.1, None, 1], pa.float32()),
        pa.array([date(2020, 1, 1)] * 3),
        pa.array([datetime(2020, 1, 1, 3, 4, 5, 600)] * 3, pa.timestamp("us")),
        pa.array([True, None, False]),
        pa.array([2**62, 1, None]),
    ],
    names=["d", "s", "s", "f", "f4", "dt", "ts", "b", "i"],
)


def written(rows, format: str) -> bytes:
    sink = io.BytesIO()
    assert write_rows(rows, format, sink) == 3
    return sink.getvalue()


@pytest.mark.parametrize("format", FORMATS)
def test_tables_and_streams_are_written_alike(format):
    stream = pa.RecordBatchReader.from_batches(ROWS.schema, iter(ROWS.to_batches(max_chunksize=1)))
    if format == "parquet":
        streamed, whole = (pq.read_table(io.BytesIO(written(rows, format))) for rows in (stream, ROWS))
        assert repr(streamed.to_pylist()) == repr(whole.to_pylist())
    else:
        assert written(stream, format) == written(ROWS, format)


def test_json_keeps_every_digit():
    found = json.loads(written(ROWS, "json"), parse_float=Decimal)
    assert [row["d"] for row in found] == ROWS.column(0).to_pylist()
    assert [row["f"] for row in found] == [Decimal("1.5"), "NaN", "-Infinity"]
    assert found[0] == {
        "d": Decimal("0.0000001"), "s": "", "s_1": "a\x1b[31m\n", "f": Decimal("1.5"), "f4": Decimal("0.1"), "dt": "2020-01-01",
        "ts": "2020-01-01 03:04:05.000600", "b": True, "i": 2**62,
    }  # fmt: skip


def test_csv_keeps_null_and_empty_apart():
    lines = written(ROWS, "csv").decode().split("\n")
    assert lines[1].startswith('"0.0000001","","a\x1b[31m')
    assert lines[4].startswith('"12345678901234567890.1234567",,,-inf,1,')


def test_parquet_has_the_types():
    found = pq.read_table(io.BytesIO(written(ROWS, "parquet")))
    assert found.schema.types == ROWS.schema.types
    assert found.column(0).equals(ROWS.column(0)) and found.column_names[1:3] == ["s", "s_1"]


def test_text_table_is_aligned_and_harmless():
    lines = show_table(ROWS).splitlines()
    assert "\x1b" not in "".join(lines) and "a\\x1b[31m\\n" in lines[2]
    assert "'NULL'" in lines[3] and "日本  " in lines[3]
    assert lines[4].startswith("12345678901234567890.1234567 │ NULL   │ NULL")


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["a", "a", "a", "a_1"], ["a", "a_2", "a_3", "a_1"]), (["a", "b"], ["a", "b"]), (["", ""], ["", "_1"])],
)
def test_unique_names(names, expected):
    assert unique_names(names) == expected
    assert len(set(unique_names(names))) == len(names)


def test_nothing_is_left_when_writing_fails(tmp_path):
    target = tmp_path / "out"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_output(target) as file:
        file.write(b"half" * (1 // 0))
    assert target.read_text() == "old" and os.listdir(tmp_path) == ["out"]


def test_replaced_files_keep_their_mode_and_links(tmp_path):
    target, link = tmp_path / "out", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    with atomic_output(link) as file:
        file.write(b"new")
    assert link.is_symlink() and target.read_text() == "new" and target.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("letter", ["漢", "é", "x"])
def test_names_may_be_as_long_as_the_disk_takes(tmp_path, letter):
    path = tmp_path / (letter * (255 // len(letter.encode())))
    with atomic_output(path) as file:
        file.write(b"x")
    assert path.read_bytes() == b"x"


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "no" / "out", tmp_path / "file" / "out"):
        with pytest.raises(OutputError, match="cannot write"), atomic_output(path):
            pytest.fail("the block must not start")
    with pytest.raises(OutputError, match="cannot write a file without a name"), atomic_output(""):
        pytest.fail("the block must not start")


def test_devices_are_written_directly():
    with atomic_output(os.devnull) as file:
        file.write(b"gone")
    assert not os.path.isfile(os.devnull)


def test_control_characters_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"a\x85": ["\x9b31m", "ä\x1b[0m\x7f"]})
    sink = io.BytesIO()
    write_rows(rows, "json", sink)
    text = sink.getvalue().decode()
    assert text.replace("\n", "").isprintable() and [row["a\x85"] for row in json.loads(text)] == rows.column(0).to_pylist()
    monkeypatch.setattr("sys.stdout", terminal := io.TextIOWrapper(io.BytesIO(), "utf-8"))
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    with sink_of(None) as file:
        write_rows(rows, "csv", file)
    shown = terminal.buffer.getvalue().decode()  # type: ignore[attr-defined]
    assert "ä" in shown and "\ufffd" in shown and shown.replace("\n", "").isprintable()


@pytest.mark.parametrize("format", ["table", "csv", "json"])
def test_years_that_python_lacks(format: str) -> None:
    days = pa.array([0, 10**7, -(10**6), None], pa.int32()).cast(pa.date32())
    rows = pa.table({"d": days, "t": days.cast(pa.timestamp("us"))})
    sink = io.BytesIO()
    write_rows(rows, format, sink)
    text = sink.getvalue().decode()
    for day in ("29349-01-26", "-0768-02-04"):
        assert day in text and f"{day} 00:00:00" in text
    with pytest.raises(ExecutionError, match=r"a DATE\[\] has a date beyond the years 1 to 9999"):
        write_rows(pa.table({"l": pa.ListArray.from_arrays([0, 4], days)}), format, io.BytesIO())
