"""DISTINCT ON, LIMIT with an expression, ORDER BY after a set operation, range: DuckDB = naive evaluation = planscope."""

from pathlib import Path

import pyarrow as pa
import pytest

from executor.session import Session
from optimizer.errors import SqlError, Unsupported
from tests.cases import Case, params, read
from tests.differential.engines import Engines, engines_over_tables
from tests.reference.compare import assert_same_list, rows_of

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
def engines(tmp_path_factory: pytest.TempPathFactory) -> Engines:
    return engines_over_tables(tmp_path_factory.mktemp("clauses"), {"t": TABLE})


@pytest.mark.parametrize("case", params([case for case in CASES if case not in REFUSED]))
def test_same_rows(engines: Engines, case: Case) -> None:
    found = engines.check(case.sql, duckdb_too=False)
    assert_same_list(rows_of(engines.duckdb.sql(case.marks.get("=", case.sql)).to_arrow_table()), found)


@pytest.mark.parametrize("case", params(REFUSED))
def test_refused(engines: Engines, case: Case) -> None:
    error, message = (SqlError, case.marks["wrong"]) if "wrong" in case.marks else (Unsupported, case.marks["unsupported"])
    with pytest.raises(error, match=message):
        Session(engines.catalog).optimize(case.sql)
