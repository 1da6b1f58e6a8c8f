"""The tables golden queries are planned and run over: small, with NULLs and duplicates; `e` is always empty.

`f` has foreign keys to `a` and `p`, and its data keep them.
"""

from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = """
create table a (k bigint primary key, x integer, y integer, s varchar);
create table b (k bigint not null, x integer, y integer, d decimal(9, 2));
create table c (x integer, y integer, z double, t date);
create table e (x integer, y integer);
create table p (i integer, j integer, x integer, primary key (i, j));
create table f (k bigint references a, m bigint not null references a, i integer, j integer,
    foreign key (i, j) references p);
"""


def _maybe(random: Random, value: object) -> object:
    return None if random.random() < 0.2 else value


@cache
def make(seed: int) -> dict[str, pa.Table]:
    """Up to a dozen rows a table; key columns of `a` are unique, everything else repeats and has NULLs."""
    random = Random(seed)
    sizes = {name: random.choice([0, 3, 8, 12]) if seed else 9 for name in "abc"}
    days = [date(1995, 1, 1), date(1995, 6, 17), date(1996, 2, 29)]

    def number() -> object:
        return _maybe(random, random.randrange(4))

    def text() -> object:
        return _maybe(random, random.choice(["red", "green", "re", ""]))

    def price() -> object:
        return _maybe(random, Decimal(random.randrange(-300, 900)) / 100)

    rows = {
        "a": [(k, number(), number(), text()) for k in range(sizes["a"])],
        "b": [(random.randrange(6), number(), number(), price()) for _ in range(sizes["b"])],
        "c": [
            (number(), number(), _maybe(random, random.choice([0.5, -1.0, 2.25])), _maybe(random, random.choice(days)))
            for _ in range(sizes["c"])
        ],
        "e": [],
        **_referring(Random(f"keys {seed}"), sizes["a"]),
    }
    types = {
        "a": [("k", pa.int64()), ("x", pa.int32()), ("y", pa.int32()), ("s", pa.string())],
        "b": [("k", pa.int64()), ("x", pa.int32()), ("y", pa.int32()), ("d", pa.decimal128(9, 2))],
        "c": [("x", pa.int32()), ("y", pa.int32()), ("z", pa.float64()), ("t", pa.date32())],
        "e": [("x", pa.int32()), ("y", pa.int32())],
        "p": [("i", pa.int32()), ("j", pa.int32()), ("x", pa.int32())],
        "f": [("k", pa.int64()), ("m", pa.int64()), ("i", pa.int32()), ("j", pa.int32())],
    }
    return {
        name: pa.table({column: pa.array([row[i] for row in rows[name]], type) for i, (column, type) in enumerate(columns)})
        for name, columns in types.items()
    }


def _referring(random: Random, keys: int) -> dict[str, list[tuple]]:
    """Rows of `f`, whose foreign keys refer to the rows 0 … keys - 1 of `a` and to those of `p`; part of a key may be NULL."""
    pairs = [(i, j) for i in range(3) for j in range(2)]
    p = [(i, j, _maybe(random, random.randrange(4))) for i, j in random.sample(pairs, random.choice([0, 2, 5]))]
    f = []
    for _ in range(10 if keys else 0):
        i, j, _ = random.choice(p) if p else (None, 1, None)
        f.append((_maybe(random, random.randrange(keys)), random.randrange(keys), _maybe(random, i), _maybe(random, j)))
    return {"p": p, "f": f}


def write(folder: Path, seed: int) -> Path:
    """A dataset folder with these tables."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schema.sql").write_text(SCHEMA)
    for name, table in make(seed).items():
        stored = [pq.SortingColumn(0)] if name == "a" else None  # by its key
        pq.write_table(table, folder / f"{name}.parquet", sorting_columns=stored)
    return folder
