"""Stored order: what a footer declares, what reading shows, what is remembered of it."""

import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.stored_rows import rows_ascend
from optimizer.catalog.order import remember_orders
from optimizer.catalog.table import Table
from optimizer.dataset import open_dataset


def stored(folder: Path, columns: dict[str, Any], order: list[pq.SortingColumn] | None = None, group: int = 100) -> Table:
    rows = pa.table(columns)
    pq.write_table(rows, folder / "t.parquet", row_group_size=group, sorting_columns=order, compression="none")
    return open_dataset(folder).tables["t"]


@pytest.mark.parametrize(
    ("columns", "keys", "group", "expected"),
    [
        ({"a": [1, 1, 2], "b": [1, 2, 0]}, [(0,), (1,)], 100, ("a", "b")),
        ({"a": [1, 1, 2, 3], "b": [1, 2, 0, 0]}, [(0,), (1,)], 2, ("a", "b")),
        ({"a": [1, 1, 1, 3], "b": [1, 2, 0, 0]}, [(0,), (1,)], 2, ("a",)),  # a = 1 in both groups: b may fall between them
        ({"a": [2, 3, 1, 2], "b": [1, 2, 0, 0]}, [(0,), (1,)], 2, ()),  # each group is sorted, the file is not
        ({"a": [2, 1], "b": [1, 2]}, [(0, True), (1,)], 100, ()),
        ({"a": [1, 1], "b": [2, 1]}, [(0,), (1, True)], 100, ("a",)),
        ({"a": [None, 1], "b": [2, 1]}, [(0, False, True)], 100, ()),
        ({"a": [0, 1], "b": [2, 1]}, [(0, False, True)], 100, ("a",)),  # nulls first, but there are none
        ({"a": [1, None], "b": [2, 1]}, [(0, False, False)], 100, ("a",)),
        ({"a": [1, None, 2, 3], "b": [0, 0, 0, 0]}, [(0, False, False)], 2, ()),  # NULL in the middle of the file
        ({"a": [1, 2, 3, None], "b": [0, 0, 0, 0]}, [(0, False, False)], 2, ("a",)),
        ({"a": [1.0, 2.0], "b": [2, 1]}, [(0,)], 100, ()),  # NaN
        ({"a": ["x", "y"], "b": [2, 1]}, [(0,)], 1, ("a",)),
        ({"a": [[1]], "b": [1]}, [(1,)], 100, ("b",)),
        ({"a": [[1]], "b": [1]}, [(0,)], 100, ()),
        ({"a": [], "b": []}, [(0,)], 100, ()),
    ],
)
def test_order_declared_in_the_footer(
    tmp_path: Path, columns: dict[str, Any], keys: list[tuple[Any, ...]], group: int, expected: tuple[str, ...]
) -> None:
    if not columns["a"]:
        columns = {name: pa.array([], pa.int64()) for name in columns}
    full = [(*key, False, False)[:3] for key in keys]
    order = [pq.SortingColumn(column, descending=d, nulls_first=n) for column, d, n in full]
    assert stored(tmp_path, columns, order, group).order == expected


def test_no_order_is_declared(tmp_path: Path) -> None:
    assert stored(tmp_path, {"a": [1, 2]}).order == ()


@pytest.mark.parametrize("seed", range(30))
def test_reading_agrees_with_sorting(tmp_path: Path, seed: int) -> None:
    """Against Python's sort, over small domains with NULLs and ties, in batches of a few rows."""
    chance = random.Random(seed)
    rows = [(chance.choice([0, 1, 2, None]), chance.choice(["x", "y", None])) for _ in range(chance.randrange(12))]

    def last(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple((value is None, value if value is not None else 0) for value in row)

    if chance.random() < 0.7:
        rows.sort(key=last)
    if chance.random() < 0.3:
        rows = sorted(set(rows), key=last)
    columns = {"a": pa.array([r[0] for r in rows], pa.int64()), "b": pa.array([r[1] for r in rows], pa.string())}
    table = stored(tmp_path, columns, group=3)
    ascends = [last(r) for r in rows] == sorted(last(r) for r in rows)
    assert rows_ascend(table, ("a", "b")) is ascends
    assert rows_ascend(table, ("a", "b"), strictly=True) is (ascends and len(set(rows)) == len(rows))
    firsts = [last(r[:1]) for r in rows]
    assert rows_ascend(table, ("a",)) is (firsts == sorted(firsts))


def test_floating_point_is_never_known_to_ascend(tmp_path: Path) -> None:
    assert not rows_ascend(stored(tmp_path, {"a": [1.0, 2.0]}), ("a",))


def test_a_remembered_order_holds_for_the_same_files_only(tmp_path: Path) -> None:
    table = stored(tmp_path, {"a": [1, 2], "b": [1, 2]})
    remember_orders(tmp_path, {"t": ("a", "b")}, {"t": table})
    assert open_dataset(tmp_path).tables["t"].order == ("a", "b")
    assert stored(tmp_path, {"a": [1, 2], "b": [2, 1]}).order == (), "contents differ, footer and size do not"


def test_a_remembered_order_of_a_large_file(tmp_path: Path) -> None:
    """Beyond a megabyte the fingerprint is that of the footer, which cannot tell which values are where."""
    values = list(range(200_000))
    table = stored(tmp_path, {"a": values}, group=200_000)
    remember_orders(tmp_path, {"t": ("a",)}, {"t": table})
    assert open_dataset(tmp_path).tables["t"].order == ("a",)
    before = (tmp_path / "t.parquet").stat().st_mtime_ns
    stored(tmp_path, {"a": values[::-1]}, group=200_000)
    os.utime(tmp_path / "t.parquet", ns=(before + 1, before + 1))  # the least that tells a later change
    assert open_dataset(tmp_path).tables["t"].order == ()
