"""Queries that are twice as long make little more than twice as much work: function calls are counted, not seconds."""

from collections.abc import Callable
from cProfile import Profile

import pyarrow as pa
import pytest

from executor.session import Session
from optimizer.pipeline import OptimizedQuery


def nested(n: int) -> str:
    """Projections above each other, each of which reads a column of the one below three times."""
    query = "select n_nationkey a, n_regionkey b from nation"
    for i in range(n):
        query = f"select case when a > {i} and b < a + {i} then a + {i} else b end a, b from ({query}) t{i}"
    return query


BRANCHES = [f"when n_nationkey = {i} then '{'xyz'[i % 3]}'" for i in range(800)]
SHAPES: dict[str, tuple[Callable[[int], str], int, float]] = {
    "branches of a union": (lambda n: " union all ".join(f"select n_nationkey + {i} k from nation" for i in range(n)), 100, 2.5),
    "branches without tables": (lambda n: " union all ".join(f"select {i} k" for i in range(n)), 400, 2.1),
    "scalar subqueries": (
        lambda n: f"select {', '.join(f'(select max(n_nationkey) + {i} from nation)' for i in range(n))} from nation", 20, 3.0,
    ),
    "projections": (lambda n: f"select 1 from region left join ({nested(n)}) z on r_regionkey = a where a > 7", 6, 2.5),
    "conditions that may raise": (
        lambda n: "select 1 from nation where " + " and ".join(
            f"n_nationkey > (select min(r_regionkey) from region where r_regionkey + {i} <> cast(n_name as integer))"
            for i in range(n)
        ), 6, 2.5,
    ),
    "spools": (
        lambda n: "with t0 as (select n_nationkey a, n_regionkey b from nation)"
        + "".join(f", t{i + 1} as (select a, b from t{i} union all select b, a from t{i} where a > 3)" for i in range(n))
        + f" select count(*) from t{n} where a = 7", 8, 2.5,
    ),
    "branches of a CASE": (lambda n: f"select 1 from nation where case {' '.join(BRANCHES[:n])} end = 'x'", 400, 2.5),
    "joins of a table with itself": (
        lambda n: f"select 1 from {', '.join(f'nation n{i}' for i in range(n))} where "
        + " and ".join(f"n{i}.n_nationkey = n{i + 1}.n_regionkey" for i in range(n - 1)), 20, 9.0,
    ),
}  # fmt: skip


def cte_of_a_star(n: int, **settings: str) -> OptimizedQuery:
    """A CTE that joins `n` relations with another, read twice below groupings and joins."""
    tables = {f"r{i}": pa.table({"k": [j // 3 for j in range(999)], f"y{i}": range(999)}) for i in range(n)}
    star = pa.table({"o": [j % 50 for j in range(999)], "x": range(999), **{f"f{i}": range(999) for i in range(n)}})
    joins = "".join(f" join r{i} on r{i}.k = star.f{i}" for i in range(n))
    grouped = "(select y1, sum({}) s from c join o on c.o = o.o group by y1)"
    sql = f"""with c as (select star.o, x, y1 from star{joins})
        select a.s, b.s from {grouped.format("x")} a, {grouped.format("v")} b where a.y1 = b.y1"""
    o = pa.table({"o": [j % 25 for j in range(50)], "v": range(50)})
    return Session({**tables, "star": star, "o": o}, settings).optimize(sql)


def test_a_cte_that_joins_many_is_no_one_relation_where_groups_go_below_joins() -> None:
    few, many = (cte_of_a_star(n).search.as_dict()["tasks"] for n in (4, 8))
    assert many < 2 * few, (few, many)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_groups_go_below_the_joins_of_a_cte_however_they_are_ordered(n: int) -> None:
    found = [cte_of_a_star(n, enumeration=each) for each in ("adaptive", "partition", "rules")]
    assert all(query.search.proven for query in found)
    assert [query.cost for query in found] == pytest.approx([found[0].cost] * 3, rel=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_as_long_is_about_twice_as_much_work(shape: str) -> None:
    sql, n, most = SHAPES[shape]
    calls = []
    for length in (n, 2 * n):
        profile = Profile()
        profile.runcall(Session("tpch:0.01").optimizer.optimize, sql(length))
        calls.append(sum(each.callcount for each in profile.getstats()))
    assert calls[1] < most * calls[0], calls
