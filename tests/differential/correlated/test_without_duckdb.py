"""Queries that DuckDB does not run: the naive evaluation = every method of decorrelation."""

from itertools import product

import pytest

from tests.differential.correlated.engines import METHODS, Engines, assert_rows

# ON that reaches over a comma or into an enclosing query, in a region of several joins: bound by the Apply around it. Some
# operators of such a region read outer columns, which the group of the whole region has to know: an Apply asks it what to bind
JOINS_THAT_REACH_OUT = (
    "select r.a, x.b, y.a, z.c from r, q x left join q y on r.a <> y.a left join q z on r.a = z.b",
    "select count(*) from r, q x left join q y on r.a = y.a and x.b = y.b left join t on t.a = y.a left join k on k.a = r.b",
    "select r.a, x.b from r, q x full join q y on x.a = y.b left join t on t.c = r.b and t.a = x.a",
    "select r.a, (select count(*) from q left join t on t.a = q.a and t.c = r.b left join k on k.id = t.a and k.b > r.a) from r",
    "select r.a from r where exists (select 1 from q semi join t on t.a = r.a left join k on k.a = r.b anti join n on n.a = r.a)",
)
# rows compared with subqueries by an ordering, three-valued
ROW_ORDERINGS = (
    "select r.a, (r.a, r.b) < any (select q.a, q.b from q where q.a = r.a) from r",
    "select r.a, (r.a, r.b) >= all (select q.b, q.c from q where q.a < r.a) from r",
    "select r.a, not (r.a, r.b) > any (select q.a, q.b from q) from r",
    "select r.a from r where (r.a, r.b) <= any (select q.a, q.b from q where q.c is not null)",
)


@pytest.mark.parametrize("sql", [*JOINS_THAT_REACH_OUT, *ROW_ORDERINGS])
def test_every_method(sql: str, engines: Engines) -> None:
    wanted = engines.by_definition(sql)
    assert isinstance(wanted, list) and wanted
    for method, prepass in product(METHODS, (True, False)):
        assert_rows(wanted, engines.by_method(sql, method, prepass=prepass))
