"""Declared keys and foreign keys against the data: every contradiction is found, and nothing else."""

import random
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from experiments.pipeline.analyze import keys as module
from experiments.pipeline.analyze.keys import count_against, declared, held_by_few, proved
from experiments.pipeline.analyze.pieces import Sketches
from experiments.pipeline.intake.keys import duplicates, orphans
from experiments.pipeline.intake.raw import RawTable
from experiments.pipeline.sketches import frequent
from experiments.pipeline.sketches.column import merge_sketches, sketch_of
from optimizer.catalog.declarations import ColumnDeclaration
from optimizer.catalog.findings import Constraint
from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset
from tests.pipeline.conftest import lay

Against = dict[Constraint, tuple[int, list[str]]]


def sketches_of(catalog: Catalog) -> dict[str, Sketches]:
    found: dict[str, Sketches] = {}
    for name, table in catalog.tables.items():
        rows = pa.concat_tables([pq.read_table(file) for file in table.files]).combine_chunks()
        columns = {c.name: rows[c.name].cast(c.type).combine_chunks() for c in table.columns}
        halves = {(n,): [sketch_of(column[:40]), sketch_of(column[40:])] for n, column in columns.items()}
        found[name] = {names: merge_sketches(parts) for names, parts in halves.items()}
    return found


def against(catalog: Catalog, spark: SparkSession) -> Against:
    return count_against(catalog, declared(catalog, catalog.tables), spark, print)


