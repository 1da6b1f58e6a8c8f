"""Exact row counts: by multiplying per-key counts, by running, and kept from one run to the next."""

import itertools
import json
import multiprocessing
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor.counting import counter as counting
from executor.counting.counter import RowCounter
from executor.counting.factor import Factor, product_total
from executor.counting.kept import KeptCounts
from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset
from planscope import Optimizer, Tree, row_counter
from tests.conftest import duckdb_over
from tests.processes import PATIENCE

SHAPES = [
    [(0, 1), (1, 2), (2, 3)],  # chain
    [(0,), (0, 1), (0, 2), (0, 3)],  # star
    [(0, 1), (1, 2), (2, 0)],  # triangle
    [(0, 1), (1, 2), (2, 3), (3, 0)],  # square
    [(0, 1, 2), (1, 2, 3), (2, 3, 0)],
    [(0, 1), (2, 3)],  # not linked
    [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)],  # two triangles
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_products_of_factors(shape: list[tuple[int, ...]], seed: int) -> None:
    """Against a loop over all combinations of rows."""
    dice = random.Random(seed)
    factors, bags = [], []
    for variables in shape:
        rows = [tuple(dice.randrange(4) for _ in variables) for _ in range(dice.randrange(9))]
        bag = Counter(dict.fromkeys(rows, 1))
        for row in bag:
            bag[row] = dice.choice((1, 2, 1 << 40))
        keys = [np.array([row[i] for row in bag], np.int64) for i in range(len(variables))]
        factors.append(Factor(variables, keys, np.array(list(bag.values()), np.int64)))
        bags.append(bag)
    expected = 0
    for picked in itertools.product(*(bag.items() for bag in bags)):
        values: dict[int, int] = {}
        product = 1
        for variables, (row, count) in zip(shape, picked, strict=True):
            product *= count if all(values.setdefault(v, x) == x for v, x in zip(variables, row, strict=True)) else 0
        expected += product
    assert product_total(factors) == expected


def test_a_join_larger_than_a_piece_is_summed_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(3)
    factors = [Factor(v, [dice.integers(0, 9, 60) for _ in v], np.ones(60, np.int64)) for v in ((0, 1), (1, 2), (2, 0))]
    whole = product_total(factors)
    monkeypatch.setattr("executor.counting.factor._PAIRS", 7)
    assert product_total(factors) == whole > 0


