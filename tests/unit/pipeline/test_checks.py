"""Declared keys and foreign keys against the data: every contradiction is found, and nothing else."""

from __future__ import annotations

import json
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from experiments.pipeline.analyze import checks as checks_file
from experiments.pipeline.analyze.checks import checks, common_type, proved, run_check, tasks_of
from experiments.pipeline.sketches import frequent
from experiments.pipeline.sketches.column import ColumnSketch, merge_sketches, sketch_of
from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset


def sketches_of(catalog: Catalog, folder: Path) -> dict[str, dict[str, ColumnSketch]]:
    found: dict[str, dict[str, ColumnSketch]] = {}
    for name, table in catalog.tables.items():
        rows = pa.concat_tables([pq.read_table(file) for file in table.files]).combine_chunks()
        columns = {c.name: rows[c.name].cast(c.type).combine_chunks() for c in table.columns}
        found[name] = {n: merge_sketches([sketch_of(column[:40]), sketch_of(column[40:])]) for n, column in columns.items()}
    return found


def found_against(catalog: Catalog) -> list[tuple[str, int, list[str] | None]]:
    """(kind, rows, example) of each declaration, by its tasks, which go through JSON as in Spark."""
    found = []
    for check in checks(catalog, catalog.tables):
        results = [run_check(json.loads(json.dumps(task))) for task in tasks_of(check, catalog)]
        examples = [result["against"] for result in results if result["against"] is not None]
        found.append((check["kind"], sum(result["rows"] for result in results), examples[0] if examples else None))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_against_counting_every_value(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(checks_file, "SHARE", rng.choice([7, 50, 10_000]))
    monkeypatch.setattr(frequent, "CAPACITY", rng.choice([5, 8192]))
    kind = rng.choice(["number", "text", "pair", "decimal"])

    def value(i: int) -> Any:
        return f"v{i}" if kind == "text" else Decimal(i).scaleb(-1) if kind == "decimal" else i

    keys = [(i // 10, i % 10) if kind == "pair" else (i,) for i in range(rng.choice([1, 10, 90]))]
    if rng.random() < 0.4:
        keys.append(rng.choice(keys))
    if rng.random() < 0.6:
        rng.shuffle(keys)
    known = set(keys)
    rows: list[tuple[int | None, ...]] = [rng.choice(keys) for _ in range(rng.choice([0, 5, 120]))]
    if rng.random() < 0.5:
        rows += [tuple(part + 1000 for part in keys[0])] * rng.randint(1, 3)
    rows += [(None,) * len(keys[0])] * 2 + ([(0, None)] if kind == "pair" else [])
    rng.shuffle(rows)
    names = ["a", "b"][: len(keys[0])]
    types = {"text": pa.string(), "decimal": pa.decimal128(9, 1)}
    here = types.get(kind, pa.int32())
    there = {"decimal": pa.decimal128(12, 3), "number": pa.int64()}.get(kind, here)

    def table(data: list[Any], type: pa.DataType) -> pa.Table:
        columns = {name: [None if row[i] is None else value(row[i]) for row in data] for i, name in enumerate(names)}
        return pa.table({name: pa.array(column, type) for name, column in columns.items()})

    pq.write_table(table(keys, there), tmp_path / "target.parquet")
    pq.write_table(table(rows, here), tmp_path / "t.parquet")
    columns, sql = ", ".join(names), {"text": "varchar", "decimal": "decimal(9, 1)"}.get(kind, "integer")
    fields = ", ".join(f"{name} {sql}" for name in names)
    (tmp_path / "schema.sql").write_text(
        f"create table target ({fields}, primary key ({columns}));"
        f"create table t ({fields}, foreign key ({columns}) references target ({columns}))",
        "utf-8",
    )
    catalog = open_dataset(tmp_path)
    twice = [key for key, count in Counter(keys).items() if count > 1]
    lost = [row for row in rows if None not in row and row not in known]
    by_kind = {kind: (rows, example) for kind, rows, example in found_against(catalog)}
    assert by_kind["key"][0] == len(twice) and (by_kind["key"][1] is not None) == bool(twice)
    assert by_kind["foreign key"][0] == len(lost)
    if lost:
        shown = {tuple(f"{value(part):.3f}" if kind == "decimal" else str(value(part)) for part in row) for row in lost}
        assert tuple(by_kind["foreign key"][1] or ()) in shown
    sketches = sketches_of(catalog, tmp_path)
    for check in checks(catalog, catalog.tables):
        if proved(check, sketches):
            assert not (twice if check["kind"] == "key" else lost)


def test_sketches_prove_what_is_sorted_or_dense(tmp_path: Path) -> None:
    """Keys in stored order, and references to whole numbers without gaps, need no further look at the data."""
    rows = 20_000
    pq.write_table(pa.table({"k": pa.array(range(5, rows + 5))}), tmp_path / "target.parquet")
    pq.write_table(pa.table({"k": pa.array([5 + i * 7 % rows for i in range(3 * rows)])}), tmp_path / "t.parquet")
    pq.write_table(pa.table({"k": pa.array([rows + 5] * 10)}), tmp_path / "u.parquet")
    (tmp_path / "schema.sql").write_text(
        "create table target (k bigint primary key); create table t (k bigint references target);"
        "create table u (k bigint references target)",
        "utf-8",
    )
    catalog = open_dataset(tmp_path)
    sketches = sketches_of(catalog, tmp_path)
    assert [(c["kind"], c["table"], proved(c, sketches)) for c in checks(catalog, catalog.tables)] == [
        ("key", "target", True),
        ("foreign key", "t", True),
        ("foreign key", "u", False),
    ]
    assert [rows for _, rows, _ in found_against(catalog)] == [0, 0, 10]


def test_floats_and_files_of_other_formats(tmp_path: Path) -> None:
    """-0.0 is 0.0 and NaN is NaN, in CSV files too."""
    target = pa.table({"x": [0.0, float("nan"), 1.5]})
    pacsv.write_csv(target, tmp_path / "target.csv")
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), pa.schema([("x", pa.float32())])) as writer:
        writer.write_table(pa.table({"x": pa.array([-0.0, float("nan"), None, 1.5, 2.5], pa.float32())}))
    (tmp_path / "schema.sql").write_text(
        "create table target (x double primary key); create table t (x float references target)", "utf-8"
    )
    assert found_against(open_dataset(tmp_path)) == [("key", 0, None), ("foreign key", 1, ["2.5"])]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.decimal128(9, 2), pa.decimal128(12, 4), pa.decimal128(38, 4)),
        (pa.int64(), pa.decimal128(9, 2), pa.decimal128(38, 2)),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.date32(), pa.timestamp("us"), pa.timestamp("us")),
        (pa.string(), pa.string(), pa.string()),
    ],
)
def test_common_types(one: pa.DataType, other: pa.DataType, expected: pa.DataType) -> None:
    assert common_type(one, other) == common_type(other, one) == expected
