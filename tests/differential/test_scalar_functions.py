"""The functions of the table: DuckDB = naive evaluation = planscope, in SELECT and where rows are chosen by them."""

import datetime
import re
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from executor.session import Session
from optimizer.algebra.scalar_functions import SCALAR_NAMES
from optimizer.errors import ExecutionError, SqlError, Unsupported
from tests.cases import read
from tests.differential.engines import Engines, engines_over_tables
from tests.differential.scalar_calls import CALLS, TABLE
from tests.reference.compare import rows_of

CASES = read(Path(__file__).with_name("scalar_calls.cases"), "where", "ours", "fails", "refused")


def queries(*marks: str) -> list[str]:
    return [case.sql for case in CASES if tuple(case.marks) == marks]


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Engines:
    return engines_over_tables(tmp_path_factory.mktemp("functions"), {"e": TABLE})


@pytest.fixture(scope="module")
def session(engines: Engines) -> Session:
    return Session(engines.catalog)


@pytest.mark.parametrize("calls", [*queries(), *(", ".join(CALLS[i : i + 8]) for i in range(0, len(CALLS), 8))])
def test_in_select(engines: Engines, calls: str) -> None:
    engines.check(f"SELECT n, {calls} FROM e")


@pytest.mark.parametrize("call", queries("where"))
def test_in_select_and_where(engines: Engines, call: str) -> None:
    engines.check(f"SELECT n, {call} FROM e")
    engines.check(f"SELECT n FROM e WHERE {call}")
    engines.check(f"SELECT n FROM e LEFT JOIN (SELECT n + 1 AS m FROM e) o ON n = m WHERE NOT ({call})")


@pytest.mark.parametrize("call", queries("ours"))
def test_what_duckdb_lacks(engines: Engines, call: str) -> None:
    engines.check(f"SELECT n, {call} FROM e", duckdb_too=False)


@pytest.mark.parametrize("call", queries("fails"))
def test_refused_values(engines: Engines, call: str) -> None:
    with pytest.raises(duckdb.Error):
        engines.duckdb.sql(f"SELECT {call} FROM e").fetchall()
    with pytest.raises((ExecutionError, SqlError)):
        engines.check(f"SELECT {call} FROM e")
    engines.check(f"SELECT CASE WHEN n > 99 THEN CAST({call} AS VARCHAR) END FROM e")


def test_ignoring_case(session: Session) -> None:
    """`~` and `~*` ask for the whole text."""
    rows = session.sql("SELECT 'abc' ~ 'b', 'abc' ~ '.b.', 'abc' ~* 'B', 'abc' ~* '.B.', 'abc' !~* 'B'").table
    assert rows_of(rows) == [(False, True, False, True, True)]


def test_a_constant_pattern_is_tried_when_bound(session: Session) -> None:
    with pytest.raises(SqlError, match="is no regular expression"):
        session.optimize("SELECT * FROM e WHERE s ~ '(a'")
    with pytest.raises(SqlError, match="options"):
        session.optimize("SELECT regexp_matches(s, 'a', 'x') FROM e")
    with pytest.raises(SqlError, match="to replace, g, not 'g'"):
        session.optimize("SELECT regexp_extract(s, 'a', 0, 'g') FROM e")


@pytest.mark.parametrize("call", queries("refused"))
def test_refused_calls(session: Session, call: str) -> None:
    with pytest.raises((SqlError, Unsupported)):
        session.optimize(f"SELECT {call} FROM e")


@pytest.mark.parametrize(
    ("form", "why"), [("'%Q'", 'not know "%Q"'), ("'%Y%'", 'not know "%"'), ("''", "empty"), ("s", "constant")]
)
def test_a_format_is_tried_when_bound(session: Session, form: str, why: str) -> None:
    with pytest.raises(SqlError, match=why):
        session.optimize(f"SELECT * FROM e WHERE strftime(day, {form}) = '1'")


@pytest.mark.parametrize("function", ["strptime", "try_strptime"])
@pytest.mark.parametrize(
    ("form", "why"),
    [
        ("'%Q'", 'not know "%Q"'), ("'%Y %z'", 'not know "%z"'), ("'%-Y'", '"%-Y"'), ("'%j %j'", "%j"), ("'%Y%'", 'not know "%"'),
        ("''", "empty"), ("s", "constant"),
    ],
)  # fmt: skip
def test_a_format_that_is_read_is_tried_when_bound(session: Session, function: str, form: str, why: str) -> None:
    with pytest.raises(SqlError, match=why):
        session.optimize(f"SELECT * FROM e WHERE {function}(s, {form}) IS NULL")


def test_texts_that_are_no_moments_are_null(engines: Engines) -> None:
    """try_strptime is NULL of texts that are not."""
    for condition in ("IS NULL", "IS NOT NULL", "> TIMESTAMP '1900-01-01'", "IS DISTINCT FROM day"):
        engines.check(f"SELECT n FROM e WHERE try_strptime(CAST(n * 5 AS VARCHAR), '%m') {condition}")


@pytest.mark.parametrize("call", ["now()", "current_timestamp", "get_current_timestamp()", "localtimestamp"])
def test_now(session: Session, call: str) -> None:
    ((found, same),) = rows_of(session.sql(f"SELECT {call}, {call} = {call}").table)
    assert isinstance(found, datetime.datetime) and found.year > 2024 and same


@pytest.mark.parametrize("call", ["current_date", "today()"])
def test_today(session: Session, call: str) -> None:
    before = datetime.date.today()
    ((found,),) = rows_of(session.sql(f"SELECT {call}").table)
    assert before <= found <= datetime.date.today()


def test_every_function_is_called() -> None:
    calls = (*CALLS, *queries(), *queries("where"), *queries("fails"))
    called = {name for call in calls for name in re.findall(r"\w+(?=\()", call)}
    assert not [f.name for f in SCALAR_NAMES.values() if not {f.name, *f.spelled} & called]


def test_integer_division_of_the_widest_numbers() -> None:
    """In the list, in predicates that are simplified, and of sums: of more digits than Python computes with unasked."""
    values = [9 * 10**37, -(10**37) - 1, 10**28 + 1, 7, -7, 0, None]
    session = Session({"t": pa.table({"d": pa.array([v and Decimal(v) for v in values], pa.decimal128(38, 0))})})
    for divisor in (2, -3, 10**9):
        expected = [None if v is None else abs(v) // abs(divisor) * (1 if (v < 0) == (divisor < 0) else -1) for v in values]
        assert session.sql(f"select d // {divisor} q from t").table["q"].to_pylist() == expected
        for bound in (3, -4, 10**20):
            counted = session.sql(f"select count(*) n from t where d // {divisor} > {bound}").table["n"].to_pylist()
            assert counted == [sum(quotient is not None and quotient > bound for quotient in expected)], (divisor, bound)
    sums = session.sql("select sum(d) // 2 s from t where abs(d) < 10 group by d having sum(d) // 2 > 0")
    assert sums.table["s"].to_pylist() == [3]
    halves = session.sql(
        "select cast(d as decimal(18, 0)) // 2 h from t where abs(d) < 10 order by 1"
    )  # of other decimals in DOUBLE
    assert halves.table["h"].to_pylist() == [-3.5, 0.0, 3.5]
