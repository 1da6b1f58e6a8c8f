"""Dates and timestamps beyond the years 1 to 9999, which files may hold and Python lacks: rows or an error, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from optimizer.errors import ExecutionError
from planscope import Session

DAYS = pa.array([0, 10**7, -(10**6), None], pa.int32()).cast(pa.date32())
MOMENTS = pa.array([0, 10**18, -(10**17), None], pa.int64()).cast(pa.timestamp("us"))
TABLE = pa.table({"k": [1, 2, 3, 4], "d": DAYS, "t": MOMENTS})


@pytest.fixture(scope="module", params=["parquet", "arrow"])
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Session:
    if request.param == "arrow":
        return Session({"f": TABLE})
    folder: Path = tmp_path_factory.mktemp("far")
    pq.write_table(TABLE, folder / "f.parquet")
    return Session(folder)


def test_what_arrow_computes(session: Session) -> None:
    assert session.sql("select d, t from f order by d").table["d"].take([1]) == pa.chunked_array([DAYS.take([0])])
    assert session.sql("select year(d) y from f where d > date '2000-01-01'").table["y"].to_pylist() == [29349]
    assert session.sql("select a.k from f a join f b on a.d = b.d and a.t = b.t order by 1").table["k"].to_pylist() == [1, 2, 3]
    assert session.sql("select max(d) m from f").table["m"].cast(pa.int32()).to_pylist() == [10**7]
    assert session.sql("select cast(d as varchar) x from f where k = 3").table["x"].to_pylist() == ["-0768-02-04"]


@pytest.mark.parametrize("value", ["d + 1", "d + interval 1 month", "cast(t as varchar)", "t + interval 1 day"])
def test_what_it_does_not(session: Session, value: str) -> None:
    with pytest.raises(ExecutionError, match=r"^project_rows: .*out of range"):
        session.sql(f"select {value} from f")
