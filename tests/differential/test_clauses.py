"""DISTINCT ON, LIMIT with an expression, ORDER BY after a set operation, range: DuckDB = naive evaluation = planscope."""

from __future__ import annotations

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

ORDERED = (
    "select distinct on (a) a, b, s from t order by a, b",
    "select distinct on (a) a, b, s from t order by a, b desc nulls last",
    "select distinct on (a) s from t order by a nulls first, b",
    "select distinct on (1) a, s from t order by a, s",
    "select distinct on (+1) a, s from t order by s",
    "select distinct on (f) s from t order by s desc",
    "select distinct on (a, b) a, s from t order by a, b, s limit 2",
    "select distinct on (a + 1) a, s from t order by a, s desc",
    "select distinct on (x) a as x, count(*) n, max(s) m from t group by a, b order by x, m desc",
    "select distinct on (a) a, row_number() over (order by s) r from t order by a, r desc",
    "select distinct on (a) * from t order by s desc",
    "select distinct on (a) a, s from t order by a, s limit 1 offset 1",
    "select * from (select distinct on (a) a, s from t order by a, s) v where s > 'a' order by s",
    "select s from t order by s limit 1 + 1",
    "select s from t order by s limit 2.5",
    "select s from t order by s limit 1.5",
    "select s from t order by s limit '2'",
    "select s from t order by s limit null",
    "select s from t order by s, a limit 39.9% offset 1",
    "select s from t order by s limit ('40')%",
    "select s from t order by s limit cast('3' as int) offset 1 + 1",
    "select s from t order by s limit abs(-2) offset null",
    "values (3), (1), (2) order by -col0 desc",
    "(select a, s from t) order by s || 'x' desc limit 3",
    "select s from t order by s limit (select max(a) from t) offset (select min(b) from t) + 1",
    "select s from t order by s desc offset (select count(*) from t where a = 1)",
    "select s from t order by s limit (select null)",
    "with c as (select 2 as q) select s from (select s from t order by s limit (select q from c)) order by s",
    "select s from (values ('x'), ('y'), ('z')) v(s) order by s limit 1 offset (select 1)",
    "select * from range(3) order by 1",
    "select * from range(1, 10, 3) r(x) order by x",
    "select * from generate_series(1, 3) g order by all",
    "select * from generate_series(3, 1)",
    "select * from generate_series(3, 1, -1) order by all",
    "select * from range(3, 1, -1)",
    "select * from range(null)",
    "select r.range + 1 from range(2 + 1) r order by 1",
    "select generate_series from generate_series(2) order by 1",
    "select t.s, range from t, range(2) where a = 1 order by all",
    "select s, (select count(*) from range(5) r(n) where n < b) from t order by s",
)

FROM_FIRST = (
    "from t a, t b select a.s, b.s z where a.a = b.b order by all",
    "from t a join t b using (a), (values (1), (2)) v(x) select count(*), sum(x)",
    "from (select a + 1 x from t) v, (select x + 1 y) w select y order by y",
    "from (values (1), (2)) v(x), t select x, s order by all",
    "from (values (1), (2)) v(x) join t on a = x select x, s order by all",
    "with c as (from t x, range(2) r(n) select x.s, n) select * from c v, c w where v.s = w.s order by all",
    "select * from (from (select 1 a), (select 2 b)) join (select 3 c) on true",
)

PART_NAMES = (  # what later parts of a set operation call the columns
    "select a, s from t union all (select b as x, 'z' as y from t union select a, s as w from t) order by w desc, x",
    "select null as x, 1 as y union select null as a, 2 as x order by a, x desc, y",
    "(select a from t union all select b from t order by b limit 9) except select a + 1 as c from t order by c desc",
)

BARE_NULLS = (  # of a derived table, CTE or subquery: the type is that of what they meet
    "select * from (select null) v(d) union all select date '2020-01-01' order by d",
    "select * from (values (null)) v(d) union all select true order by 1",
    "select d from (select d from (select null d union all select null) v) w union all select 'x' order by d",
    "with c(d, n) as (select null, a from t) select x.d, y.n from c x, c y union all select 'z', 1 order by all",
    "select coalesce(d, date '2020-01-01'), d < 'x' from (select null d) v",
    "select null d, coalesce(d, 'x')",
    "select * from (select null d) v full join (select date '2020-01-01' d) w using (d) order by d",
    "select d, e, s, count(*), grouping(d) from (select null d, null e, s from t) v group by rollup(d, e, s) order by all",
    "select d, count(*) from (select null d from t) v group by all order by all",
    "select s, (select coalesce(d, 'x') from (select null d) v where t.a = 1) from t order by s",
    "select * from (select cast(null as integer) d) v union all select 1.5 order by d",
    "select s, s = (select null), s in (select null), s > all (select null from t u where u.b = t.a) from t order by s",
    "select coalesce((select null), (select d from (select null d) v), s) from t where upper((select null)) is null order by s",
)

