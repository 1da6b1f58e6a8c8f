"""Every form of subquery in every clause, over subqueries that the truth table in tests/differential/correlated has not.

The forms are those of SQL's three-valued logic: EXISTS, IN, θ ANY, θ ALL and their negations; all of them are asked of the
column b, which has NULLs and values that match and that do not. The naive evaluation of the bound tree gives DuckDB's rows.
"""

import pytest

from tests.unit.sql.world import World, assert_means_the_same

SUBQUERIES = {
    "all rows": "select c from u",
    "inequality": "select c from u where u.c > t.b",
    "union": "select c from u where u.a = t.b union all select t.b",
    "limit": "select c from u where u.a = t.b order by c desc limit 1",
}
FORMS = (
    "exists ({q})",
    "not exists ({q})",
    "b in ({q})",
    "b not in ({q})",
    "5 in ({q})",
    "null not in ({q})",
    *(f"b {comparison} {word} ({{q}})" for comparison in ("=", "<>", "<", ">=") for word in ("any", "all")),
    "b < (select max(z) from ({q}) w(z))",
)
CLAUSES = (
    "select a, b, {p} as r from t",
    "select a, b from t where {p}",
    "select a, b from t where not ({p})",
    "select a, b from t where {p} or a = 1",
    "select a, b from t where ({p}) is null and a > 0",
    "select a, case when {p} then 'yes' when not ({p}) then 'no' else 'unknown' end as r from t",
    "select b, count(*) from t group by b having {p}",
    "select x.a, t.b from t x join t on x.a = t.a and {p}",
    "select b, a from t order by {p}, b, a",
    "select {p} as r, count(*) from t group by {p}",
    "select sum(case when {p} then 1 end), count(*) filter (where {p}) from t",
    "select b, r from t, lateral (select {p} as r) q",
)


@pytest.mark.few(5)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("subquery", SUBQUERIES)
def test_every_form_in_every_clause(form: str, subquery: str, world: World) -> None:
    condition = form.replace("{q}", SUBQUERIES[subquery])
    for clause in CLAUSES:
        assert_means_the_same(world, clause.replace("{p}", condition))
