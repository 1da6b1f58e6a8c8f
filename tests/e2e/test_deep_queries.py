"""Queries nested as deep as the binder allows run, on Python's default recursion limit and whatever decorrelates them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor.session import Session

pytestmark = pytest.mark.usefixtures("default_recursion_limit")


@pytest.mark.parametrize("method", ["general", pytest.param("none", marks=pytest.mark.slow)])
def test_200_levels_of_subqueries(method: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2, None]}), tmp_path / "t.parquet")
    sql = "select (" * 200 + "select max(a) from t" + ")" * 200
    assert Session(tmp_path, {"decorrelate": method}).sql(sql).table.columns[0].to_pylist() == [2]


def test_400_ctes_and_derived_tables(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2, None]}), tmp_path / "t.parquet")
    session = Session(tmp_path)
    ctes = ", ".join(["c0 as (select a from t)", *(f"c{i} as (select a from c{i - 1})" for i in range(1, 401))])
    assert session.sql(f"with {ctes} select sum(a) as n from c400").table.to_pylist() == [{"n": 3}]
    assert (
        session.sql("select sum(a) as n from (" + "select a from (" * 400 + "select a from t" + ") q" * 401).table.num_rows == 1
    )
