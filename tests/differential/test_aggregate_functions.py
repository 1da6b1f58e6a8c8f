"""Every aggregate function: DuckDB = naive evaluation = planscope, alone, in groups, over grouping sets, windows and joins."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor.arrow.context import Tuning
from executor.arrow.run import execute_table
from executor.execution import reader
from executor.session import Session
from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.evaluate import Value
from optimizer.dataset import open_dataset
from optimizer.errors import ExecutionError
from optimizer.sql.bind import bind
from tests.conftest import quick_and_slow
from tests.differential.aggregate_calls import CALLS, REFUSED_VALUES, TABLE
from tests.reference.compare import Row, assert_same_bag, assert_same_kinds, rows_of
from tests.reference.naive import run_query

SMALL = Tuning(batch=2, merge=3, part=2, inline=1, window=1, workers=1)  # what is kept is merged many times
LONG = TABLE.take(pa.array([row * row % 61 % TABLE.num_rows for row in range(70)]))
TABLES = {
    "e": TABLE,
    "k": pa.table({"g": pa.array([1, 1, 2, None, 9], pa.int32()), "v": pa.array([1, 2, 3, 4, 5], pa.int32())}),
    "long": LONG.set_column(LONG.schema.get_field_index("n"), "n", pa.array(range(70), LONG.schema.field("n").type)),
}
Check = Callable[..., None]


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Check:
    folder: Path = tmp_path_factory.mktemp("aggregates")
    for name, table in TABLES.items():
        pq.write_table(table, folder / f"{name}.parquet")
    catalog = open_dataset(folder)
    oracle = duckdb.connect()
    for name, table in TABLES.items():
        oracle.register(name, table)

    def run(sql: str, settings: dict[str, object] | None = None, duckdb_too: bool = True, digits_too: bool = True) -> None:
        session = Session(catalog, settings)
        query = session.optimize(sql)
        found = reader(query).read_all()
        naive = run_query(bind(sql, catalog), TABLES)
        if not digits_too:
            assert [tuple(map(near, row)) for row in naive] == rows_of(found)
            return
        assert_same_bag(naive, rows_of(found))
        small = execute_table(query.plan, query.columns, session.catalog.tables, None, SMALL)
        assert_same_bag(naive, [tuple(row[f"c{o.id}"] for o in query.outputs) for row in small.to_pylist()])
        if duckdb_too:
            expected = oracle.sql(sql).to_arrow_table()
            assert_same_kinds(expected, found)
            assert_same_bag(rounded(rows_of(expected)), rounded(rows_of(found)))

    return run


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


@pytest.mark.parametrize("window", quick_and_slow(LONG_WINDOWS[1:2], LONG_WINDOWS[::2]))
def test_over_long_frames(check: Check, window: str) -> None:
    """Whose rows are merged in blocks, or ranked, and not put side by side."""
    calls = [c for c in CALLS if "WITHIN" not in c]
    for start in range(0, len(calls), 40):
        over = ", ".join(f"{c} OVER w" for c in calls[start : start + 40])
        check(f"SELECT n, {over} FROM long WINDOW w AS ({window}) ORDER BY n", digits_too=False)


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
def test_no_number_for_a_result(check: Check, call: str) -> None:
    connection = duckdb.connect()
    connection.register("e", TABLE)
    with pytest.raises(duckdb.OutOfRangeException):
        connection.sql(f"SELECT {call} FROM e").fetchall()
    with pytest.raises(ExecutionError, match="is out of range"):
        check(f"SELECT {call} FROM e")


def test_every_function_is_called() -> None:
    called = {name for call in (*CALLS, "approx_count_distinct(i)") for name in re.findall(r"\w+(?=\()", call)}
    assert not [f.name for f in AGGREGATE_FUNCTIONS.values() if not {f.name, *f.spelled} & called]
