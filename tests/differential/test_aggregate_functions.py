"""Every aggregate function: DuckDB = naive evaluation = planscope, alone, in groups, over grouping sets, windows and joins."""

import functools
import math
import re
from collections.abc import Callable

import duckdb
import pyarrow as pa
import pytest

from executor.arrow.context import Tuning
from executor.session import Session
from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.evaluate import Value
from optimizer.errors import ExecutionError
from tests.conftest import quick_and_slow
from tests.differential.aggregate_calls import CALLS, REFUSED_VALUES, TABLE
from tests.differential.engines import Engines, engines_over_tables
from tests.reference.compare import Row, rows_of

SMALL = Tuning(batch=2, merge=3, part=2, inline=1, window=1, workers=1)  # what is kept is merged many times
LONG = TABLE.take(pa.array([row * row % 61 % TABLE.num_rows for row in range(70)]))
TABLES = {
    "e": TABLE,
    "k": pa.table({"g": pa.array([1, 1, 2, None, 9], pa.int32()), "v": pa.array([1, 2, 3, 4, 5], pa.int32())}),
    "long": LONG.set_column(LONG.schema.get_field_index("n"), "n", pa.array(range(70), LONG.schema.field("n").type)),
}
Check = Callable[..., list[Row]]


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Engines:
    return engines_over_tables(tmp_path_factory.mktemp("aggregates"), TABLES)


@pytest.fixture(scope="module")
def check(engines: Engines) -> Check:
    return functools.partial(engines.check, tuning=SMALL, rounded=rounded)


def near(value: Value) -> object:
    """Equal to floats that were added up in another order."""
    return pytest.approx(value, rel=1e-9, abs=1e-9, nan_ok=True) if isinstance(value, float) else value


def rounded(rows: list[Row]) -> list[Row]:
    """DuckDB computes statistics from sums of powers, so the last digits of a difference are lost."""
    return [tuple(float(f"{v:.5g}") * (abs(v) > 1e-9) if _finite(v) else v for v in row) for row in rows]


def _finite(value: Value) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def parts(count: int) -> list[tuple[str, ...]]:
    """Several calls in one query: planning takes longer than running."""
    return [CALLS[i : i + count] for i in range(0, len(CALLS), count)]


@pytest.mark.few(2)
@pytest.mark.parametrize("calls", parts(8))
def test_in_groups_and_alone(check: Check, calls: tuple[str, ...]) -> None:
    check(f"SELECT g, {', '.join(calls)} FROM e GROUP BY g")
    check(f"SELECT {', '.join(calls)} FROM e WHERE n < 11")
    check(f"SELECT {', '.join(calls)} FROM e WHERE n < 0")


@pytest.mark.parametrize("calls", parts(40))
def test_in_grouping_sets(check: Check, calls: tuple[str, ...]) -> None:
    check(f"SELECT g, t, {', '.join(calls)} FROM e GROUP BY ROLLUP (g, t)")


WINDOWS = (
    "PARTITION BY g",
    "ORDER BY n",
    "PARTITION BY t ORDER BY n ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
    "ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING EXCLUDE CURRENT ROW",
)


@pytest.mark.parametrize("window", WINDOWS)
def test_over_windows(check: Check, window: str) -> None:
    calls = [c for c in CALLS[::3] if "WITHIN" not in c and "FILTER" not in c]
    # over moving frames DuckDB's mode takes no heed of ORDER BY, DISTINCT none of EXCLUDE, quantiles of times are off by 1 µs
    ours = [c for c in calls if "mode" in c or "DISTINCT" in c or "(ts, " in c]
    calls = [c for c in calls if c not in ours]
    for some in (calls[:20], calls[20:40], calls[40:], ours):
        over = ", ".join(f"{c} OVER w" for c in some)
        check(f"SELECT n, {over} FROM e WINDOW w AS ({window})", duckdb_too=some is not ours)


LONG_WINDOWS = (
    "PARTITION BY g % 2 ORDER BY n",
    "ORDER BY n ROWS BETWEEN 30 PRECEDING AND 7 FOLLOWING",
    "ORDER BY n RANGE BETWEEN 50 PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW",
)


@pytest.mark.slow
@pytest.mark.parametrize("window", quick_and_slow(LONG_WINDOWS[1:2], LONG_WINDOWS[::2]))
def test_over_long_frames(engines: Engines, window: str) -> None:
    """Whose rows are merged in blocks, or ranked, and not put side by side."""
    calls = [c for c in CALLS if "WITHIN" not in c]
    for start in range(0, len(calls), 40):
        over = ", ".join(f"{c} OVER w" for c in calls[start : start + 40])
        sql = f"SELECT n, {over} FROM long WINDOW w AS ({window}) ORDER BY n"
        assert [tuple(map(near, row)) for row in engines.naive(sql)] == rows_of(Session(engines.catalog).sql(sql).table)


@pytest.mark.few(2)
@pytest.mark.parametrize("calls", parts(40))
def test_above_joins_unions_and_distinct(check: Check, calls: tuple[str, ...]) -> None:
    """Where rules move aggregates, split them or leave out duplicates: those that do not know a function must refuse it."""
    items = ", ".join(calls)
    check(f"SELECT e.g, {items} FROM e JOIN k ON e.g = k.g GROUP BY e.g")
    check(f"SELECT k.g, k.v, {items} FROM k LEFT JOIN e ON e.g = k.g GROUP BY k.g, k.v")
    check(f"SELECT g, {items} FROM (SELECT * FROM e UNION ALL SELECT * FROM e) e GROUP BY g")
    check(f"SELECT {items} FROM (SELECT DISTINCT * FROM e) e")
    check(f"SELECT n, {items} FROM e GROUP BY n")


@pytest.mark.parametrize("method", ["none", "general", "value_generator"])
def test_in_correlated_subqueries(check: Check, method: str) -> None:
    """Pitfall D1: the value over no rows is that of the function, whatever way the subquery is unnested."""
    for calls in (("stddev(f)", "count_if(t)"), ("string_agg(s ORDER BY n)",), ("regr_count(i, f)", "approx_count_distinct(i)")):
        items = ", ".join(f"(SELECT {call} FROM e WHERE e.g = k.g)" for call in calls)
        # of no rows DuckDB's regr_count is NULL here, though it is 0 where the subquery stands alone
        check(f"SELECT k.g, k.v, {items} FROM k", {"decorrelate": method}, duckdb_too="regr_count" not in items)


@pytest.mark.parametrize("call", REFUSED_VALUES)
def test_no_number_for_a_result(engines: Engines, call: str) -> None:
    with pytest.raises(duckdb.OutOfRangeException):
        engines.duckdb.sql(f"SELECT {call} FROM e").fetchall()
    with pytest.raises(ExecutionError, match="is out of range"):
        engines.check(f"SELECT {call} FROM e")


def test_every_function_is_called() -> None:
    called = {name for call in (*CALLS, "approx_count_distinct(i)") for name in re.findall(r"\w+(?=\()", call)}
    assert not [f.name for f in AGGREGATE_FUNCTIONS.values() if not {f.name, *f.spelled} & called]
