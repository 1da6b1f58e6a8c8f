"""D22: what reads no outer column runs once, whatever stands around it: rows of each table as EXPLAIN ANALYZE counts them."""

import pytest

from executor.session import Session
from optimizer.algebra.physical import TableScan
from tests.differential.correlated.engines import METHODS, Engines
from tests.differential.correlated.tables import RICH

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
