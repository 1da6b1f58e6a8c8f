"""Common table expressions: DuckDB = naive evaluation, which fills a spool once = every way to treat them, by every method.

Where one is volatile its rows cannot be compared with another engine's, but all its readers must have the same.
"""

from __future__ import annotations

from typing import Any

import pytest

from executor.arrow.context import Tuning
from executor.arrow.counters import Counters
from executor.arrow.run import execute_table
from executor.session import Session
from optimizer.errors import ExecutionError
from tests.differential.correlated.engines import METHODS, Engines, Failed, assert_agree, assert_rows
from tests.reference.compare import rows_of

SUMS = "with s as (select a, sum(c) as x, count(*) as n from q group by a)"
QUERIES = (
    f"{SUMS} select * from s",
    f"{SUMS} select u.a, v.x from s u join s v on u.a = v.n order by u.a, v.x",
    f"{SUMS} select u.a, v.n from s u, s v where u.a < 2 and v.a = 1 and u.n >= v.n",
    f"{SUMS} select a, x from s where x = (select max(x) from s)",
    f"{SUMS} select r.a, (select max(s.x) from s where s.a = r.b), (select min(n) from s) from r",
    f"{SUMS} select r.a from r where exists (select 1 from s where s.a = r.a and s.n > r.b) or r.b in (select n from s)",
    f"{SUMS} select r.a, u.n from r left join s u on u.a = r.a left join s v on v.a = u.n where v.n is null or v.n < 4",
    f"{SUMS}, t2 as (select n, max(x) as m from s group by n) select * from t2 u full join t2 v on u.n = v.m join s on s.n = u.n",
    f"{SUMS} select x from s union all select n from s order by 1 nulls first",
    f"{SUMS} select n from s except select a from s",
    f"{SUMS} select count(*) from s u, s v",
    "with s (k, k2) as (select a, a from q where a > 0) select u.k2, v.k from s u join s v on u.k = v.k2",
    "with s as materialized (select a, b from q) select a from s where b = 2",
    "with s as not materialized (select a, b from q) select u.a from s u join s v on u.a = v.a where v.b = 2",
    "select r.a, (with s as (select a, b from q) select count(*) from s u, s v where u.a = v.a and u.b = r.b) from r",
    "select r.a, (with s as (select a, b from q where a = r.a) select count(*) from s u, s v where u.b = v.b) from r",
    f"{SUMS} select r.a from r left join (select u.a from s u, s v where u.n = v.n and 1 = 0) x on x.a = r.b",
    f"{SUMS}, p as (select u.a from s u, s v where u.n = v.n) select a from r where false and a in (select a from p) or b = 1",
    "with s as (select a, b from e) select u.a from s u left join s v on u.a = v.b",
    "with s as (select a, row_number() over (partition by b order by a, c) as p from q) select u.a, v.p from s u, s v"
    " where u.a = v.p and v.a is not null",
    "with s as (select a, b, sum(c) as x from q group by rollup(a, b)) select u.x, v.x from s u join s v on u.a = v.b",
    "select * from (with s as (select distinct a, b from q) select u.a, v.b from s u, s v where u.a = v.a) x, r where x.a = r.b",
    # readers that the pre-pass removes
    "with s as materialized (select a from q), t as materialized (select a from s where false)"
    " select b from r where b in (select a from t)",
    f"{SUMS} select r.a, t.n from r left join (select u.n from s u, s v where u.n = v.a and false) t on t.n = r.a",
)
PATHS = "with recursive p as (select a, b from q where a is not null union select p.a, q.b from p join q on p.b = q.a)"
COUNT = "with recursive n as (select 1 as x union all select x + 1 from n where"
RECURSIVE = (
    f"{PATHS} select * from p",
    f"{PATHS} select x.a, y.b from p x join p y on x.b = y.a where x.a in (select b from p)",
    f"{PATHS} select r.a, (select count(*) from p where p.a = r.a) from r",
    f"{COUNT} x < 5) select x from n order by x",
    f"{COUNT} exists (select 1 from r where r.a = n.x)) select x from n",
    f"{COUNT} x < (select max(a) from q) + 2) select x from n",
    f"select r.a, ({COUNT} x < 3) select max(x) from n) from r",
    "with recursive n as (select 1 as x union all select x + 1.5 from n where x < 5) select x from n",
    "with recursive n as (select 1 as x, 1 as y union all select x + 1, y * 2 from n where x < 5) select * from n",
    "with recursive n (k) as (select null union all select 1 from n where k is null) select k from n",
    "with recursive n as (select 1 as x union all select u.x + v.x from n u, n v where u.x < 5) select x from n",
    "with recursive n as (select 1 as x union all (select x + 1 from n where x < 5 limit 1)) select x from n",
    "with recursive n as (select 1 as x union select (x + 1) % 7 from n) select x from n",
    "with recursive n as (select a from r union select q.b from q, n where q.a = n.a or n.a is null) select a from n",
    "with recursive n as (select 0.0e0 as x union select -x from n) select count(*) from n",
    "with recursive n as (select 1 as x union all select distinct x + 1 from n where x < 5"
    " and x not in (select max(x) + 2 from n)) select x from n",
    "with recursive n as (select a, 1 as d from r union all (with s as (select a, d from n where d < 3)"
    " select u.a, v.d + 1 from s u join s v on u.a = v.a)) select d, count(*) from n group by d",
    "with recursive e as (select a, b from q where a <> b), p as (select a, b from e union select p.a, e.b from p, e"
    " where p.b = e.a) select * from p, e where p.b = e.b",
)
WAYS: tuple[dict[str, Any], ...] = tuple({"ctes": way} for way in ("cost", "spool", "inline"))
SETTINGS: tuple[dict[str, Any], ...] = (
    {"driver": "iterative"}, {"prepass": False}, {"prepass": False, "ctes": "spool"}, {"cost_model": "c_mm"},
    {"exploration": "on_demand"}, {"cost_model": "c_out"}, {"cost_model": "spark"}, {"estimator": "upper_bound"},
    {"estimator": "true"}, {"estimator": "perturbed", "ctes": "spool"}, {"enumeration": "rules", "rule_order": 3},
    {"pruning": "none", "ctes": "spool"},
)  # fmt: skip
RANDOM = "with q as (select random() as r)"
SAME_FOR_ALL = (
    f"{RANDOM} select a.r = b.r from q a, q b",
    f"{RANDOM} select a.r = b.r from q a join q b on true",
    f"{RANDOM} select count(distinct r) = 1 from (select r from q union all select r from q)",
    f"{RANDOM} select r = (select r from q) from q",
    f"{RANDOM}, p as (select r + 1 as s from q) select x.s = y.s from p x, p y",
    f"{RANDOM}, p as (select r + 1 as s from q) select s = r + 1 from p, q",
    f"{RANDOM} select count(distinct v) = 1 from (select (select r from q where r.a is null or true) as v from r)",
    f"{RANDOM} select count(distinct x.s) = 1 from r, lateral (select q.r + 0 * coalesce(r.a, 0) as s from q) x",
    "with q as not materialized (select random() as r) select a.r = b.r from q a, q b",
)


