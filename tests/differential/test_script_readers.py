"""The runner of scripts itself: what it reads, what it takes for equal, and that it notices when planscope is wrong."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from executor.session import Session
from optimizer.errors import InternalError, Unsupported
from tests.differential.scripts.iq import read_iq
from tests.differential.scripts.judge import Outcome
from tests.differential.scripts.printed import agrees
from tests.differential.scripts.ranges import with_range_tables
from tests.differential.scripts.sqllogictest import read_sqllogictest
from tests.differential.scripts.steps import Expected, Step
from tests.differential.scripts.suite import run_script, table

SAMPLES = Path(__file__).parent / "script_samples"


def test_sqllogictest() -> None:
    steps = read_sqllogictest(SAMPLES / "sqllogictest.test")
    assert [s.sql for s in steps[:2]] == ["create table t(a int, s varchar)", "insert into t values (1, 'x y'), (2, NULL)"]
    assert steps[2] == Step(
        14, "select a, s\nfrom t", False, Expected((("1", "x y"), ("2", "NULL")), False, None, "IT", "rowsort")
    )
    assert steps[3].expected == Expected((("1",), ("x y",), ("2",), ("NULL",)), True, None, "IT")
    assert [s.sql for s in steps[4:8]] == ["select 5 + 0", "select 5 - 0", "select 5 + 1", "select 5 - 1"]
    assert steps[8].expected == Expected(digest=(2, "6ddb4095eb719e2a9f0a3f95677d24e0"), types="I")
    assert steps[9] == Step(47, "select nothing from t", True)
    assert len(steps) == 10, "what follows a require is left out"


def test_iq() -> None:
    setup, emp, insert, error, values = read_iq(SAMPLES / "calcite.iq")
    assert setup == Step(0, "CREATE SCHEMA scott; CREATE SCHEMA post;\n")
    assert emp == Step(7, "select ename, mgr\nfrom emp", False, Expected((("KING", ""), ("SMITH", "1")), null=""), "scott")
    assert insert == Step(23, "insert into emp\nvalues ('FORD', 2)", schema="scott")
    assert error == Step(30, "select nothing", True, None, "post")
    assert values == Step(34, "values 1", False, None, "post")


@pytest.mark.parametrize(
    ("expected", "rows", "same"),
    [
        (Expected((("1", "x"), ("2", "NULL"))), [(2, None), (1, "x")], True),
        (Expected((("1",), ("1",))), [(1,), (2,)], False),
        (Expected((("1",),)), [(1,), (1,)], False),
        (Expected((("1",), ("x",)), flat=True, types="IT"), [(1, "x")], True),
        (Expected((("1",), ("x",)), flat=True, types="IT", sort="valuesort"), [("x", 1)], True),
        (Expected((("true", "0", "(empty)", ""),), null=""), [(True, False, "", None)], True),
        (Expected((("0.33", "2.50", "-1e3"),)), [(1 / 3, Decimal("2.5"), -1000.0)], True),
        (Expected((("0.34",),)), [(1 / 3,)], False),
        (Expected((("7",),)), [(7.4,)], False),
        (Expected((("x",),)), [(1,)], False),
        (Expected((("1 year 1 month -3 days 04:05:06.7",),)), [(pa.MonthDayNano([13, -3, 14706_700_000_000]),)], True),
        (Expected((("00:00:00", "-2 years"),)), [(pa.MonthDayNano([0, 0, 0]), pa.MonthDayNano([-24, 0, 0]))], True),
        (Expected(digest=(2, "6ddb4095eb719e2a9f0a3f95677d24e0"), types="I"), [(1,), (2,)], True),
        (Expected(digest=(2, "6ddb4095eb719e2a9f0a3f95677d24e0"), types="I"), [(2,), (1,)], False),
        (Expected(digest=(2, "6ddb4095eb719e2a9f0a3f95677d24e0"), types="I", sort="rowsort"), [(2,), (1,)], True),
    ],
)
def test_printed_rows(expected: Expected, rows: list[tuple[object, ...]], same: bool) -> None:
    assert agrees(expected, rows) is same


def verdicts(tmp_path: Path, text: str | None = None) -> list[Outcome]:
    (tmp_path / "a.test").write_text((SAMPLES / "outcomes.test").read_text() if text is None else text)
    return [result.verdict.outcome for result in run_script(tmp_path / "a.test", "a.test")]


def test_outcomes(tmp_path: Path) -> None:
    expected = [Outcome.EQUAL, Outcome.EQUAL, Outcome.REFUSED, Outcome.UNSUPPORTED, Outcome.UNSUPPORTED]
    assert verdicts(tmp_path) == expected
    lines = table(run_script(tmp_path / "a.test", "a.test")).splitlines()
    assert lines[1:3] == ["a.test\tall\tequal\t2", "a.test\tall\trefused\t1"]
    assert [line.split("\t")[:3] for line in lines[3:]] == [["a.test", "23", "unsupported"], ["a.test", "28", "unsupported"]]


def test_wrong_rows_and_errors_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = Session.sql

    def changed(change: object) -> list[Outcome]:
        def sql(self: Session, text: str) -> object:
            result = right(self, text)
            result.table = change(result.table)
            return result

        monkeypatch.setattr(Session, "sql", sql)
        return verdicts(tmp_path)[:2]

    assert changed(lambda t: t) == [Outcome.EQUAL, Outcome.EQUAL]
    assert changed(lambda t: pa.concat_tables([t, t])) == [Outcome.WRONG] * 2
    assert changed(lambda t: t.slice(1)) == [Outcome.WRONG] * 2
    assert changed(lambda t: t.cast(pa.schema([pa.field(t.column_names[0], pa.string())]))) == [Outcome.WRONG] * 2
    # 2 ties with 1 under ORDER BY b; 3 does not
    assert changed(lambda t: pa.table({"a": pa.array([2], t.schema[0].type)})) == [Outcome.EQUAL, Outcome.EQUAL]
    assert changed(lambda t: pa.table({"a": pa.array([3], t.schema[0].type)})) == [Outcome.WRONG] * 2

    for error, outcome in (
        (InternalError("x"), Outcome.CRASH),
        (KeyError("x"), Outcome.CRASH),
        (Unsupported("x"), Outcome.UNSUPPORTED),
    ):

        def fails(self: Session, text: str, error: Exception = error) -> object:
            raise error

        monkeypatch.setattr(Session, "sql", fails)
        assert verdicts(tmp_path)[:2] == [outcome] * 2


def test_table_functions_become_tables(tmp_path: Path) -> None:
    """With and without an alias, in FROM and JOIN; as a scalar, or with a column, they stay."""
    queries = {
        "select * from range(3)": "0 1 2",
        "select i from range(1, 3) join generate_series(0, 4, 2) as t(i) on range = i where i > 0": "2",
        "from range(3)\norder by 1": "0 1 2",
        "select v.range from range(-1, 2) v": "-1 0 1",
    }
    text = "\n\n".join(f"query I\n{sql}\n----\n" + "\n".join(rows.split()) for sql, rows in queries.items())
    assert verdicts(tmp_path, text) == [Outcome.EQUAL] * len(queries)
    for sql in ("select range(3)", "select * from range(1000000000)", "select * from range(a)", "select * from range(1, 2, 0)"):
        assert with_range_tables(sql) == (sql, [])


def test_rows_where_duckdb_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Rows:
        table = pa.table({"a": [1]})

    monkeypatch.setattr(Session, "sql", lambda self, text: Rows())
    assert verdicts(tmp_path, "statement error\nselect c from t\n") == [Outcome.LENIENT]
    assert verdicts(tmp_path, "query I\nselect c from t\n----\n1\n") == [Outcome.EQUAL], "the script has these rows"
    assert verdicts(tmp_path, "query I\nselect c from t\n----\n2\n") == [Outcome.WRONG], "the script has other rows"


def test_both_engines_against_the_script(tmp_path: Path) -> None:
    assert verdicts(tmp_path, "query I\nselect 1\n----\n1\n") == [Outcome.EQUAL]
    assert verdicts(tmp_path, "query I\nselect 1\n----\n2\n") == [Outcome.AGAINST]


def test_what_is_unsupported_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.test").write_text(
        "query I\nselect list(1)\n----\n[1]\n\nquery I\nselect [1]\n----\n[1]\n\nquery I\npivot t on a\n----\n"
    )
    found = [result.verdict for result in run_script(tmp_path / "a.test", "a.test")]
    assert found == [
        (Outcome.UNSUPPORTED, "the aggregate list"),
        (Outcome.UNSUPPORTED, "a list value"),
        (Outcome.UNSUPPORTED, "PIVOT"),
    ]


def test_refused_by_both(tmp_path: Path) -> None:
    assert verdicts(tmp_path, "query I\nselect nothing\n----\n1\n") == [Outcome.REFUSED]