COLUMNS = {"i": "integer", "s": "varchar", "d": "decimal(38, 4)", "f": "double", "t": "timestamp"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Four tables with NULLs, duplicates, NaN and both zeros; the last is empty."""
    folder = tmp_path_factory.mktemp("counting")
    dice = random.Random(7)
    values = {
        "i": [None, -1, 0, 1, 2],
        "s": [None, "", "a", "Straße", "a longer text"],
        "d": [None, Decimal("0"), Decimal("12345678901234567890123456789012.5"), Decimal("-1.25")],
        "f": [None, 0.0, -0.0, float("nan"), 1.5],
        "t": [None, *(np.datetime64(f"2020-01-0{k}", "us").item() for k in (1, 2, 3))],
    }
    types = {"i": pa.int32(), "s": pa.string(), "d": pa.decimal128(38, 4), "f": pa.float64(), "t": pa.timestamp("us")}
    for name, rows in (("r", 30), ("q", 25), ("u", 20), ("e", 0)):
        table = {c: pa.array([dice.choice(values[c]) for _ in range(rows)], types[c]) for c in COLUMNS}
        table["j"] = pa.array([dice.randrange(4) for _ in range(rows)], pa.int32())
        pq.write_table(pa.table(table), folder / f"{name}.parquet")
    return open_dataset(folder)


def tree_of(catalog: Catalog, sql: str) -> tuple[Tree, object]:
    """The tree of a query `select count(*) from …` below its aggregate, and its columns."""
    query = Optimizer(catalog).optimize(sql)
    tree = query.stages[-1].tree
    while tree.op.name != "aggregate":
        tree = tree.inputs[0]  # type: ignore[assignment]
    return tree.inputs[0], query.columns  # type: ignore[return-value]


def counted(catalog: Catalog, sql: str) -> float:
    tree, columns = tree_of(catalog, sql)
    return RowCounter(row_counter(catalog)._run)(tree, columns)


JOINS = [
    *(f"r a join q b on a.{c} = b.{c} join u c on b.{c} = c.{c}" for c in COLUMNS),
    *(f"r a join q b on a.{c} is not distinct from b.{c} join u c on b.j = c.j" for c in COLUMNS),
    *(f"r a join q b on a.{c} = b.{c} join u c on b.{c} is not distinct from c.{c}" for c in COLUMNS),
    "r a join q b on a.i = b.i and a.s = b.s join u c on c.i = a.i and c.s = b.s",
    "r a join q b on a.i = b.i join u c on b.s = c.s and c.j = a.j",  # a cycle
    "r a join r b on a.i = b.i join r c on b.i = c.i and c.j = c.i",  # one variable twice in an input
    "r a join r b on a.i is not distinct from b.i and a.i is not distinct from a.j",
    "r a join q b on a.i = b.i and a.j < b.j join u c on c.i = b.i",  # not only keys
    "r a join q b on a.i = b.i join u c on c.j = b.j and c.i + a.i > 1",
    "r a join q b on a.i + 1 = b.j join u c on c.s = upper(b.s)",  # computed keys
    "r a join q b on a.i = b.i, u c",  # a cross product
    "r a join q b on a.i = b.i join e c on c.i = b.i",
    "r a, q b, u c where a.j + b.j = c.j",
    "r a join q b on a.i = b.i left join u c on c.j = b.j join r d on d.s = a.s",
    "(select distinct i, j from r) a join q b on a.i = b.i join (select s, count(*) n from u group by s) c on c.s = b.s",
    "r a join q b on a.i = b.i where exists (select * from u c where c.j = a.j and c.s = b.s)",
    "r a join q b on a.i = b.i where a.s like 'a%' and (a.f > 0 or b.f > 0)",
]


@pytest.mark.few(2)
@pytest.mark.parametrize("join", JOINS)
def test_counts_are_those_of_duckdb(tables: Catalog, join: str) -> None:
    with duckdb_over(tables) as connection:
        [(expected,)] = connection.execute(f"select count(*) from {join}").fetchall()
    assert counted(tables, f"select count(*) from {join}") == expected


def test_a_million_million_rows_are_counted_without_being_made(tmp_path: Path) -> None:
    rows = pa.table({"k": pa.array(np.zeros(100_000, np.int32)), "x": pa.array(np.arange(100_000, dtype=np.int32))})
    for name in ("a", "b", "c", "d"):
        pq.write_table(rows, tmp_path / f"{name}.parquet")
    catalog = open_dataset(tmp_path)
    tree, columns = tree_of(catalog, "select count(*) from a join b on a.k = b.k join c on b.k = c.k join d on c.k = d.k")
    assert RowCounter(row_counter(catalog)._run)(tree, columns) == 1e20  # more than 64 bits hold


def test_an_input_is_read_once_for_all_sets_of_a_query(tables: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, columns = tree_of(tables, "select count(*) from r a join q b on a.i = b.i join u c on b.i = c.i where a.j > 0")
    run = row_counter(tables)._run
    ran = []
    counter = RowCounter(lambda tree, columns: (ran.append(tree), run(tree, columns))[1])
    rows = counter(tree, columns)
    assert (len(ran), counter.counted) == (3, 1)
    assert counter(tree, columns) == rows
    assert (len(ran), counter.counted) == (3, 1)
    monkeypatch.setattr(counting, "HELD_BYTES", 0)  # what is forgotten is read again
    fresh = RowCounter(run)
    assert fresh(tree, columns) == rows


def test_counts_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "new" / "counts.jsonl"
    kept = KeptCounts(file)
    kept.put("a", 10**25)
    other = KeptCounts(file)
    assert other.get("a") == 10**25
    assert other.get("b") is None
    kept.put("b", 0)
    assert other.get("b") == 0  # found when it looks again


def test_damaged_lines_count_for_nothing(tmp_path: Path) -> None:
    file = tmp_path / "counts.jsonl"
    lines = ['{"key": "a", "rows": 12', '{"key": "b", "rows": "x"}', "nonsense", "[1]", '{"key": "c", "rows": -1}', '{"key": "d"']
    file.write_text("\n".join(lines))
    kept = KeptCounts(file)
    assert [kept.get(key) for key in "abcd"] == [None] * 4
    kept.put("e", 5)
    assert [KeptCounts(file).get(key) for key in "abcde"] == [None] * 4 + [5]


def test_a_folder_that_cannot_be_written_costs_only_the_counting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept = KeptCounts(tmp_path / "file" / "counts.jsonl")
    kept.put("a", 1)
    assert kept.get("a") == 1


def _put_many(path: Path, number: int) -> None:
    kept = KeptCounts(path)
    for i in range(200):
        kept.put(f"{number}-{i}", i)


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    file = tmp_path / "counts.jsonl"
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_put_many, args=(file, number)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE)
        assert process.exitcode == 0
    kept = KeptCounts(file)
    assert all(kept.get(f"{number}-{i}") == i for number in range(4) for i in range(200))
    assert all(json.loads(line) for line in file.read_text().splitlines() if line)
