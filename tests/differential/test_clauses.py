"""DISTINCT ON, LIMIT with an expression, ORDER BY after a set operation, range: DuckDB = naive evaluation = planscope."""

import functools
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from executor.session import Session
from optimizer.dataset import open_dataset
from optimizer.errors import SqlError, Unsupported
from optimizer.sql.bind import bind
from tests.cases import Case, params, read
from tests.reference.compare import Row, assert_same_bag, assert_same_list, rows_of
from tests.reference.naive import run_query

TABLE = pa.table(
    {
        "a": pa.array([1, 1, 2, None, None, 2, 3], pa.int32()),
        "b": pa.array([2, 1, 5, 3, 1, None, 0], pa.int32()),
        "f": pa.array([0.0, -0.0, float("nan"), float("nan"), None, 1.5, 0.0]),
        "s": pa.array(["a", "b", "c", "d", "e", "f", "g"]),
    }
)

CASES = read(Path(__file__).parent / "clauses.cases", "wrong", "unsupported")
REFUSED = [case for case in CASES if case.title == "refused"]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder: Path = tmp_path_factory.mktemp("clauses")
    parquet.write_table(TABLE, folder / "t.parquet")
    return Session(open_dataset(folder))


@functools.cache
def in_duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("t", TABLE)
    return connection


def duckdb_rows(sql: str) -> list[Row]:
    return rows_of(in_duckdb().sql(sql).to_arrow_table())


@pytest.mark.parametrize("case", params([case for case in CASES if case not in REFUSED]))
def test_same_rows(session: Session, case: Case) -> None:
    found = rows_of(session.sql(case.sql).table)
    assert_same_bag(run_query(bind(case.sql, session.catalog), {"t": TABLE}), found)
    assert_same_list(duckdb_rows(case.marks.get("=", case.sql)), found)


@pytest.mark.parametrize("case", params(REFUSED))
def test_refused(session: Session, case: Case) -> None:
    error, message = (SqlError, case.marks["wrong"]) if "wrong" in case.marks else (Unsupported, case.marks["unsupported"])
    with pytest.raises(error, match=message):
        session.optimize(case.sql)
