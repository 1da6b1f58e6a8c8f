"""0.0 and -0.0 are equal, and one stands for both in a group: not where the query tells them apart."""

from itertools import product

import duckdb
import pyarrow as pa
import pytest

from optimizer.algebra.physical import NestedApply
from optimizer.sql.bind import bind
from planscope import Session
from tests.reference.compare import assert_same_bag, rows_of
from tests.reference.naive import run_query

TABLES = {
    "g": pa.table({"f": [-0.0] * 50 + [0.0] * 50 + [1.0] * 50, "h": [1] * 150}),
    "x": pa.table({"f": [0.0] + [5.0 + i for i in range(600)], "k": [1] * 601}),
    "y": pa.table({"h": list(range(600))}),
    "a": pa.table({"k": [1, 2, 3], "f": [0.0, -0.0, 2.5]}),
    "c": pa.table({"v": [5, None, 7, 8]}),
    "u": pa.table({"x": [0.0, -0.0, 2.0]}),
    "m": pa.table({"x": [-0.0]}),
    "w": pa.table({"x": [-0.0, 0.0, 2.0]}),
}
QUERIES = [  # the first has 360,600 rows around a subquery: not for each row
    "select count(*) from x, y where exists (select 1 from g where g.f = x.f and g.h = y.h and 1 / g.f < -x.k)",
    "select k, 1 / f, (select count(*) from c where c.v > l.k + 4) from (select k, min(f) f from a group by k) l",
    "select distinct 1 / x from (select distinct x from u where x < 1)",
    "select count(distinct x::varchar), max(1 / x), min(1 / x) from (select x from u where x < 1 group by x)",
    "select k from a where k not in (select case when 1 / x > 0 then 1 else 2 end from (select distinct x from u where x < 1))",
    "select 1 / sum(x), 1 / avg(x), 1 / fsum(x), 1 / sum(distinct x) from (select max(x) x from m)",
]
CORRELATED = [  # DuckDB shows one zero for the other
    "select k, 1 / (select a.f from c where c.v > a.k order by c.v limit 1) from a",
    "select k, (select count(*) from (select a.f y from c where c.v > a.k limit 5) x where 1 / x.y > 0) from a",
    "select k, (select max(z.y) from c left join (select u.x, 1 / a.f y from u) z on z.x = c.v - 5) from a",
    "select k, (select sum(z.y) from c full join (select u.x, 1 / a.f y from u) z on z.x = c.v - 5) from a",
    "select k, (select max(y) from (select 1 / (select a.f from c where c.v > a.k limit 1) y from u) q) from a",
    "select k, x.y from a, lateral (select (a.f * c.v)::varchar y, row_number() over (order by c.v) n from c where c.v > a.k) x"
    " where x.n < 3",
    "select k, (select (1 / max(m))::varchar from (select c.v, max(a.f * c.v) m from c where c.v > a.k group by rollup (c.v)))"
    " from a",
    "select k, a.f::varchar in (select (a.f + u.x)::varchar from u where u.x > a.k - 3) from a",
    "select k, (select 1 / x.f from (values (a.f), (a.f + 1)) x(f) order by x.f limit 1) from a",
    *(f"select a.k, x.x + 0.0 from a, lateral (select distinct x from {table} where 1 / x > a.k) x" for table in "uw"),
    *(f"select k from a where 0.0 in (select x from {table} where 1 / x > a.k group by x having count(*) > 0)" for table in "uw"),
]
METHODS = ["none", "quick", "value_generator", "general", "cost"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sql", CORRELATED)
def test_two_zeros_of_an_outer_row(sql: str, method: str) -> None:
    session = Session(TABLES, {"decorrelate": method})
    result = session.sql(sql)
    assert_same_bag(run_query(bind(sql, session.catalog), TABLES), rows_of(result.table))
    assert method != "general" or not any(isinstance(node.op, NestedApply) for node in result.plan.walk())


@pytest.mark.parametrize(("method", "sql"), [each for each in product(METHODS, QUERIES) if each != ("none", QUERIES[0])])
def test_two_zeros(method: str, sql: str) -> None:
    with duckdb.connect() as connection:
        for name, table in TABLES.items():
            connection.register(name, table)
        expected = connection.execute(sql).to_arrow_table()
    actual = Session(TABLES, {"decorrelate": method}).sql(sql).table
    assert_same_bag(rows_of(expected), rows_of(actual))
