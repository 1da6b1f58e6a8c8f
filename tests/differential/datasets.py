"""A pool of small random datasets with one schema: NULLs, duplicates, empty tables, NaN, odd text, month ends.

Values are chosen so that results do not depend on the order of evaluation: doubles are multiples of 1/4 (sums are
exact), and numbers are small (nothing overflows that a query did not mean to overflow).
"""

import functools
import math
import random
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from optimizer.algebra.types import type_name

POOL = 20


class ColumnSpec(NamedTuple):
    """`unique`: no NULL and no duplicate, the table's primary key in the datasets that declare keys.

    `refers`: a table whose key `id` has every value of the column but NULL, a foreign key where keys are declared.
    """

    name: str
    type: str
    unique: bool = False
    refers: str = ""


# The same name has types that need a cast between tables: k, c and b are joined across them.
SCHEMA: dict[str, tuple[ColumnSpec, ...]] = {
    "r": (
        ColumnSpec("id", "int", unique=True), ColumnSpec("k", "int"), ColumnSpec("b", "bigint"), ColumnSpec("c", "decimal(8,2)"),
        ColumnSpec("x", "double"), ColumnSpec("s", "varchar"), ColumnSpec("d", "date"), ColumnSpec("f", "boolean"),
    ),
    "q": (
        ColumnSpec("id", "int", unique=True), ColumnSpec("k", "bigint"), ColumnSpec("c", "decimal(10,3)"),
        ColumnSpec("s", "varchar"), ColumnSpec("e", "date"), ColumnSpec("rid", "int", refers="r"),
    ),
    "t": (
        ColumnSpec("k", "int"), ColumnSpec("x", "double"), ColumnSpec("s", "varchar"), ColumnSpec("f", "boolean"),
        ColumnSpec("rid", "int", refers="r"),
    ),
    "u": (
        ColumnSpec("m", "int"), ColumnSpec("c", "decimal(8,2)"), ColumnSpec("d", "date"), ColumnSpec("b", "int"),
        ColumnSpec("qid", "int", refers="q"),
    ),
}  # fmt: skip

ARROW = {
    "int": pa.int32(), "bigint": pa.int64(), "decimal(8,2)": pa.decimal128(8, 2), "decimal(10,3)": pa.decimal128(10, 3),
    "double": pa.float64(), "varchar": pa.string(), "date": pa.date32(), "boolean": pa.bool_(),
}  # fmt: skip

VALUES: dict[str, list[Any]] = {
    "int": [0, 1, 1, 2, 2, 3, 4, 5, -1, -3, 10, 100],
    "bigint": [0, 1, 2, 2, 3, 4, 7, -2, 50, 1000],
    "decimal(8,2)": [Decimal(v) for v in ("0.00", "1.00", "1.50", "2.00", "2.25", "-1.50", "3.33", "10.00", "99.99", "0.01")],
    "decimal(10,3)": [Decimal(v) for v in ("0.000", "1.000", "1.500", "2.000", "2.125", "-1.500", "3.330", "10.005", "99.990")],
    "double": [0.0, 0.25, 0.5, 1.0, 1.0, 1.5, 2.0, -1.0, -2.75, 3.0, 10.0, 100.5],
    "varchar": ["", "a", "a", "b", "ab", "abc", "A", "B c", " a", "b ", "é", "a%b", "it's", "10", "2", "Zz_"],
    "date": [
        date.fromisoformat(v)
        for v in ("2020-01-31", "2020-02-29", "2020-02-29", "2021-02-28", "1999-12-31", "1970-01-01", "2020-03-01")
    ],
    "boolean": [True, False, True],
}


class Dataset(NamedTuple):
    """A folder of Parquet files and the same tables in memory; its `number` in its pool."""

    folder: Path
    tables: dict[str, pa.Table]
    number: int = 0

    def connect(self) -> duckdb.DuckDBPyConnection:
        """DuckDB on the same files; one thread, since order without ORDER BY must not matter but repeating must."""
        connection = duckdb.connect(config={"threads": 1})
        connection.execute("set disabled_optimizers = 'join_filter_pushdown'")  # in 1.5.5 it loses rows whose join key is NaN
        for name in self.tables:
            connection.execute(f"create view {name} as select * from read_parquet('{self.folder / f'{name}.parquet'}')")
        return connection

    def show(self, names: set[str]) -> str:
        """The tables `names` as SQL, to paste into a reproducer."""
        lines = [f"-- dataset {self.number}"]
        for name, table in self.tables.items():
            if name not in names:
                continue
            lines.append(f"create table {name} ({', '.join(f'{c.name} {type_name(c.type)}' for c in table.schema)});")
            if table.num_rows:
                lines.append(f"insert into {name} values\n  " + ",\n  ".join(map(_show_row, table.to_pylist())) + ";")
        return "\n".join(lines)


def _show_row(row: dict[str, Any]) -> str:
    return "(" + ", ".join(map(_show_value, row.values())) + ")"


def _show_value(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str | date) or (isinstance(value, float) and not math.isfinite(value)):
        return "'" + str(value).replace("'", "''") + "'"
    return str(value)


@functools.cache
def dataset(root: Path, index: int) -> Dataset:
    """Dataset `index` of the pool, written under `root` when first asked for. The same index gives the same data."""
    dice = random.Random(index)
    tables: dict[str, pa.Table] = {}
    for name, columns in SCHEMA.items():
        tables[name] = _random_table(dice, columns, _random_size(dice, index), tables)
    folder = root / f"dataset{index}"
    folder.mkdir()
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=3)
    if index % 2:
        (folder / "schema.sql").write_text("".join(f"{_create(name, table)};\n" for name, table in tables.items()))
    return Dataset(folder, tables, index)


def _create(name: str, table: pa.Table) -> str:
    """The declaration of a table; every other dataset has them, so that keys are used by some plans and not by others."""
    columns = []
    for column in SCHEMA[name]:
        text = f"{column.name} {column.type}{' primary key' if column.unique else ''}"
        if column.refers:
            text += f"{'' if table[column.name].null_count else ' not null'} references {column.refers}(id)"
        columns.append(text)
    return f"create table {name} ({', '.join(columns)})"


def _random_size(dice: random.Random, index: int) -> int:
    if index == 7:
        return 0
    return dice.choice([0, 1, 3, 4, 5, 6, 6, 7, 8, 8])


def _random_table(dice: random.Random, columns: tuple[ColumnSpec, ...], rows: int, before: dict[str, pa.Table]) -> pa.Table:
    """`before`: the tables that it may refer to."""
    arrays = []
    for column in columns:
        if column.unique:
            values: list[Any] = dice.sample(range(1, 12), rows)
        elif column.refers:
            known = before[column.refers]["id"].to_pylist()
            nulls = dice.choice([0, 0, 0.3])
            values = [None if not known or dice.random() < nulls else dice.choice(known) for _ in range(rows)]
        else:
            nulls = dice.choice([0, 0.1, 0.3, 0.3, 1 if dice.random() < 0.2 else 0.5])
            values = [None if dice.random() < nulls else dice.choice(VALUES[column.type]) for _ in range(rows)]
            if column.type == "double" and dice.random() < 0.2:
                values = [dice.choice([math.nan, math.inf]) if v is not None and dice.random() < 0.4 else v for v in values]
        arrays.append(pa.array(values, ARROW[column.type]))
    return pa.table(arrays, names=[c.name for c in columns])
