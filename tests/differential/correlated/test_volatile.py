"""How often a subquery is evaluated. D18, volatile calls: results cannot be compared, their properties can. D22: what reads no
outer column runs once, whatever stands around it: rows of each table as EXPLAIN ANALYZE counts them.

A correlated subquery with random() is evaluated once for each outer row, equal rows included; one without outer columns is
evaluated once, as in DuckDB. A value that is read twice is one value.
"""

import pytest

from executor.session import Session
from optimizer.algebra.physical import TableScan
from tests.differential.correlated.engines import METHODS, Engines, Failed
from tests.differential.correlated.tables import RICH
from tests.reference.compare import Row, rows_of

OUTER = len(RICH["r"])
EACH_ROW_ITS_OWN = (
    "select r.a, (select random() where r.a is not null or true) as v from r",
    "select r.a, (select max(random()) from q where q.a = 1 or r.a is null) as v from r",
    "select r.a, (select random() from k where k.id = coalesce(r.a, 1)) as v from r where r.a is null or r.a in (1, 2)",
    "select r.a, x.v from r, lateral (select random() as v where r.a is null or r.a >= 0) x",
    "select r.a, (select sum(x.v) from (select random() as v from q where q.a is not null and r.b is null or true) x) from r",
)
ONCE = (
    "select r.a, (select random()) as v from r",
    "select r.a, (select max(random()) from q) as v from r",
    "select r.a, x.v from r, lateral (select random() as v) x",
    "select r.a, x.v from r cross join (select random() as v) x",
)


def rows(engines: Engines, sql: str, method: str) -> list[Row]:
    table = engines.by_method(sql, method)
    assert not isinstance(table, Failed), f"{table}"
    return rows_of(table)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sql", EACH_ROW_ITS_OWN)
def test_a_correlated_call_is_made_for_each_row(sql: str, method: str, engines: Engines) -> None:
    values = [v for _, v in rows(engines, sql, method)]
    assert len(values) >= OUTER - 2
    assert len(set(values)) == len(values), "equal outer rows share a random value"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sql", ONCE)
def test_a_call_without_outer_columns_is_made_once(sql: str, method: str, engines: Engines) -> None:
    values = [v for _, v in rows(engines, sql, method)]
    assert len(values) == OUTER
    assert len(set(values)) == 1


@pytest.mark.parametrize("method", METHODS)
def test_a_value_read_twice_is_one_value(method: str, engines: Engines) -> None:
    sql = "select x.v, x.v + 0 as w from (select (select max(random()) from q where q.a = r.a) as v from r) x where x.v >= 0"
    pairs = rows(engines, sql, method)
    assert pairs
    assert all(v == w for v, w in pairs)


@pytest.mark.parametrize("method", METHODS)
def test_what_does_not_depend_on_the_draw_is_right(method: str, engines: Engines) -> None:
    sql = "select r.a, r.b, (select count(*) from q where q.a = r.a and random() < 2) from r"
    plain = engines.by_definition(sql.replace(" and random() < 2", ""))
    assert not isinstance(plain, Failed)
    assert sorted(map(str, rows(engines, sql, method))) == sorted(map(str, plain))


# per query: how often each table may be read from end to end
QUERIES: dict[str, dict[str, int]] = {
    "select r.a, (select max(q.b) from q) from r": {"q": 1},
    "select r.a, exists (select 1 from q), r.a in (select t.a from t) from r": {"q": 1, "t": 1},
    "select r.a from r where r.b > (select min(q.b) from q) or exists (select 1 from t where t.c > 1)": {"q": 1, "t": 1},
    "select r.a, (select count(*) from q where q.a = r.a and q.b > (select min(t.c) from t)) from r": {"t": 1},
    "select r.a, x.n from r, lateral (select count(*) as n from q, (select max(t.c) as m from t) y where q.b < y.m) x": {"t": 1},
    "select r.a from r where (select count(*) from q) > 3 and not exists (select 1 from t where t.a > 100)": {"q": 1, "t": 1},
    "select r.a, (select sum((select count(*) from t)) from q where q.a = r.a) from r": {"t": 1},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sql", QUERIES)
def test_what_is_not_correlated_runs_once(sql: str, method: str, engines: Engines) -> None:
    explained = Session(engines.catalog, {"decorrelate": method}).explain(sql, analyze=True)
    assert explained.actual is not None
    for table, times in QUERIES[sql].items():
        scans = [n for n in explained.query.plan.walk() if isinstance(n.op, TableScan) and n.op.scan.table == table]
        read = sum(explained.actual[scan.id].rows for scan in scans if scan.id in explained.actual)
        assert read <= times * len(RICH[table]), f"{read} rows of {table}:\n{explained}"
