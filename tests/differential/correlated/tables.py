"""Small tables for correlated queries: NULLs, duplicates, no key, an empty table, an all-NULL column, one declared key.

Integers are small and texts few, so that correlation finds matches, duplicates and NULLs on both sides.
"""

import functools
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.differential.datasets import Dataset
from tests.reference.compare import Row

INT, TEXT = "int", "varchar"
ARROW = {INT: pa.int32(), TEXT: pa.string()}

# r is the usual outer table, q and t are inner ones; k has a declared primary key, e is always empty, n.b is always NULL
SCHEMA: dict[str, dict[str, str]] = {
    "r": {"a": INT, "b": INT, "s": TEXT}, "q": {"a": INT, "b": INT, "c": INT}, "t": {"a": INT, "c": INT, "s": TEXT},
    "k": {"id": INT, "a": INT, "b": INT}, "e": {"a": INT, "b": INT}, "n": {"a": INT, "b": INT},
}  # fmt: skip
DECLARED = "create table k (id int primary key, a int not null, b int)"

RICH: dict[str, list[Row]] = {
    "r": [(1, 1, "x"), (1, 1, "x"), (2, None, "y"), (None, 3, None), (None, None, "z"), (3, 0, "x"), (0, 2, "y"), (1, 2, "z")],
    "q": [(1, 1, 1), (1, 2, None), (1, 1, 1), (None, 3, 3), (2, None, 2), (2, 2, 2), (0, 0, None), (None, None, 0)],
    "t": [(1, 1, "x"), (2, 3, "y"), (None, 2, "x"), (1, None, None), (0, 0, "y"), (3, 1, "y")],
    "k": [(1, 1, None), (2, 1, 2), (3, 2, 1), (0, 3, 0), (5, 1, 2)],
    "e": [],
    "n": [(1, None), (None, None), (2, None), (1, None)],
}

DATASETS = 12
RICH_DATA, EMPTY_INNER, EMPTY_OUTER, ONE_ROW = range(4)  # the others are random; odd numbers declare the key of k


@functools.cache
def dataset(root: Path, number: int) -> Dataset:
    """Dataset `number`, written under `root` when first asked for. The same number gives the same rows."""
    return write(root / f"correlated{number}", number, rows_of_dataset(number))


def write(folder: Path, number: int, rows: dict[str, list[Row]]) -> Dataset:
    tables: dict[str, pa.Table] = {}
    folder.mkdir()
    for name, columns in SCHEMA.items():
        arrays = [pa.array([row[i] for row in rows[name]], ARROW[type]) for i, type in enumerate(columns.values())]
        tables[name] = pa.table(arrays, names=list(columns))
        pq.write_table(tables[name], folder / f"{name}.parquet")
    if number % 2:
        (folder / "schema.sql").write_text(f"{DECLARED};\n")
    return Dataset(folder, tables, number)


def rows_of_dataset(number: int) -> dict[str, list[Row]]:
    if number == RICH_DATA:
        return RICH
    if number == EMPTY_INNER:
        return {**RICH, "q": [], "t": []}
    if number == EMPTY_OUTER:
        return {**RICH, "r": []}
    if number == ONE_ROW:
        return {name: rows[:1] for name, rows in RICH.items()}
    dice = random.Random(number)
    return {
        "r": _random_rows(dice, "r", dice.choice([3, 4, 5, 6])),
        "q": _random_rows(dice, "q", dice.choice([2, 4, 5, 6])),
        "t": _random_rows(dice, "t", dice.choice([0, 3, 4, 5])),
        "k": [(id, dice.choice([0, 1, 1, 2]), dice.choice([None, 0, 1, 2])) for id in dice.sample(range(6), dice.choice([2, 4]))],
        "e": [],
        "n": [(dice.choice([None, 0, 1, 2]), None) for _ in range(dice.choice([1, 3]))],
    }


def _random_rows(dice: random.Random, table: str, count: int) -> list[Row]:
    """Rows with some NULLs, a third of them duplicates."""
    nulls = dice.choice([0.0, 0.15, 0.3])
    rows: list[Row] = []
    for _ in range(count):
        if rows and dice.random() < 0.3:
            rows.append(dice.choice(rows))
        else:
            rows.append(tuple(_random_value(dice, type, nulls) for type in SCHEMA[table].values()))
    return rows


def _random_value(dice: random.Random, type: str, nulls: float) -> Any:
    if dice.random() < nulls:
        return None
    return dice.choice([0, 1, 1, 2, 2, 3, -1]) if type == INT else dice.choice(["x", "x", "y", "z", ""])
