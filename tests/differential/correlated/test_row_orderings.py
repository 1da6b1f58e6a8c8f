"""Rows compared with subqueries by an ordering, three-valued, by every method. DuckDB 1.5.5 ends with an internal error."""

from __future__ import annotations

import pytest

from tests.differential.correlated.engines import METHODS, Engines, assert_rows

QUERIES = (
    "select r.a, (r.a, r.b) < any (select q.a, q.b from q where q.a = r.a) from r",
    "select r.a, (r.a, r.b) >= all (select q.b, q.c from q where q.a < r.a) from r",
    "select r.a, not (r.a, r.b) > any (select q.a, q.b from q) from r",
    "select r.a from r where (r.a, r.b) <= any (select q.a, q.b from q where q.c is not null)",
)


@pytest.mark.parametrize("sql", QUERIES)
def test_every_method(sql: str, engines: Engines) -> None:
    wanted = engines.by_definition(sql)
    assert isinstance(wanted, list) and wanted
    for method in METHODS:
        assert_rows(wanted, engines.by_method(sql, method))