KINDS = {
    "number": (pa.int32(), pa.int64(), "integer", lambda i: i),
    "text": (pa.string(), pa.string(), "varchar", lambda i: f"v{i}"),
    "decimal": (pa.decimal128(9, 1), pa.decimal128(12, 3), "decimal(9, 1)", lambda i: Decimal(i).scaleb(-1)),
    "day": (pa.date32(), pa.date32(), "date", lambda i: date.fromordinal(730000 + i)),
    "pair": (pa.int32(), pa.int32(), "integer", lambda i: i),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("kinds", [("number", "text", "pair"), ("number", "decimal", "day", "text")], ids=" ".join)
def test_against_counting_every_value(
    kinds: tuple[str, ...], tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(0)
    monkeypatch.setattr(frequent, "CAPACITY", 5)
    schema, expected = [], dict[str, tuple[int, int, set[tuple[str, ...]]]]()
    for number, kind in enumerate(kinds):
        here, there, sql, value = KINDS[kind]
        names = ["a", "b"] if kind == "pair" else ["a"]
        keys = [(i // 10, i % 10)[: len(names)] if len(names) > 1 else (i,) for i in range(rng.choice([1, 10, 90]))]
        keys += [rng.choice(keys)] if rng.random() < 0.4 else []
        if rng.random() < 0.6:
            rng.shuffle(keys)
        rows: list[tuple[int | None, ...]] = [rng.choice(keys) for _ in range(rng.choice([0, 5, 120]))]
        if rng.random() < 0.6:
            rows += [tuple(part + 1000 for part in keys[0])] * rng.randint(1, 3)
        rows += [(None,) * len(names)] * 2 + ([(0, None)] if len(names) > 1 else [])
        rng.shuffle(rows)

        def table(data: list[Any], type: pa.DataType, names: list[str] = names, value: Any = value) -> pa.Table:
            columns = {name: [None if row[i] is None else value(row[i]) for row in data] for i, name in enumerate(names)}
            return pa.table({name: pa.array(column, type) for name, column in columns.items()})

        pq.write_table(table(keys, there), tmp_path / f"target{number}.parquet")
        pq.write_table(table(rows, here), tmp_path / f"t{number}.parquet")
        fields, columns = ", ".join(f"{name} {sql}" for name in names), ", ".join(names)
        schema.append(f"create table target{number} ({fields}, primary key ({columns}));")
        schema.append(f"create table t{number} ({fields}, foreign key ({columns}) references target{number} ({columns}));")
        lost = [row for row in rows if None not in row and row not in set(keys)]
        shown = {tuple(f"{value(part):.3f}" if sql.startswith("decimal") else str(value(part)) for part in row) for row in lost}
        expected[str(number)] = (sum(count > 1 for count in Counter(keys).values()), len(lost), shown)
    (tmp_path / "schema.sql").write_text("".join(schema), "utf-8")
    catalog = open_dataset(tmp_path)
    found, sketches = against(catalog, spark), sketches_of(catalog)
    assert len(found) == 2 * len(kinds)
    for one, (count, example) in found.items():
        twice, lost_rows, shown = expected[(one.target or one.table).removeprefix("target")]
        assert count == (lost_rows if one.target else twice), one
        assert not one.target or not count or tuple(example) in shown
        assert not (proved(one, sketches) and count)
        assert held_by_few(catalog, one) == (not count and "decimal" not in str(catalog.tables[one.table].columns[0].type)), one
    assert sum(count > 0 for count, _ in found.values()) >= len(kinds) - 1


def test_sketches_prove_what_is_sorted_or_dense(tmp_path: Path) -> None:
    """Keys in stored order, and references to whole numbers without gaps, need no further look at the data."""
    rows = 20_000
    keys = {"target": range(5, rows + 5), "t": [5 + i * 7 % rows for i in range(3 * rows)], "u": [rows + 5] * 10}
    schema = "create table target (k bigint primary key); create table t (k bigint references target);"
    schema += "create table u (k bigint references target)"
    lay(tmp_path, {f"{name}.parquet": pa.table({"k": values}) for name, values in keys.items()} | {"schema.sql": schema})
    catalog = open_dataset(tmp_path)
    sketches = sketches_of(catalog)
    found = [(one.table, one.target, proved(one, sketches)) for one in declared(catalog, catalog.tables)]
    assert found == [("target", "", True), ("t", "target", True), ("u", "target", False)]


def test_unique_columns_may_be_null_several_times(tmp_path: Path, spark: SparkSession) -> None:
    declared = "create table {} (a int, b int, unique (a, b));"
    files = {"t.csv": "a,b\n1,1\n,2\n,2\n3,\n3,\n", "u.csv": "a,b\n1,1\n,2\n,2\n3,4\n3,4\n"}
    lay(tmp_path, {**files, "schema.sql": declared.format("t") + declared.format("u")})
    catalog = open_dataset(tmp_path)
    assert not any(table.keys for table in catalog.tables.values())
    key = ("a", "b")
    assert against(catalog, spark) == {Constraint("t", key): (0, []), Constraint("u", key): (1, ["3", "4"])}


def test_odd_values_and_other_formats(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """-0.0 is 0.0 and NaN is NaN, in CSV files too, which several tasks read a share of each."""
    monkeypatch.setattr(module, "_ROWS", 2)
    pacsv.write_csv(pa.table({"x": [0.0, float("nan"), 1.5]}), tmp_path / "target.csv")
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), pa.schema([("x", pa.float32())])) as writer:
        writer.write_table(pa.table({"x": pa.array([-0.0, float("nan"), None, 1.5, 2.5], pa.float32())}))
    moments = [datetime(2020, 1, 1, 0, 0, 0, 1), datetime(2020, 1, 1, 0, 0, 0, 1)]
    pq.write_table(pa.table({"m": pa.array(moments, pa.timestamp("us")), "b": [b"\xff\x00"] * 2}), tmp_path / "m.parquet")
    pq.write_table(pa.table({"b": [True, True]}), tmp_path / "bools.parquet")
    (tmp_path / "schema.sql").write_text(
        "create table target (x double primary key); create table t (x float references target);"
        "create table m (m timestamp, b blob, primary key (m, b)); create table bools (b boolean primary key)",
        "utf-8",
    )
    assert {one.table: found for one, found in against(open_dataset(tmp_path), spark).items()} == {
        "target": (0, []), "t": (1, ["2.5"]), "m": (1, ["2020-01-01 00:00:00.000001", "/wA="]), "bools": (1, ["true"]),
    }  # fmt: skip


def test_an_import_finds_repeated_nan(tmp_path: Path, spark: SparkSession) -> None:
    """As an analysis does: it would contradict the key that the import has let pass."""
    rows = {"c0": [float("nan"), 1.0, float("nan"), None, None, 0.0, -0.0], "reason": pa.nulls(7, pa.string())}
    pq.write_table(pa.table(rows), tmp_path / "part-00000.parquet")
    table = RawTable(lambda: spark, "t", [], [ColumnDeclaration("x", pa.float64(), "DOUBLE", False)], tmp_path)
    table.parts = [{"file": "t.csv", "rows": 7}]
    found = duplicates(table, ["x"])
    assert found is not None and sorted((row["part"], row["place"]) for row in found.collect()) == [(0, 2), (0, 6)]
    other = RawTable(lambda: spark, "u", [], table.columns, tmp_path)
    other.parts = table.parts
    assert other.remove(found, "twice", ["x"]) == 2
    lost = orphans(table, ["x"], other, ["x"])
    assert lost is not None and lost.count() == 0
