"""Synthetic tables of known statistics, for queries that exercise one operator at a time.

For each size n there are three tables of n rows, `t<n>` and `u<n>` in random order and `s<n>` stored sorted by (run, id):

    id     0 … n - 1, each once          big    n/2 values far apart            text   12 letters, n/2 values
    few    10 values                     run    id / 8, rounded down            f      floating
    many   1,000 values                  v      0 … n - 1, at random            d      decimal(15, 2)
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn, TableStats

ROW_GROUP = 122_880
STEP = 1_000_003  # between the values of `big`: too far apart for a table of places
SORTED = ("run", "id")


def make_catalog(folder: Path, sizes: Sequence[int]) -> Catalog:
    """Write the tables as Parquet files into `folder`; the same for the same sizes."""
    tables = []
    for rows in sizes:
        for kind in "tus":
            random = np.random.default_rng([rows, ord(kind)])
            path = folder / f"{kind}{rows}.parquet"
            table = _rows(rows, random, ordered=kind == "s")
            tables.append(described(f"{kind}{rows}", table, write_rows(table, path), SORTED if kind == "s" else ()))
    return Catalog("calibration", tables)


def _rows(rows: int, random: np.random.Generator, ordered: bool) -> pa.Table:
    id = np.arange(rows) if ordered else random.permutation(rows)
    some = random.integers(0, max(1, rows // 2), rows)
    cents = pa.array(random.integers(0, 10**7, rows)).cast(pa.decimal128(20, 0))
    columns = {
        "id": id,
        "few": random.integers(0, 10, rows),
        "many": random.integers(0, 1000, rows),
        "big": random.integers(0, max(1, rows // 2), rows) * STEP,
        "run": id // 8,
        "v": random.integers(0, max(1, rows), rows),
        "f": random.random(rows),
        "d": cents.cast(pa.decimal128(38, 2)).cast(pa.decimal128(15, 2)),
        "text": pa.array([f"text{value:08d}" for value in some.tolist()]),
    }
    return pa.table({name: values if isinstance(values, pa.Array) else pa.array(values) for name, values in columns.items()})


def write_rows(table: pa.Table, path: Path) -> Path:
    pq.write_table(table, path, row_group_size=ROW_GROUP, compression="snappy")
    return path


def described(name: str, table: pa.Table, path: Path, order: tuple[str, ...]) -> Table:
    """A table with its exact statistics."""
    columns = tuple(TableColumn(field.name, field.type, False) for field in table.schema)
    stats = {}
    for field in table.schema:
        values = table.column(field.name)
        distinct = float(len(values.unique()))
        low, high = values.sort().take(pa.array([0, len(values) - 1])).to_pylist()
        stats[field.name] = ColumnStats(0, low, high, distinct, values.nbytes / len(values))
    figures = TableStats(table.num_rows, path.stat().st_size, stats)
    return Table(name, columns, order=order, stats=figures, files=(path,), format="parquet")
