"""Every form of subquery in every clause, over subqueries that are empty, have NULLs, duplicates or are correlated.

The forms are those of SQL's three-valued logic: EXISTS, IN, θ ANY, θ ALL and their negations; all of them are asked of the
column b, which has NULLs and values that match and that do not. The naive evaluation of the bound tree gives DuckDB's rows.
"""

from __future__ import annotations

import pytest

from tests.unit.sql.world import World, assert_means_the_same

SUBQUERIES = {
    "no rows": "select a from e",
    "a NULL": "select c from u",
    "no NULL": "select c from u where c is not null",
    "only NULLs": "select c from u where a = 2",
    "correlated": "select c from u where u.a = t.b",
    "correlated by an inequality": "select c from u where u.c > t.b",
    "correlated aggregate": "select max(c) from u where u.a = t.b",
    "correlated union": "select c from u where u.a = t.b union all select t.b",
    "correlated limit": "select c from u where u.a = t.b order by c desc limit 1",
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


PAIRS = [(form, name) for form in FORMS for name in SUBQUERIES]


@pytest.mark.few(3)
@pytest.mark.parametrize(("number", "form", "subquery"), [(i, *pair) for i, pair in enumerate(PAIRS)])
def test_every_pair_in_some_clauses(number: int, form: str, subquery: str, world: World) -> None:
    """Four neighbours along a row of the matrix see all clauses between them."""
    assert_same_in(CLAUSES[number % 4 :: 4], form, subquery, world)


@pytest.mark.slow
@pytest.mark.parametrize(("form", "subquery"), PAIRS)
def test_every_pair_in_every_clause(form: str, subquery: str, world: World) -> None:
    assert_same_in(CLAUSES, form, subquery, world)


def assert_same_in(clauses: tuple[str, ...], form: str, subquery: str, world: World) -> None:
    condition = form.replace("{q}", SUBQUERIES[subquery])
    for clause in clauses:
        assert_means_the_same(world, clause.replace("{p}", condition))