def is_ordered(sql: str) -> bool:
    return "order by" in sql.rpartition(")")[2]


@pytest.mark.few(2)
@pytest.mark.parametrize("number", range(len(QUERIES) + len(RECURSIVE)))
def test_ctes(number: int, engines: Engines) -> None:
    check((*QUERIES, *RECURSIVE)[number], METHODS[number % len(METHODS)], engines)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_ctes_by_every_method(method: str, engines: Engines) -> None:
    for sql in (*QUERIES, *RECURSIVE):
        check(sql, method, engines)


def check(sql: str, method: str, engines: Engines) -> None:
    expected, naive = engines.by_duckdb(sql), engines.by_definition(sql)
    assert not isinstance(expected, Failed), f"{expected}"
    assert_rows(rows_of(expected), naive)
    for name, rows in engines.by_trees(sql, method).items():
        assert not isinstance(naive, Failed) and not isinstance(rows, Failed), f"{name}: {naive}, {rows}"
        assert_rows(naive, rows)
    for way in WAYS:
        assert_agree(expected, engines.by_method(sql, method, **way), is_ordered(sql))


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_settings(number: int, engines: Engines) -> None:
    for sql in (*QUERIES, *RECURSIVE)[number % 9 :: 9]:
        expected = engines.by_duckdb(sql)
        assert not isinstance(expected, Failed), f"{expected}"
        assert_agree(expected, engines.by_method(sql, "general", **SETTINGS[number]), is_ordered(sql))


@pytest.mark.parametrize("sql", SAME_FOR_ALL)
def test_a_volatile_one_is_evaluated_once(sql: str, engines: Engines) -> None:
    assert engines.by_definition(sql) == [(True,)]
    for method in ("none", "cost"):
        answer = engines.by_method(sql, method)
        assert not isinstance(answer, Failed), f"{answer}"
        assert rows_of(answer) == [(True,)], method


def test_what_the_query_says_is_heeded(engines: Engines) -> None:
    twice = "(select a, count(*) as n from q group by a) select u.a, v.n from s u join s v on u.a = v.n"
    for way, word, spooled in (("inline", "materialized", True), ("spool", "not materialized", False)):
        plan = Session(engines.catalog, {"ctes": way}).optimize(f"with s as {word} {twice}").plan
        assert ("fill_spool" in [node.op.name for node in plan.walk()]) == spooled


def test_references_that_double_do_not_multiply_the_query(engines: Engines) -> None:
    chain = ", ".join(f"c{i} as (select distinct x.a from c{i - 1} x, c{i - 1} y)" for i in range(1, 30))
    query = Session(engines.catalog).optimize(f"with c0 as (select a from q), {chain} select count(*) from c29")
    assert sum(node.op.name == "fill_spool" for node in query.plan.walk()) == 29


def test_a_recursion_ends_when_nobody_asks_for_more(engines: Engines) -> None:
    sql = "with recursive n as (select 1 as x union all select x + 1 from n) select x from n limit 4"
    assert_rows([(1,), (2,), (3,), (4,)], engines.by_method(sql, "general"))


def test_a_recursion_that_does_not_end_is_an_error(engines: Engines) -> None:
    sql = "with recursive n as (select 1 as x union all select 1 from n) select count(*) from n"
    query = Session(engines.catalog).optimize(sql)
    with pytest.raises(ExecutionError, match=r'recurse: the recursive CTE "n" has not ended after 20 rounds\nadd a condition'):
        execute_table(query.plan, query.columns, engines.catalog.tables, tuning=Tuning(rounds=20))


def test_what_does_not_change_is_computed_once(engines: Engines) -> None:
    sql = "with recursive n as (select 1 as x union all select n.x + 1 from n join q on q.a = n.x where n.x < 9) select x from n"
    query, counters = Session(engines.catalog).optimize(sql), Counters()
    execute_table(query.plan, query.columns, engines.catalog.tables, counters)
    (scan,) = (node for node in query.plan.walk() if node.op.name == "table_scan")
    assert counters[scan.id].rows <= 8
