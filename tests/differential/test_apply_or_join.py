"""Evaluate a subquery for each row, or unnest it: the search picks what takes less work, in a case of each kind.

Unnested, all of the inner table is grouped, however few of its keys are looked up.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from optimizer.dataset import open_dataset
from planscope import Result, Session
from tests.reference.compare import assert_same_bag, rows_of

INNER, OUTER, ROW_GROUP = 3_000_000, 20_000, 122_880
PER_ROW = "select o.id, (select sum(i.v) from inner_rows i where i.k = o.k) s from outer_rows o where o.id {}"
APPLY, JOIN = PER_ROW.format("in (1, 17)"), PER_ROW.format(">= 0")


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
    return lambda method: Session(catalog, {"decorrelate": method, "runtime_filters": False})


def operators(session: Session, sql: str) -> set[str]:
    return {node.op.name for node in session.explain(sql).query.plan.walk()}


def rows_made(result: Result, operator: str) -> int:
    """The most rows that one operator of this name made."""
    explanation = result.explanation
    assert explanation.actual is not None
    return max(explanation.actual[node.id].rows for node in explanation.query.plan.walk() if node.op.name == operator)


def test_a_selective_outer_is_evaluated_row_by_row(session: Callable[[str], Session]) -> None:
    assert "nested_apply" in operators(session("cost"), APPLY)
    assert "nested_apply" not in operators(session("general"), APPLY)
    applied, joined = (session(method).sql(APPLY, analyze=True) for method in ("cost", "general"))
    assert_same_bag(rows_of(joined.table), rows_of(applied.table))
    assert rows_made(joined, "hash_aggregate") == INNER // 30, "all keys are grouped"
    assert rows_made(applied, "hash_aggregate") == 2, "an evaluation for each binding"


@pytest.mark.slow
def test_a_large_outer_is_joined(session: Callable[[str], Session]) -> None:
    assert "nested_apply" not in operators(session("cost"), JOIN)
    assert "nested_apply" in operators(session("none"), JOIN)
    joined, applied = (session(method).sql(JOIN, analyze=True) for method in ("cost", "none"))
    assert_same_bag(rows_of(applied.table), rows_of(joined.table))
    assert rows_made(applied, "hash_aggregate") == OUTER, "an evaluation for each binding"
