"""Stored statistics: what is written comes back, for exactly the files it was made from, or an error says what to do."""

import datetime
import json
import math
import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from optimizer.catalog.fingerprint import file_identities
from optimizer.catalog.histogram import Histogram
from optimizer.catalog.statistics import stored_statistics, write_statistics
from optimizer.catalog.table import ColumnStats, Table
from optimizer.catalog.value_text import reader, text
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError

COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int64(), [-5, 0, 2**62]),
    "f": (pa.float64(), [-math.inf, 0.1, 1e300]),
    "d": (pa.decimal128(38, 3), [Decimal("-0.001"), Decimal("7.000"), Decimal("9" * 35 + ".125")]),
    "b": (pa.bool_(), [False, False, True]),
    'a "text", ü': (pa.string(), ["", "line\nbreak", "é\U0001f600"]),
    "raw": (pa.binary(), [b"", b"\x00\xff", b"\xff"]),
    "day": (pa.date32(), [datetime.date(1, 1, 1), datetime.date(2024, 2, 29), datetime.date(9999, 12, 31)]),
    "t": (
        pa.timestamp("us"),
        [datetime.datetime(1969, 1, 1), datetime.datetime(2024, 5, 6, 7, 8, 9, 10), datetime.datetime(2030, 1, 1)],
    ),
}


def dataset(folder: Path, name: str = "sales") -> Table:
    pq.write_table(pa.table({n: pa.array(values, type) for n, (type, values) in COLUMNS.items()}), folder / f"{name}.parquet")
    return open_dataset(folder).tables[name]


def analyzed(table: Table) -> Table:
    columns = {}
    for name, (_, (low, middle, high)) in COLUMNS.items():
        histogram = Histogram((low, middle, high), (10.0, 7.5), (1.0, 2.25))
        columns[name] = ColumnStats(0, low, high, 3.0, 4.5, ((middle, 0.25), (high, 0.125)), histogram, ((1, 9), (20, 3)))
    columns["i"] = replace(columns["i"], histogram=None, mcv=(), min=None, max=None, degrees=())
    return replace(table, stats=replace(table.stats, columns=columns, distinct={("i", "f"): 3.0}, analyzed="today, all rows"))


def write(folder: Path, table: Table) -> Path:
    return write_statistics(folder, [table], {table.name: file_identities(table.files)})


def test_all_figures_come_back(tmp_path: Path) -> None:
    table = analyzed(dataset(tmp_path))
    write(tmp_path, table)
    assert open_dataset(tmp_path).tables["sales"].stats == table.stats


def test_values_keep_their_types() -> None:
    for type, values in COLUMNS.values():
        for value in values:
            again = reader(type)(text(value))
            assert again == value and again.__class__ is value.__class__
    assert math.isnan(reader(pa.float64())(text(math.nan))) and math.copysign(1, reader(pa.float64())(text(-0.0))) == -1


def test_only_for_the_files_that_were_read(tmp_path: Path) -> None:
    table = analyzed(dataset(tmp_path))
    write(tmp_path, table)
    before = open_dataset(tmp_path)
    os.utime(table.files[0], ns=(1, 1))
    touched = open_dataset(tmp_path).tables["sales"].stats
    assert touched.analyzed == "" and touched.columns["f"].ndv is None and touched.columns["f"].histogram is None
    pq.write_table(pa.table({n: pa.array(values[:2], type) for n, (type, values) in COLUMNS.items()}), table.files[0])
    changed = open_dataset(tmp_path)
    assert changed.tables["sales"].stats.rows == 2 and changed.tables["sales"].stats.distinct == {}
    assert changed.digest != before.digest


def test_a_declared_key_still_says_how_many_values_differ(tmp_path: Path) -> None:
    table = analyzed(dataset(tmp_path))
    write(tmp_path, table)
    (tmp_path / "schema.sql").write_text("create table sales (d decimal(38, 3) primary key)", "utf-8")
    stats = open_dataset(tmp_path).tables["sales"].stats
    assert stats.columns["d"].ndv == 3.0 and stats.columns["d"].histogram == table.stats.columns["d"].histogram


def test_a_column_declared_with_another_type_since(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n", "utf-8")
    table = open_dataset(tmp_path).tables["t"]
    columns = {name: replace(s, ndv=2.0, mcv=((1 if name == "a" else "x", 0.5),)) for name, s in table.stats.columns.items()}
    write(tmp_path, replace(table, stats=replace(table.stats, columns=columns, analyzed="now")))
    (tmp_path / "schema.sql").write_text("create table t (a varchar, b varchar)", "utf-8")
    stats = open_dataset(tmp_path).tables["t"].stats
    assert stats.columns["a"].mcv == () and stats.columns["a"].min == "1" and stats.columns["b"].mcv == (("x", 0.5),)


def test_other_tables_stay_and_one_older_version_too(tmp_path: Path) -> None:
    one = analyzed(dataset(tmp_path, "one"))
    two = analyzed(dataset(tmp_path, "two"))
    first = write(tmp_path, one)
    second = write(tmp_path, two)
    assert first.exists() and second.exists()
    found = open_dataset(tmp_path).tables
    assert found["one"].stats == one.stats and found["two"].stats == two.stats
    third = write(tmp_path, replace(two, stats=replace(two.stats, analyzed="later")))
    assert not first.exists() and second.exists() and third.exists()
    assert open_dataset(tmp_path).tables["two"].stats.analyzed == "later"
    assert write(tmp_path, replace(two, stats=replace(two.stats, analyzed="later"))) == third and second.exists()


def test_an_interrupted_write_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = analyzed(dataset(tmp_path))
    write(tmp_path, table)
    real, calls = os.replace, 0

    def fail_at(position: int) -> Any:
        def replace_or_fail(source: Any, target: Any) -> None:
            nonlocal calls
            calls += 1
            if calls == position:
                raise OSError(28, "No space left on device", str(target))
            real(source, target)

        return replace_or_fail

    for position in (1, 2, 3):
        calls = 0
        monkeypatch.setattr(os, "replace", fail_at(position))
        with pytest.raises(OSError, match="No space"):
            write(tmp_path, replace(table, stats=replace(table.stats, analyzed=f"again {position}")))
        monkeypatch.setattr(os, "replace", real)
        assert open_dataset(tmp_path).tables["sales"].stats == table.stats
        assert not list((tmp_path / "_planscope").rglob("*.part"))
    calls = 0


@pytest.mark.parametrize("what", ["pointer", "catalog", "histograms", "gone", "value", "shape", "number"])
def test_damaged_files_say_what_to_do(tmp_path: Path, what: str) -> None:
    version = write(tmp_path, analyzed(dataset(tmp_path)))
    home = tmp_path / "_planscope"
    if what == "pointer":
        (home / "statistics.json").write_text('{"version": 1', "utf-8")
    elif what == "catalog":
        (version / "catalog.json").write_text('{"tables": 3}', "utf-8")
    elif what == "histograms":
        (version / "histograms.parquet").write_bytes(b"PAR1")
    elif what == "gone":
        (version / "catalog.json").unlink()
    else:
        content = json.loads((version / "catalog.json").read_text("utf-8"))
        day = content["tables"]["sales"]["columns"]["day"]
        day.update({"value": {"min": "2024-02-31"}, "shape": {"mcv": [7]}, "number": {"ndv": "many"}}[what])
        (version / "catalog.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(CatalogError, match=r"delete _planscope/statistics.json .* planscope data analyze makes it again"):
        open_dataset(tmp_path)


def test_without_statistics(tmp_path: Path) -> None:
    dataset(tmp_path)
    assert stored_statistics(tmp_path) is None
