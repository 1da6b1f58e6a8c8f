"""TPC-H at scale 0.01 through the optimizer and the Arrow executors, against DuckDB on the same files."""

from __future__ import annotations

from importlib import resources

import duckdb
import pytest

from executor.session import Session
from optimizer.catalog.table import Catalog
from tests.reference.compare import OrderKey, assert_same_bag, assert_same_kinds, assert_same_list, assert_sorted, rows_of

DOWN = True

# ORDER BY of each query by result column, and whether it leaves no choice on this data
ORDERS: dict[int, tuple[tuple[OrderKey, ...], bool]] = {
    1: ((OrderKey(0), OrderKey(1)), True),
    3: ((OrderKey(1, DOWN), OrderKey(2)), True),
    5: ((OrderKey(1, DOWN),), True),
    6: ((), True),
    7: ((OrderKey(0), OrderKey(1), OrderKey(2)), True),
    8: ((OrderKey(0),), True),
    9: ((OrderKey(0), OrderKey(1, DOWN)), True),
    10: ((OrderKey(2, DOWN),), True),
    12: ((OrderKey(0),), True),
    13: ((OrderKey(1, DOWN), OrderKey(0, DOWN)), True),
    14: ((), True),
    19: ((), True),
}


def query_text(number: int) -> str:
    return (resources.files("experiments.workloads") / "tpch" / f"q{number:02}.sql").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def session(tpch: Catalog) -> Session:
    return Session(tpch)


@pytest.mark.parametrize("number", ORDERS)
def test_tpch(number: int, session: Session, tpch_duckdb: duckdb.DuckDBPyConnection) -> None:
    sql = query_text(number)
    expected = tpch_duckdb.execute(sql).to_arrow_table()
    actual = session.sql(sql).table
    assert actual.column_names == expected.column_names
    assert_same_kinds(expected, actual)
    order, total = ORDERS[number]
    assert expected.num_rows > 0
    (assert_same_list if total else assert_same_bag)(rows_of(expected), rows_of(actual))
    assert_sorted(rows_of(actual), order)
