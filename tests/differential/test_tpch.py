"""TPC-H at scale 0.01 through the optimizer and the Arrow executors, against DuckDB on the same files."""

from importlib import resources

import duckdb
import pytest

from executor.session import Session, reader
from experiments.workloads.data import open_data
from optimizer.catalog.table import Catalog
from optimizer.settings import Settings
from tests.conftest import duckdb_over
from tests.reference.compare import OrderKey, assert_same_bag, assert_same_kinds, assert_same_list, assert_sorted, rows_of

DOWN = True

# ORDER BY of each query by result column, and whether it leaves no choice on this data
ORDERS: dict[int, tuple[tuple[OrderKey, ...], bool]] = {
    1: ((OrderKey(0), OrderKey(1)), True), 2: ((OrderKey(0, DOWN), OrderKey(2), OrderKey(1), OrderKey(3)), True),
    3: ((OrderKey(1, DOWN), OrderKey(2)), True), 4: ((OrderKey(0),), True), 5: ((OrderKey(1, DOWN),), True), 6: ((), True),
    7: ((OrderKey(0), OrderKey(1), OrderKey(2)), True), 8: ((OrderKey(0),), True), 9: ((OrderKey(0), OrderKey(1, DOWN)), True),
    10: ((OrderKey(2, DOWN),), True), 11: ((OrderKey(1, DOWN),), False), 12: ((OrderKey(0),), True),
    13: ((OrderKey(1, DOWN), OrderKey(0, DOWN)), True), 14: ((), True), 15: ((OrderKey(0),), True),
    16: ((OrderKey(3, DOWN), OrderKey(0), OrderKey(1), OrderKey(2)), True), 17: ((), True),
    18: ((OrderKey(4, DOWN), OrderKey(3)), True), 19: ((), True), 20: ((OrderKey(0),), True),
    21: ((OrderKey(1, DOWN), OrderKey(0)), True), 22: ((OrderKey(0),), True),
}  # fmt: skip
METHODS = ("none", "quick", "value_generator", "general", "cost")


def query_text(number: int) -> str:
    return (resources.files("experiments.workloads") / "tpch" / f"q{number:02}.sql").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def session(tpch: Catalog) -> Session:
    return Session(tpch)


@pytest.mark.parametrize("number", ORDERS)
def test_tpch(number: int, session: Session, tpch_duckdb: duckdb.DuckDBPyConnection) -> None:
    """General unnesting, the default, leaves no Apply in any of them."""
    sql = query_text(number)
    expected = tpch_duckdb.execute(sql).to_arrow_table()
    query = session.optimize(sql)
    assert "apply" not in query.stages[-1].text
    assert not any("apply" in node.op.name for node in query.plan.walk())
    actual = reader(query).read_all()
    assert actual.column_names == expected.column_names
    assert_same_kinds(expected, actual)
    order, total = ORDERS[number]
    assert expected.num_rows > 0
    (assert_same_list if total else assert_same_bag)(rows_of(expected), rows_of(actual))
    assert_sorted(rows_of(actual), order)


@pytest.mark.few(3)
@pytest.mark.parametrize("method", [method for method in METHODS if method != "general"])
@pytest.mark.parametrize("number", [2, 4, 11, 15, 16, 17, 18, 20, 21, 22])
def test_every_method_of_decorrelation(number: int, method: str, tpch: Catalog, tpch_duckdb: duckdb.DuckDBPyConnection) -> None:
    """The queries with subqueries. `none` evaluates them for each binding."""
    sql = query_text(number)
    session = Session(tpch, Settings(decorrelate=method))
    assert_same_bag(rows_of(tpch_duckdb.execute(sql).to_arrow_table()), rows_of(session.sql(sql).table))


@pytest.mark.slow
def test_all_queries_at_a_larger_scale() -> None:
    """TPC-H at scale 0.1, 22 of 22."""
    catalog = open_data("tpch:0.1")
    session, connection = Session(catalog), duckdb_over(catalog)
    for number in ORDERS:
        sql = query_text(number)
        assert_same_bag(rows_of(connection.execute(sql).to_arrow_table()), rows_of(session.sql(sql).table))


@pytest.mark.parametrize("method", METHODS)
def test_one_subquery_in_several_places(method: str, tpch: Catalog, tpch_duckdb: duckdb.DuckDBPyConnection) -> None:
    """An alias of a subquery used again in WHERE, in another item and inside another subquery: each use is a copy of its own."""
    largest = "(select max(n_nationkey) from nation where n_regionkey = r_regionkey)"
    sql = f"select {largest} m, (select count(*) from region x where x.r_regionkey < m) c, m + 1 from region where {largest} > 20"
    derived = f"(select {largest} m from region)"
    expected = f"select m, (select count(*) from region x where x.r_regionkey < m), m + 1 from {derived} where m > 20"
    rows = rows_of(Session(tpch, Settings(decorrelate=method)).sql(sql).table)
    assert_same_bag(rows_of(tpch_duckdb.execute(expected).to_arrow_table()), rows)
