"""Small tables with NULLs, duplicates, an empty table, zeros, negative numbers and month ends, in DuckDB and as Arrow tables."""

from typing import NamedTuple

import duckdb
import pyarrow as pa
import pytest

from optimizer.catalog.table import Catalog, Table, TableColumn
from optimizer.sql.bind import bind
from planscope import PlanscopeError, Session
from tests.reference.compare import assert_same_bag, assert_same_list, rows_of
from tests.reference.naive import run_query

DATA = """
create table t(a int, b int, s varchar, d date, n decimal(5,2), f double, ts timestamp, bo boolean);
insert into t values
  (1, 2, 'abc', '1994-01-31', 1.25, 1.5, '1994-01-31 10:11:12.5', true),
  (2, null, 'ABC', '1995-02-28', -2.50, -2.5, '1995-02-28 00:00:00', false),
  (null, 5, null, null, null, null, null, null),
  (3, 3, 'a_c%', '2000-02-29', 0.00, 0, '2000-02-29 23:59:59', null),
  (1, 2, 'abc', '1994-01-31', 1.25, 1.5, '1994-01-31 10:11:12.5', true),
  (-4, 7, '', '1992-12-31', 99.99, 1e10, '1992-12-31 01:00:00', false),
  (7, 1, '12', '1996-01-01', 7.50, null, '1996-01-01', true);
create table u(a bigint, c int);
insert into u values (1, 10), (1, 11), (2, null), (null, 5), (9, 9);
create table e(a int, x varchar);
"""


class World(NamedTuple):
    duck: duckdb.DuckDBPyConnection
    tables: dict[str, pa.Table]
    catalog: Catalog
    session: Session


def make_world() -> World:
    duck = duckdb.connect()
    duck.execute(DATA)
    tables = {name: duck.execute(f"select * from {name}").to_arrow_table() for name in ("t", "u", "e")}
    described = [Table(name, tuple(TableColumn(f.name, f.type) for f in table.schema)) for name, table in tables.items()]
    return World(duck, tables, Catalog("world", described), Session(tables))


def assert_means_the_same(world: World, sql: str, equivalent: str | None = None) -> None:
    """Naive evaluation of the bound tree and the plan give the rows that DuckDB gives for the query (or one `equivalent` to it),
    in the same order where ORDER BY asks for one; or all refuse."""
    try:
        expected = world.duck.execute(equivalent or sql).fetchall()
    except duckdb.Error:
        assert equivalent is None
        with pytest.raises(PlanscopeError):
            run_query(bind(sql, world.catalog), world.tables)
        with pytest.raises(PlanscopeError):
            _ = world.session.sql(sql).table
        return
    query = bind(sql, world.catalog)
    same = assert_same_list if query.order else assert_same_bag
    same(expected, run_query(query, world.tables))
    same(expected, rows_of(world.session.sql(sql).table))
