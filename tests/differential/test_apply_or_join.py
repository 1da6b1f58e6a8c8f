"""Evaluate a subquery for each row, or unnest it: the search picks the faster, in a case of each kind, as measured.

The inner table is stored by the key that the subquery looks up, so an evaluation for one binding reads one row group of many;
unnested, the whole table is read and grouped once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor.session import Session
from optimizer.dataset import open_dataset
from tests.reference.compare import assert_same_bag, rows_of

INNER, OUTER, ROW_GROUP = 3_000_000, 20_000, 122_880
PER_ROW = "select o.id, (select sum(i.v) from inner_rows i where i.k = o.k) s from outer_rows o where o.id {}"
APPLY, JOIN = PER_ROW.format("in (17, 4012)"), PER_ROW.format(">= 0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """inner_rows(k, v): 30 rows for each k, stored by k; outer_rows(id, k): one row in four finds something."""
    path = tmp_path_factory.mktemp("apply_or_join")
    k = np.arange(INNER, dtype=np.int64) // 30
    inner = pa.table({"k": k, "v": np.arange(INNER, dtype=np.int64) % 97})
    pq.write_table(inner, path / "inner_rows.parquet", row_group_size=ROW_GROUP, sorting_columns=[pq.SortingColumn(0)])
    ids = np.arange(OUTER, dtype=np.int64)
    pq.write_table(pa.table({"id": ids, "k": (ids * 7919) % 400_000}), path / "outer_rows.parquet")
    return path


@pytest.fixture(scope="module")
def session(folder: Path) -> Callable[[str], Session]:
    catalog = open_dataset(folder)
    return lambda method: Session(catalog, {"decorrelate": method})


def operators(session: Session, sql: str) -> set[str]:
    return {node.op.name for node in session.explain(sql).query.plan.walk()}


def seconds(session: Session, sql: str, times: int) -> float:
    """The fastest of some runs: other work on the machine only adds."""
    found = []
    for _ in range(times):
        start = perf_counter()
        assert session.sql(sql).table.num_columns
        found.append(perf_counter() - start)
    return min(found)


def test_a_selective_outer_is_evaluated_row_by_row(session: Callable[[str], Session]) -> None:
    assert "nested_apply" in operators(session("cost"), APPLY)
    assert "nested_apply" not in operators(session("general"), APPLY)
    assert_same_bag(rows_of(session("general").sql(APPLY).table), rows_of(session("cost").sql(APPLY).table))
    applied, joined = seconds(session("cost"), APPLY, 5), seconds(session("general"), APPLY, 5)
    print(f"selective outer: apply {applied * 1e3:.1f} ms, join {joined * 1e3:.1f} ms, {joined / applied:.1f} times as long")
    assert applied < joined


def test_a_large_outer_is_joined(session: Callable[[str], Session]) -> None:
    assert "nested_apply" not in operators(session("cost"), JOIN)
    assert "nested_apply" in operators(session("none"), JOIN)
    picked, applied = session("cost").sql(JOIN).table, session("none").sql(JOIN).table
    assert_same_bag(rows_of(applied), rows_of(picked))
    joined, looped = seconds(session("cost"), JOIN, 3), seconds(session("none"), JOIN, 1)
    print(f"large outer: join {joined * 1e3:.1f} ms, apply {looped * 1e3:.1f} ms, {looped / joined:.1f} times as long")
    assert joined < looped