BY_NAME = (
    "select a, s from t union all by name select s, b from t order by all",
    "select a from t union by name select b a from t order by a",
    "select a from t union all by name select s b from t union by name select 2.5 a, b from t order by all",
    "select null x union all by name select s from t order by all",
    "select v.b from (select a from t union all by name select b from t) v order by 1",
)

# rows of a derived table come in its order, which nothing but that is
OF_DERIVED = (
    "select * from (select a, s from t order by s desc) v",
    "select a from (select a, s from t order by a desc nulls first, s) v where a > 0 limit 3",
    "select s || 'x' from (select s from t order by b, a) v offset 2",
    "select * from (select * from (select s, a from t order by s desc limit 5) u where a > 0) v limit 1",
    "select s from (select a, s from t order by s desc) v(x, s)",
    "with c as (select s from t order by a nulls first, s desc) select * from c limit 3",
    "with c as materialized (select s from t order by b, a) select (select s from c limit 1), (select max(s) from c)",
    "with c as (select a, s from t order by s desc), d as (select s from c where a > 0) select * from d limit 2",
    "select * from (select s from t union all select 'z' order by 1 desc) v limit 2",
    "select * from ((values (3), (1), (2)) order by 1) v(x)",
    "select * from (select distinct on (a) * from (select a, s from t order by s desc) v) w order by s",
    "select string_agg(s, '') from (select s from t order by b, a) v",
    "select first(s), last(s) from (select s from t order by a desc nulls last, s) v",
    "select a, string_agg(s, '') from (select a, s from t order by s desc) v group by a order by a",
    "select s, row_number() over () r, lag(s) over () l from (select s from t order by s desc) v",
    "select s, sum(a) over (rows between 1 preceding and current row) r from (select a, s from t order by s desc) v",
    "select s, first_value(s) over () f, rank() over () r from (select s from t order by s desc) v",
    "select count(*), sum(a) from (select a from t order by s) v",
    "select s from (select s, a from t order by a, s) v order by s desc",
    "select v.s from (select s, a from t order by a, s) v join range(4) r(n) on a = n order by v.s",
)

# what DuckDB wants written in another way
OTHERWISE = (
    (
        "select a, b from t union all select b, a from t order by -a, b, a",
        "from (select a, b from t union all select b, a from t) order by -a, b, a",
    ),
    (
        "select a, s from t union select b, s from t order by a % 2, s, a limit 3",
        "from (select a, s from t union select b, s from t) order by a % 2, s, a limit 3",
    ),
    (
        "select a, s from t left semi join range(3) r(a) using (a) order by s",
        "select a, s from t semi join range(3) r(a) using (a) order by s",
    ),
    (
        "select a, s from t left anti join range(3) r(n) on a = n order by s",
        "select a, s from t anti join range(3) r(n) on a = n order by s",
    ),
)

REFUSED = (
    ("select s from t limit (select random())", Unsupported, "LIMIT with a volatile function"),
    ("select s, (select b from t x limit (select t.a)) from t", SqlError, 'unknown table "t"'),
    ("select s from t limit -1", SqlError, "LIMIT cannot be negative"),
    ("select s from t limit 1 - 2", SqlError, "LIMIT cannot be negative"),
    ("select s from t limit a", SqlError, "unknown column"),
    ("select s from t limit random()", Unsupported, "volatile"),
    ("select s from t limit date '2020-01-01'", SqlError, "whole number"),
    ("select s from t limit 'x'", SqlError, "x"),
    ("select * from range(1, 2, 0)", SqlError, "cannot be 0"),
    ("select * from range(1.5)", Unsupported, "DECIMAL"),
    ("select * from range(1000000)", Unsupported, "series of more than"),
    ("select * from range()", SqlError, "one to three"),
    ("select a from t union select b from t order by sum(a)", SqlError, "aggregate"),
    ("select a from t union select b from t order by row_number() over ()", SqlError, "window function"),
    ("select a from t union select b from t order by c + 1", SqlError, "unknown column"),
    ("select a, b A from t union by name select 1 a", SqlError, "different names"),
    ("select a from t intersect by name select 1 a", Unsupported, "BY NAME"),
    ("select distinct on (zz) a from t", SqlError, "unknown column"),
)


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


SAME = (*ORDERED, *FROM_FIRST, *PART_NAMES, *BARE_NULLS, *BY_NAME, *OF_DERIVED)


@pytest.mark.parametrize(("sql", "oracle"), [*((sql, sql) for sql in SAME), *OTHERWISE])
def test_same_rows(session: Session, sql: str, oracle: str) -> None:
    found = rows_of(session.sql(sql).table)
    assert_same_bag(run_query(bind(sql, session.catalog), {"t": TABLE}), found)
    assert_same_list(duckdb_rows(oracle), found)


@pytest.mark.parametrize(("sql", "error", "message"), REFUSED)
def test_refused(session: Session, sql: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        session.optimize(sql)
