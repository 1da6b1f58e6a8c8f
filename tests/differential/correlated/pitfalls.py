"""The table of decorrelation traps: what other systems got wrong, and queries that show it.

One entry per trap, D1 to D25, each with every example its description names. DuckDB and the naive evaluation of the bound
tree must agree on each query, and every method with them. Where DuckDB 1.5.5 refuses a query or answers it wrongly, `naive`
says why, and the naive evaluation alone decides. `raising` queries fail on the rich dataset, in every engine. Tables: tables.py.
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """`duckdb`: why DuckDB is not asked; empty where it decides. `raises`: no engine gives rows on the rich dataset.

    `ordered`: the order of the rows counts. `refused`: not in the dialect; planscope says so instead of guessing.
    """

    sql: str
    duckdb: str = ""
    raises: bool = False
    ordered: bool = False
    refused: bool = False


class Pitfall(NamedTuple):
    title: str
    cases: tuple[Case, ...]


def naive(sql: str, why: str) -> Case:
    return Case(sql, duckdb=why)


def raising(sql: str) -> Case:
    return Case(sql, raises=True)


def ordered(sql: str) -> Case:
    return Case(sql, ordered=True)


def refused(sql: str) -> Case:
    return Case(sql, refused=True)


def _pitfall(title: str, *cases: str | Case) -> Pitfall:
    return Pitfall(title, tuple(Case(case) if isinstance(case, str) else case for case in cases))


COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_NO_OUTER_JOIN = "refused: non-inner join on correlated columns"
_NO_ON = "refused: a subquery of the left side in ON of an outer join"
_NO_FULL_JOIN = "refused: a correlated input of a full join"
_NO_WINDOW = "refused: an outer column in a window of LATERAL"
_ROW_NULL = "says that (0, NULL) = (1, 2) is NULL, though 0 = 1 is FALSE"
_ROW_VALUE = "takes a row for one value, in which NULL equals NULL"
_LOST_ROW = "loses the only row of an aggregate over no rows"
_EAGER = "raises for values that no outer row asks for"
_NO_ROWS = "refused: correlated IN with several columns"

PITFALLS: dict[str, Pitfall] = {
    "D1": _pitfall(
        "count over no rows is 0, and so is what is computed from it",
        "select r.a, r.b, (select count(*) from q where q.a = r.a) from r",
        "select r.a, (select count(q.b) from q where q.a = r.a) from r",
        "select r.a, (select count(distinct q.b) from q where q.a = r.a) from r",
        "select r.a, (select count(*) filter (where q.b > 1) from q where q.a = r.a) from r",
        "select r.a, (select coalesce(sum(q.b), 0) + count(*) from q where q.a = r.a) from r",
        "select r.a, (select case when sum(q.b) > 2 then 'much' else 'little' end from q where q.a = r.a) from r",
        "select r.a, (select coalesce(max(q.b), 7) + 1 from q where q.a = r.a) from r",
        "select r.a, (select coalesce(max(q.b), 7) + 1 from q where q.a > r.a) from r",
        "select r.a, (select coalesce(sum(q.b), r.b, -1) from q where q.a = r.a) from r",
        "select r.a, (select count(*) is null or sum(q.b) is null from q where q.a = r.a) from r",
        "select r.a, (select 5 from (select count(*) from q where q.a = r.a) x) from r",
        "select r.a, (select count(*) + 1 from q where q.a = r.a and q.b = r.b) from r",
        "select r.a, r.b from r where (select count(*) from q where q.a = r.a) = 0",
        "select r.a, r.b from r where r.b > (select count(*) from q where q.a = r.a)",
        "select r.a, r.b from r where r.b = (select count(q.b) from q where q.a < r.a)",
        "select r.a from r where (select count(*) from q where q.a = r.a) between 0 and 1",
        "select r.a from r where not (select count(*) > 1 from q where q.a = r.a)",
        naive("select r.a, (select true from (select sum(q.b) from q where q.a = r.a) x(v) where v is null) from r", _LOST_ROW),
        "select r.a, (select count(*) from e where e.a = r.a), (select sum(e.b) from e where e.a = r.a) from r",
        "select r.a, (select count(n.b) from n where n.a = r.a), (select count(*) from n where n.a = r.a) from r",
        "select r.a, (select min(q.b) from q where q.a = r.a), (select avg(q.b) from q where q.a = r.a) from r",
        "select r.a, (select count(*) from (select distinct q.b from q where q.a = r.a) d) from r",
        "select r.a, (select count(*) from q, t where q.a = r.a and t.a = q.a) from r",
        "select r.a, (select count(*) from q left join t on t.a = q.a and t.c > 0 where q.a = r.a) from r",
        "select r.a, (select count(x.c) from (select count(*) as c from q where q.a = r.a group by q.b) x) from r",
        "select r.a, (select sum(x.c) from (select count(*) as c from q where q.a = r.a) x) from r",
        naive("select r.a, (select regr_count(q.b, q.c) from q where q.a = r.a) from r", "NULL where no row matches"),
        naive("select r.a, (select approx_count_distinct(q.b) from q where q.a = r.a) from r", "an estimate; ours is exact"),
        refused("select r.a, (select array_agg(q.b) from q where q.a = r.a) from r"),
    ),
    "D2": _pitfall(
        "with GROUP BY there is no row over no rows: NULL, not 0",
        "select r.a, (select count(*) from q where q.a = r.a group by q.a) from r",
        "select r.a, (select count(q.b) from q where q.a = r.a group by r.a) from r",
        "select r.a, (select coalesce(sum(q.b), 0) from q where q.a = r.a group by q.a) from r",
        "select r.a from r where (select count(*) from q where q.a = r.a group by q.a) is null",
        "select r.a, (select count(*) from q where q.a = r.a having count(*) > 1) from r",
        "select r.a, (select count(*) from q where q.a = r.a having count(*) = 0) from r",
        "select r.a, coalesce((select count(*) from q where q.a = r.a group by q.a), -1) from r",
        "select r.a, (select count(*) from q where q.a = r.a group by grouping sets (())) from r",
        "select r.a, exists (select count(*) from q where q.a = r.a group by q.a) from r",
        raising("select r.a, (select count(*) from q where q.a <= r.a group by q.b) from r"),
    ),
    "D3": _pitfall(
        "EXISTS over an aggregate without GROUP BY is TRUE, over no rows too; with HAVING it depends",
        "select r.a from r where exists (select count(*) from q where q.a = r.a)",
        "select r.a from r where exists (select max(q.b) from q where q.a = r.a)",
        "select r.a from r where not exists (select sum(q.b) from q where q.a = r.a)",
        "select r.a from r where exists (select count(*) from q where q.a = r.a having count(*) > 1)",
        "select r.a from r where exists (select count(*) from q where q.a = r.a having count(*) = 0)",
        "select r.a from r where not exists (select max(q.b) from q where q.a = r.a having max(q.b) > r.b)",
        "select r.a, exists (select count(*) from q where q.a = r.a having sum(q.b) is null) from r",
        "select r.a from r where exists (select count(*) from q where q.a = r.a group by q.b)",
        "select r.a from r where exists (select 1 from (select count(*) as c from q where q.a = r.a) x where x.c = 0)",
        "select r.a from r where exists (select count(*) from e where e.a = r.a)",
        "select r.a from r where exists (select count(*) from q where q.a = r.a limit 0)",
        "select r.a from r where exists (select count(*) from q where q.a = r.a offset 1)",
        "select r.a from r where exists (select count(*) from q where q.a = r.a group by grouping sets ((q.b), ()))",
    ),
    "D4": _pitfall(
        "NOT IN is three-valued",
        "select r.a from r where r.a not in (select q.a from q)",
        "select r.a from r where r.a not in (select q.a from q where q.a is not null)",
        "select r.a from r where r.a not in (select e.a from e)",
        "select r.a from r where r.a not in (select n.b from n)",
        "select r.a, r.b from r where r.b not in (select q.b from q where q.a = r.a)",
        "select r.a, r.b from r where r.b not in (select q.c from q where q.a = r.a and q.b >= r.b)",
        "select r.a, r.b from r where r.b not in (select q.b from q where q.a < r.a)",
        "select r.a, r.b from r where r.b not in (select q.b from q where q.a is not distinct from r.a)",
        "select r.a, r.b, r.b not in (select q.b from q where q.a = r.a) from r",
        "select r.a from r where not (r.b in (select q.b from q where q.a = r.a))",
        "select r.a from r where not (r.b not in (select q.b from q where q.a = r.a))",
        naive("select r.a, r.b from r where (r.a, r.b) not in (select q.a, q.b from q)", _ROW_NULL),
        naive("select r.a, r.b from r where (r.a, r.b) not in (select q.b, q.c from q where q.a = r.a)", _NO_ROWS),
        naive("select r.a, r.b, (r.a, r.b) not in (select q.a, q.b from q) from r", _ROW_NULL),
        "select r.a, r.b from r where (r.a, r.b) not in (select e.a, e.b from e)",
        "select r.a from r where r.a + 1 not in (select q.a * 1 from q where q.b = r.b or q.b is null)",
        "select r.a from r where r.s not in (select t.s from t where t.a = r.a)",
        "select r.a from r where r.a not in (select q.a from q where q.a = r.a group by q.a having count(*) > 1)",
        "select r.a from r where r.a not in (select q.a from q union all select r.b)",
        "select k.id from k where k.id not in (select q.a from q where q.a is not null and q.b = k.b)",
    ),
    "D5": _pitfall(
        "IN outside a filter is NULL where it is unknown",
        "select r.a, r.a in (select q.a from q) from r",
        "select r.a, r.b in (select q.b from q where q.a = r.a) from r",
        "select r.a, (r.b in (select q.b from q where q.a = r.a)) is null from r",
        "select r.a, case when r.b in (select q.b from q where q.a = r.a) then 1 else 0 end from r",
        "select r.a, case when not r.b in (select q.b from q where q.a = r.a) then 'no' when true then 'else' end from r",
        "select r.a from r where r.b in (select q.b from q where q.a = r.a) or r.b = 3",
        "select r.a from r where r.b not in (select q.b from q where q.a = r.a) or r.a = 1",
        "select r.a from r where r.b in (select q.b from q where q.a = r.a) or r.b in (select t.c from t where t.a = r.a)",
        "select r.a from r where r.a in (select q.a from q) or r.a in (select q.b from q)",
        "select r.a from r where not (r.b in (select q.b from q where q.a = r.a) or r.b in (select t.c from t where t.a = r.a))",
        "select r.a from r where (r.b in (select q.b from q where q.a = r.a)) is not true",
        "select r.a, coalesce(r.b in (select q.b from q where q.a = r.a), true) from r",
        "select r.a in (select q.a from q where q.b = r.b) as m, count(*) from r group by 1",
        "select r.a, r.a in (select n.b from n where n.a = r.a), r.a in (select e.a from e) from r",
        "select r.a, (r.a in (select q.a from q)) = (r.b in (select q.b from q)) from r",
        "select r.a, exists (select 1 from q where q.a = r.a), not exists (select 1 from q where q.a = r.a) from r",
        "select r.a from r where exists (select 1 from q where q.a = r.a) or r.b is null",
        "select r.a from r order by r.b in (select q.b from q where q.a = r.a), r.a",
        naive("select r.a, (r.a, r.b) in (select q.a, q.b from q) from r", _ROW_NULL),
        naive("select r.a, (r.a, r.b) in (select q.b, q.c from q where q.a = r.a) from r", _NO_ROWS),
    ),
    "D6": _pitfall(
        "ANY and ALL with NULLs and over no rows",
        *(f"select r.a, r.b {op} any (select q.b from q where q.a = r.a) from r" for op in COMPARISONS),
        *(f"select r.a, r.b {op} all (select q.b from q where q.a = r.a) from r" for op in COMPARISONS),
        *(
            f"select r.a from r where r.b {op} any (select q.b from q where q.a = r.a)"
            for op in ("=", "<>", "<", "<=", ">", ">=")
        ),
        *(
            f"select r.a from r where r.b {op} all (select q.b from q where q.a = r.a)"
            for op in ("=", "<>", "<", "<=", ">", ">=")
        ),
        "select r.a, r.a > any (select q.a from q), r.a > all (select q.a from q), r.a <= all (select e.a from e) from r",
        "select r.a from r where not (r.b > all (select q.b from q where q.a = r.a))",
        "select r.a from r where not (r.b <> any (select q.b from q where q.a = r.a)) or r.a = 3",
        "select r.a from r where r.b >= all (select max(q.b) from q where q.a = r.a)",
        (
            "select r.a from r where r.b > any (select q.b from q where q.a <> r.a) and r.b <= all (select t.c from t "
            "where t.a = r.a)"
        ),
        "select r.a from r where r.b > some (select q.b from q where q.a = r.a)",
        "select r.a, r.b = any (select q.b from q where q.a = r.a) or r.b <> all (select t.c from t) from r",
        "select r.a from r where r.a > all (select n.b from n where n.a = r.a)",
        "select r.a from r where r.a <> all ((select q.b from q where q.b > 0) union all (select t.c from t where t.a = r.a))",
        "select r.a, r.b = any ((select q.b from q where q.a = r.a) except (select t.c from t)) from r",
    ),
    "D7": _pitfall(
        "a scalar subquery: no row is NULL, two rows are an error, for rows that are asked for it",
        raising("select r.a, (select q.b from q where q.a = r.a) from r"),
        raising("select r.a from r where r.b = (select q.b from q where q.a = r.a)"),
        raising("select (select q.a from q)"),
        raising("select r.a from r where (select t.c from t where t.a = r.a) is null"),
        # two identical rows are two rows: neither a distinct domain nor distinct values make them one
        raising("select r.a, (select q.b from q where q.a = r.a and q.b = 1) from r"),
        raising("select r.a, (select q.a from q where q.a = r.a) from r"),
        raising("select r.a, coalesce((select q.b from q where q.a = r.a), 0) from r"),
        raising("select sum((select q.b from q where q.a = r.a)) from r"),
        raising("select r.a, (select x.b from (select q.b from q where q.a = r.a union all select r.b) x) from r"),
        raising("select r.a, (select q.b from q where q.a = r.a order by q.b limit 2) from r"),
        raising("select k.id, (select q.b from q where q.a = k.a) from k where k.a > 0"),
        "select r.a, (select k.a from k where k.id = r.a) from r",
        "select r.a, (select k.b from k where k.id = r.a and k.a = r.b) from r",
        "select r.a, (select q.b from q where q.a = r.a and q.c = r.a and q.b is null) from r",
        "select r.a, (select distinct q.a from q where q.a = r.a) from r",
        "select r.a, (select q.b from q where q.a = r.a group by q.b having q.b = 2) from r",
        "select r.a, (select e.b from e where e.a = r.a), (select max(q.b) from q where q.a = r.a) from r",
        # rows that another predicate removes have not asked
        "select x.a, (select q.b from q where q.a = x.a) from (select * from r where r.a = 0 or r.a = 3) x",
        "select r.a, (select q.b from q where q.a = r.a) from r where r.a = 0",
        "select r.a, (select q.b from q where q.a = r.a) from r where r.a not in (1, 2)",
        "select k.id, (select t.c from t where t.a = k.id) from k where k.id not in (select t.a from t where t.a is not null)",
        "select r.a, (select q.b from q where q.a = r.a) from r join k on k.id = r.a and k.a > 1",
        "select r.a, (select q.b from q where q.a = r.a and q.a <> 1 and q.b is not null) from r",
        # a subquery alone in its column, two of them, one in another
        "select (select k.b from k where k.id = 2), (select max(q.b) from q), (select e.a from e)",
        "select r.a, (select k.a from k where k.id = (select max(q.b) from q where q.a = r.a)) from r",
        naive(
            "select r.a, case when r.a = 1 then -1 else (select t.c from t where t.a = r.a) end from r",
            "raises for rows that take another branch",
        ),
        naive(
            "select r.a, coalesce(r.a, (select q.b from q where q.a is not distinct from r.a)) from r where r.a is not null",
            "raises for rows that do not need the value",
        ),
    ),
    "D8": _pitfall(
        "outer joins with correlation on either side",
        "select r.a, (select count(*) from q left join t on t.a = q.a where q.b = r.b) from r",
        naive("select r.a, (select count(*) from q left join t on t.a = q.a and t.c = r.b) from r", _NO_OUTER_JOIN),
        naive("select r.a, (select count(t.c) from q left join t on t.a = q.a and t.c = r.b) from r", _NO_OUTER_JOIN),
        naive("select r.a, (select count(*) from q left join t on t.a = r.a) from r", _NO_OUTER_JOIN),
        naive("select r.a, (select count(*) from q right join t on t.a = q.a and q.b = r.b) from r", _NO_OUTER_JOIN),
        naive("select r.a, (select count(*) from q full join t on t.a = q.a and q.b = r.b) from r", _NO_OUTER_JOIN),
        naive("select r.a, (select count(*) from q full join t on t.a = q.a and t.c < r.b) from r", _NO_OUTER_JOIN),
        "select r.a, (select count(*) from q left join (select * from t where t.c = r.b) x on x.a = q.a) from r",
        "select r.a, (select count(x.a) from q left join (select * from t where t.c = r.b) x on x.a = q.a) from r",
        "select r.a, (select count(*) from (select * from q where q.b = r.b) x left join t on t.a = x.a) from r",
        naive(
            "select r.a, (select count(*) from (select * from q where q.b = r.b) x full join t on t.a = x.a) from r",
            _NO_FULL_JOIN,
        ),
        naive(
            "select r.a, (select count(*) from (select * from q where q.b = r.b) x full join (select * from t where t.a "
            "= r.a) y on y.a = x.a) from r",
            _NO_FULL_JOIN,
        ),
        "select r.a, (select sum(x.b) from (select * from q where q.b = r.b) x right join t on t.a = x.a) from r",
        naive(
            "select r.a, (select count(*) from e full join (select * from q where q.a = r.a) x on x.a = e.a) from r",
            _NO_FULL_JOIN,
        ),
        "select r.a, x.b from r left join lateral (select q.b from q where q.a = r.a) x on true",
        "select r.a, x.b from r left join lateral (select q.b from q where q.a = r.a) x on x.b > r.b",
        "select r.a, x.c from r left join lateral (select count(*) as c from q where q.a = r.a) x on x.c > 0",
        "select r.a, x.c from r left join lateral (select count(*) as c from q where q.a = r.a) x on true",
        "select r.a, x.c from r join lateral (select count(*) as c from q where q.a = r.a) x on x.c = 0",
        (
            "select r.a, x.b, y.c from r, lateral (select q.b from q where q.a = r.a) x, lateral (select t.c from t "
            "where t.a = x.b) y"
        ),
        "select r.a, x.b from r cross join lateral (select q.b from q where q.a = r.a order by q.b, q.c limit 1) x",
        (
            "select r.a, x.b from r left join lateral (select q.b from q where q.a = r.a order by q.b desc, q.c limit 1) "
            "x on x.b > 1"
        ),
        (
            "select r.a, x.* from r left join lateral (select q.b, q.c from q where q.a = r.a order by q.b, q.c limit 1) "
            "x on x.b = 2"
        ),
        "select r.a, q.b from r left join q on q.a = r.a and q.b > (select min(t.c) from t where t.a = r.a)",
        naive("select r.a, q.b from r left join q on q.a = r.a and exists (select 1 from t where t.a = r.a)", _NO_ON),
        "select r.a, (select max(q.b) from q where q.a = r.a) from r left join t on t.a = r.a where t.c is null",
        "select x.a, x.c, (select count(*) from q where q.a = x.c) from (select r.a, t.c from r left join t on t.a = r.a) x",
        "select r.a from r where exists (select 1 from q left join t on t.a = q.a where q.a = r.a and t.c is null)",
        naive(
            "select r.a from r where exists (select 1 from q left join t on t.a = r.a where q.a = r.a and t.c is null)",
            _NO_OUTER_JOIN,
        ),
    ),
    "D9": _pitfall(
        "ORDER BY, LIMIT and OFFSET count per outer row",
        "select r.a, (select q.b from q where q.a = r.a order by q.b, q.c limit 1) from r",
        "select r.a, (select q.b from q where q.a = r.a order by q.b desc nulls last, q.c limit 1) from r",
        "select r.a, (select q.b from q where q.a = r.a order by q.b nulls first, q.c limit 1) from r",
        "select r.a, (select q.b from q where q.a = r.a order by q.b limit 1) from r",  # ties in b, which alone is read
        "select r.a, (select q.b from q where q.a = r.a order by q.b, q.c limit 1 offset 1) from r",
        "select r.a, (select q.b from q where q.a = r.a order by q.b, q.c limit 1 offset 100) from r",
        "select r.a, (select q.b from q where q.a = r.a limit 0) from r",
        "select r.a, (select count(*) from q where q.a = r.a limit 0) from r",
        "select r.a, (select count(*) from q where q.a = r.a limit 1) from r",
        "select r.a, (select count(*) from q where q.a = r.a order by 1 limit 1) from r",
        "select r.a, (select count(*) from q where q.a = r.a offset 1) from r",
        "select r.a, (select count(*) from (select * from q where q.a = r.a limit 2) x) from r",
        "select r.a, (select count(*) from (select * from q where q.a = r.a limit 100 offset 1) x) from r",
        "select r.a, (select count(*) from (select * from q where q.a = r.a offset 1) x) from r",
        "select r.a, (select sum(x.b) from (select q.b from q where q.a = r.a order by q.b desc, q.c limit 2) x) from r",
        "select r.a, (select sum(x.b) from (select q.b from q where q.a = r.a order by q.b offset 1) x) from r",
        "select r.a, (select x.b from (select q.b, q.c from q order by q.b, q.c limit 3) x where x.b = r.b limit 1) from r",
        "select r.a, (select q.b from q order by abs(q.b - r.b), q.b limit 1) from r",
        "select r.a from r where r.b in (select q.b from q where q.a = r.a order by q.b limit 1)",
        "select r.a from r where r.b not in (select q.b from q where q.a = r.a order by q.b limit 1 offset 1)",
        "select r.a from r where exists (select 1 from q where q.a = r.a limit 1)",
        "select r.a from r where exists (select 1 from q where q.a = r.a limit 0)",
        "select r.a from r where exists (select 1 from q where q.a = r.a limit 1 offset 1)",
        "select r.a from r where not exists (select 1 from q where q.a = r.a offset 2)",
        "select r.a, x.b from r, lateral (select q.b from q where q.a = r.a order by q.b, q.c limit 2) x",
        "select r.a, x.b from r left join lateral (select q.b from q where q.a = r.a order by q.b limit 1 offset 1) x on true",
        "select r.a, x.b from r, lateral (select q.b from q where q.a = r.a union all select r.b order by 1 limit 2) x",
        "select r.a, (select q.b from q where q.a = r.a group by q.b order by count(*) desc, q.b limit 1) from r",
    ),
    "D10": _pitfall(
        "aggregates in HAVING and aggregates that belong to the outer query",
        "select r.a, count(*) from r group by r.a having count(*) > (select count(*) from q where q.a = r.a)",
        "select r.a from r group by r.a having sum(r.b) >= any (select q.b from q where q.a = r.a)",
        "select r.a from r group by r.a having exists (select 1 from q where q.a = r.a and q.b < max(r.b))",
        "select r.a, (select max(q.b) from q where q.b < sum(r.b)) from r group by r.a",
        "select r.a, (select count(*) from q where q.a = r.a) + count(*) from r group by r.a",
        "select (select sum(r.a)) from r",
        "select (select sum(r.a) + count(*) from q) from r",
        "select r.s, (select max(r.b)) from r group by r.s",
        "select r.s, (select count(*) from q where q.b <= max(r.b)) from r group by r.s",
        "select r.s, (select sum(q.b + r.b) from q) from r",
        "select r.a, (select sum(q.b) from q where q.a = r.a having sum(q.b) > r.b) from r",
        "select r.a, (select count(*) from q where q.a = r.a having count(*) < r.b) from r",
        "select r.a, r.b from r where exists (select q.a from q group by q.a having count(*) > r.b and q.a = r.a)",
        "select r.a, (select min(x.m) from (select max(q.b) as m from q group by q.a having q.a <> r.a) x) from r",
        "select r.a, r.b from r where r.b > (select avg(x.b) from r x where x.a = r.a)",
        "select r.s, max(r.b) from r group by r.s having max(r.b) = (select max(x.b) from r x where x.s = r.s)",
        (
            "select r.s, r.a, count(*), (select min(q.b) from q where q.a = r.a) from r group by r.a, r.s having "
            "min(r.b) is not null"
        ),
    ),
    "D11": _pitfall(
        "an outer column as grouping key; grouping sets",
        "select r.a, (select count(*) from q where q.a = r.a group by r.a) from r",
        "select r.a, (select count(*) from q where q.b > 0 and q.a = r.a group by r.b, q.a) from r",
        "select r.a, (select max(x.c) from (select count(*) as c from q group by q.a, r.a) x) from r",
        "select r.a, (select max(x.c) from (select count(*) as c from q group by q.a + r.a) x) from r",
        (
            "select r.a, (select sum(x.c) from (select q.b, count(*) as c from q where q.a = r.a group by grouping sets "
            "((q.b), ())) x) from r"
        ),
        (
            "select r.a, (select count(*) from (select q.b, q.c, count(*) as n from q where q.a = r.a group by rollup "
            "(q.b, q.c)) x) from r"
        ),
        (
            "select r.a, (select count(*) from (select q.b, q.c, sum(q.c) as n from q where q.a = r.a group by cube "
            "(q.b, q.c)) x) from r"
        ),
        "select r.a, r.b in (select q.b from q where q.a = r.a group by grouping sets ((q.b), ())) from r",
        naive(
            "select r.a, x.* from r, lateral (select q.b, count(*) as n from q where q.a = r.a group by grouping sets "
            "((q.b), (), ())) x",
            _LOST_ROW,
        ),
        (
            "select r.a, x.* from r left join lateral (select q.b, sum(q.c) as n from q where q.a = r.a group by rollup "
            "(q.b)) x on true"
        ),
        "select r.a, x.n from r, lateral (select count(*) as n from q where q.a = r.a group by grouping sets ((), (q.a))) x",
        "select r.a, (select count(*) from e where e.a = r.a group by grouping sets ((), ()) limit 1) from r",
        "select r.a, r.s, count(*), (select count(*) from q where q.a = r.a) from r group by grouping sets ((r.a), (r.s), ())",
        "select r.a, count(*) from r group by rollup (r.a) having count(*) > (select count(*) from q where q.a = r.a)",
        "select (select count(*) from q where q.a = r.a) as n, count(*) from r group by n",
        "select count(*), sum(r.b) from r group by (select max(q.b) from q where q.a = r.a)",
    ),
    "D12": _pitfall(
        "FILTER and DISTINCT of an aggregate with an outer column",
        "select r.a, (select count(*) filter (where q.b > r.b) from q) from r",
        "select r.a, (select sum(q.b) filter (where q.a = r.a) from q) from r",
        "select r.a, (select count(distinct q.b + r.b) from q where q.a = r.a) from r",
        "select r.a, (select count(distinct q.b) filter (where q.c < r.b or r.b is null) from q) from r",
        "select r.a, (select sum(distinct q.b - r.a) from q) from r",
        "select r.a, (select max(q.b + r.b) from q where q.a = r.a), (select min(r.a * q.b) from q) from r",
        "select r.a, (select count(*) filter (where q.a = r.a) from q where q.b = r.b) from r",
        "select r.a, (select count(q.b) filter (where r.b > 1) from q where q.a = r.a) from r",
        "select r.s, count(*) filter (where r.a in (select q.a from q where q.b = r.b)) from r group by r.s",
        "select r.s, sum((select max(q.b) from q where q.a = r.a)) from r group by r.s",
        "select count(distinct (select max(q.b) from q where q.a = r.a)) from r",
        "select r.a, (select string_agg(q.b::varchar, ',' order by q.b + r.a) from q where q.a = r.a) from r",
    ),
    "D13": _pitfall(
        "correlation over two and more levels, and past a level",
        "select r.a, (select max(q.b) from q where q.a = r.a and q.c = (select min(t.c) from t where t.a = q.a)) from r",
        "select r.a, (select count(*) from q where q.a = r.a and exists (select 1 from t where t.a = r.a and t.c = q.b)) from r",
        "select r.a, (select count(*) from q where exists (select 1 from t where t.a = r.a)) from r",
        (
            "select r.a from r where exists (select 1 from q where q.a = r.a and not exists (select 1 from t where t.a = "
            "q.a and t.c = r.b))"
        ),
        "select r.a from r where not exists (select 1 from q where not exists (select 1 from t where t.a = r.a and t.c = q.c))",
        (
            "select r.a, (select (select (select count(*) from t where t.a = r.a and t.c = q.c and t.s is not null) from "
            "q where q.a = k.a order by q.b, q.c limit 1) from k where k.id = r.b) from r"
        ),
        "select r.a, (select sum((select count(*) from t where t.a = q.a)) from q where q.b = r.b) from r",
        "select r.a, (select sum(coalesce(q.a, 0) + (select count(*) from t where t.a = r.a)) from q where q.b = r.b) from r",
        "select r.a, (select max((select max(x.b) from k x where x.a = q.a and x.id > r.a)) from q where q.b = r.b) from r",
        (
            "select r.a, (select count(*) from q where q.b > (select count(*) from t where t.a = r.a and t.c > (select "
            "count(*) from n where n.a = q.a))) from r"
        ),
        "select r.a from r where r.b in (select q.b from q where q.a in (select t.a from t where t.c = r.b and t.a = q.a))",
        "select r.a from r where r.b not in (select q.b from q where q.a not in (select t.a from t where t.c = r.b))",
        "select r.a, (select count(*) from q where q.a = r.a and q.b = r.b) from r",
        "select r.a, (select count(*) from q where q.a + q.b = r.a + r.b and q.c <> r.a) from r",
        (
            "select r.a, (select count(*) from (select * from (select * from q where q.a = r.a) x where x.b = r.b) y "
            "where y.c = r.a) from r"
        ),
        (
            "select r.a, x.b, x.n from r, lateral (select q.b, (select count(*) from t where t.a = r.a and t.c = q.b) as "
            "n from q where q.a = r.a) x"
        ),
        (
            "select r.a, y.n from r, lateral (select q.b from q where q.a = r.a) x, lateral (select count(*) as n from t "
            "where t.a = r.a and t.c < x.b) y"
        ),
        "select r.a, (select count(*) from q, lateral (select * from t where t.a = r.a and t.c = q.c) x where q.a = r.a) from r",
        (
            "select r.a, (select count(*) from q left join lateral (select * from t where t.a = r.a) x on true where q.a "
            "= r.a) from r"
        ),
        (
            "select r.a, (select count(*) from q join t on t.a = q.a and exists (select 1 from k where k.id = q.b and "
            "k.a = r.a)) from r"
        ),
    ),
    "D14": _pitfall(
        "correlation under set operations",
        (
            "select r.a, (select count(*) from (select q.b from q where q.a = r.a union all select t.c from t where t.a "
            "= r.a) x) from r"
        ),
        "select r.a, (select count(*) from (select q.b from q where q.a = r.a union select t.c from t where t.a = r.a) x) from r",
        (
            "select r.a, (select count(*) from (select q.b from q where q.a = r.a intersect select t.c from t where t.a "
            "= r.a) x) from r"
        ),
        (
            "select r.a, (select count(*) from (select q.b from q where q.a = r.a except select t.c from t where t.a = "
            "r.a) x) from r"
        ),
        (
            "select r.a, (select count(*) from (select q.b from q where q.a = r.a intersect all select t.c from t where "
            "t.a = r.a) x) from r"
        ),
        (
            "select r.a, (select count(*) from (select q.b from q where q.a = r.a except all select t.c from t where t.a "
            "= r.a) x) from r"
        ),
        "select r.a, (select sum(x.b) from (select q.b from q where q.a = r.a union all select t.c from t) x) from r",
        "select r.a, (select sum(x.b) from (select q.b from q union select t.c from t where t.c = r.b) x) from r",
        "select r.a, (select count(*) from (select q.b from q except all select t.c from t where t.a = r.a) x) from r",
        "select r.a, (select count(*) from (select q.b from q where q.a = r.a except select t.c from t) x) from r",
        (
            "select r.a, (select count(*) from (select q.b from q where q.a = r.a union all select t.c from t where t.c "
            "= r.b union all select 1) x) from r"
        ),
        (
            "select r.a, (select count(*) from (select q.b from q where q.a = r.a intersect select t.c from t where t.c "
            "= r.b) x) from r"
        ),
        "select r.a from r where r.b in (select q.b from q where q.a = r.a union all select t.c from t where t.a = r.a)",
        "select r.a from r where r.b not in (select q.b from q where q.a = r.a union select r.a)",
        "select r.a from r where exists (select q.b from q where q.a = r.a except select t.c from t where t.a = r.a)",
        "select r.a, (select max(x.b) from (select r.b as b union all select q.b from q where q.a = r.a) x) from r",
        "select r.a, x.v from r, lateral (select r.a as v union all select r.b) x",
        "select r.a, x.v from r, lateral (values (r.a), (r.b), (7)) x(v)",
        naive(
            "select r.a, x.v from r, lateral (select count(*) as v from q where q.a = r.a union all select sum(t.c) from "
            "t where t.a = r.b) x",
            _LOST_ROW,
        ),
        "select r.a, (select count(*) from (select r.a intersect select t.a from t) x) from r",
    ),
    "D15": _pitfall(
        "window functions see the rows of one outer row",
        "select r.a, x.* from r, lateral (select q.b, row_number() over (order by q.b, q.c) as n from q where q.a = r.a) x",
        "select r.a, x.* from r, lateral (select q.b, rank() over (order by q.b desc) as n from q where q.a = r.a) x",
        (
            "select r.a, x.* from r, lateral (select q.b, dense_rank() over (order by q.b nulls first) as n from q where "
            "q.a <= r.a) x"
        ),
        "select r.a, x.* from r, lateral (select q.b, sum(q.c) over (partition by q.b) as n from q where q.a = r.a) x",
        "select r.a, x.* from r, lateral (select q.b, sum(q.c) over (order by q.b) as n from q where q.a = r.a) x",
        "select r.a, x.* from r, lateral (select q.b, count(*) over () as n from q where q.a = r.a) x",
        "select r.a, x.* from r, lateral (select q.b, lag(q.b) over (order by q.b, q.c) as n from q where q.a = r.a) x",
        (
            "select r.a, x.* from r, lateral (select q.b, sum(q.b) over (order by q.b, q.c rows between 1 preceding and "
            "current row) as n from q where q.a <> r.a) x"
        ),
        naive("select r.a, x.* from r, lateral (select q.b, max(q.b + r.b) over (partition by q.a) as n from q) x", _NO_WINDOW),
        naive("select r.a, x.* from r, lateral (select q.b, count(*) over (partition by q.a = r.a) as n from q) x", _NO_WINDOW),
        naive(
            "select r.a, x.* from r, lateral (select q.b, row_number() over (order by q.b * r.b, q.b, q.c, q.a) as n from q) x",
            _NO_WINDOW,
        ),
        "select r.a, (select max(x.n) from (select count(*) over (partition by q.b) as n from q where q.a = r.a) x) from r",
        (
            "select r.a, (select x.b from (select q.b, row_number() over (order by q.b desc nulls last, q.c) as n from q "
            "where q.a = r.a) x where x.n = 1) from r"
        ),
        "select r.a, (select count(*) over () from q where q.a = r.a limit 1) from r",
        "select r.a, r.b in (select max(q.b) over () from q where q.a = r.a) from r",
        "select r.a, r.b in (select sum(count(*)) over () from q where q.a = r.a group by q.b) from r",
        "select r.a, (select sum(q.b) over () from q where q.a = r.a group by q.b order by 1 limit 1) from r",
        "select r.a, rank() over (order by (select count(*) from q where q.a = r.a)) from r",
        "select r.a, sum((select max(q.b) from q where q.a = r.a)) over (partition by r.s) from r",
        (
            "select x.a, x.n, (select count(*) from q where q.a = x.n) from (select r.a, row_number() over (order by "
            "r.a, r.b, r.s) as n from r) x"
        ),
    ),
    "D16": _pitfall(
        "correlation by other comparisons, expressions and NULL-safe equality",
        *(f"select r.a, r.b, (select count(*) from q where q.a {op} r.a) from r" for op in ("<", "<=", ">", ">=", "<>")),
        *(f"select r.a, r.b from r where exists (select 1 from q where q.a = r.a and q.b {op} r.b)" for op in ("<", ">=", "<>")),
        "select r.a, (select count(*) from q where q.a is not distinct from r.a) from r",
        "select r.a, (select sum(q.b) from q where q.a is distinct from r.a) from r",
        "select r.a, (select count(*) from q where q.a is not distinct from r.a and q.b is not distinct from r.b) from r",
        "select r.a, (select count(*) from q where q.a = r.a or q.b = r.b) from r",
        "select r.a, (select count(*) from q where q.a = r.a or r.a is null) from r",
        "select r.a, (select sum(q.b) from q where r.a is null) from r",
        "select r.a, (select count(*) from q where q.a + 1 = r.a * 2) from r",
        "select r.a, (select count(*) from q where q.a = coalesce(r.a, r.b, 0)) from r",
        "select r.a, (select count(*) from q where q.a between r.a and r.b) from r",
        "select r.a, (select max(q.b) from q where q.b < r.b and q.a = r.a) from r",
        "select r.s, (select count(*) from t where t.s like r.s) from r",
        (
            "select r.s, (select count(*) from t where t.s = r.s), (select count(*) from t where t.s is not distinct "
            "from r.s) from r"
        ),
        "select r.a, (select count(*) from q where q.a = r.a::double) from r",
        naive("select r.a, (select count(*) from q where (q.a, q.b) = (r.a, r.b)) from r", _ROW_VALUE),
        "select r.a, x.b from r, lateral (select q.b from q where q.a is not distinct from r.a) x",
        "select r.a from r where r.a in (select q.a from q where q.b is not distinct from r.b)",
        "select r.a, (select count(*) from q where case when r.a > 1 then q.b = 2 else q.a = r.a end) from r",
        "select r.a, (select r.a + r.b), (select count(*) from q where r.b > 1) from r",
    ),
    "D17": _pitfall(
        "outer rows that are equal stay as many as they are",
        "select r.a, r.b, (select count(*) from q where q.a = r.a) from r where r.a = 1",
        "select x.a, (select count(*) from q where q.a = x.a) from (select r.a from r union all select r.a from r) x",
        "select count(*) from r where exists (select 1 from q where q.a = r.a)",
        "select count(*) from r where not exists (select 1 from q where q.a = r.a)",
        "select r.s from r where r.b = (select count(*) from q where q.a = r.a)",
        "select r.a, x.b from r, lateral (select q.b from q where q.a = r.a) x",
        "select count(*), sum(x.n) from r, lateral (select count(*) as n from q where q.a = r.a) x",
        "select n.b, (select count(*) from q where q.b is not distinct from n.b) from n",
        "select count((select max(q.b) from q where q.a = r.a)) from r join n on n.a = r.a",
        "select r.s, sum((select count(*) from q where q.a = r.a)) from r group by r.s",
    ),
    "D18": _pitfall(
        "errors stay with the rows that have them",  # volatile calls: test_volatile.py
        "select r.a, (select max(q.b) from q where q.a = r.a and r.s is not null and cast(r.a as varchar) <> 'x') from r",
        "select r.a from r where r.s = 'x' and exists (select 1 from q where q.a = r.a)",
        "select x.a, (select sum(100 // (q.b - x.b)) from q where q.a = x.a) from r x",
        raising("select r.a, (select max(cast(r.s as int) + q.b) from q where q.a = r.a) from r"),
        "select r.a, (select max(cast(r.s as int) + e.b) from e where e.a = r.a) from r",
        Case("select r.a, (select max(cast(t.s as int)) from t where t.a = r.a) from r", _EAGER, raises=True),
        "select r.a, (select max(cast(t.s as int)) from t where t.a = r.a) from r where r.a > 100",
        "select r.a, (select max(cast(t.s as int)) from t where t.a = r.a + 100) from r",
        "select r.a, (select max(cast(t.s as int)) from t where t.a = r.a and t.s < 'a') from r",
    ),
    "D19": _pitfall(
        "subqueries in ON, over one side or both; in both inputs of a join",
        "select r.a, q.b from r join q on q.a = r.a and exists (select 1 from t where t.a = r.a and t.c = q.b)",
        "select r.a, q.b from r join q on q.b = (select max(t.c) from t where t.a = r.a)",
        "select r.a, q.b from r join q on r.b in (select t.c from t where t.a = q.a)",
        "select r.a, q.b from r join q on r.a = q.a and r.b not in (select t.c from t where t.a = q.a)",
        "select r.a, q.b from r join q on (select count(*) from t where t.a = r.a) = (select count(*) from t where t.a = q.a)",
        "select r.a, q.b from r left join q on q.a = r.a and q.b in (select t.c from t)",
        naive("select r.a, q.b from r left join q on q.a = r.a and r.b in (select t.c from t where t.a = r.a)", _NO_ON),
        "select r.a, q.b from r left join q on q.a = r.a and q.b > (select min(t.c) from t where t.a = q.a)",
        naive(
            "select r.a, q.b from r left join q on q.a = r.a and exists (select 1 from t where t.a = r.a and t.c = q.b)",
            _NO_ON,
        ),
        naive("select r.a, q.b from r left join q on (select count(*) from t where t.a = r.a and t.c = q.b) = 1", _NO_ON),
        naive("select r.a, q.b from r right join q on exists (select 1 from t where t.a = r.a and t.c = q.b)", _NO_ON),
        naive("select r.a, q.b from r full join q on exists (select 1 from t where t.a = r.a and t.c = q.b)", _NO_ON),
        naive("select r.a, q.b from r full join q on r.a = q.a and r.b in (select t.c from t where t.a = q.b)", _NO_ON),
        naive("select r.a, q.b from r full join q on r.a = q.a and (select max(t.c) from t where t.a = r.a) > 0", _NO_ON),
        (
            "select r.a, (select count(*) from (select * from q where q.a = r.a) x join (select * from t where t.a = "
            "r.a) y on x.b = y.c) from r"
        ),
        "select r.a, (select count(*) from (select * from q where q.a = r.a) x, (select * from t where t.c = r.b) y) from r",
        (
            "select r.a, (select count(*) from (select * from q where q.a = r.a) x left join (select * from t where t.c "
            "= r.b) y on x.b = y.a) from r"
        ),
        "select r.a, (select count(*) from q join t on t.a = q.a and t.c = r.b and q.b = r.a) from r",
    ),
    "D20": _pitfall(
        "one subquery used twice; a CTE read from a subquery",
        "select r.a, (select count(*) from q where q.a = r.a), (select count(*) from q where q.a = r.a) from r",
        "select r.a, (select max(q.b) from q where q.a = r.a) + (select max(q.b) from q where q.a = r.a) from r",
        "select x.n, x.n + 1 from (select (select count(*) from q where q.a = r.a) as n from r) x where x.n > 0 or x.n = 0",
        "select (select max(q.b) from q where q.a = r.a) as m from r where (select max(q.b) from q where q.a = r.a) > 1",
        "with w as (select q.a, q.b from q) select r.a, (select count(*) from w where w.a = r.a) from r",
        (
            "with w as (select q.a, q.b from q) select r.a, (select count(*) from w where w.a = r.a), exists (select 1 "
            "from w where w.b = r.b) from r"
        ),
        (
            "with w as (select q.a, count(*) as n from q group by q.a) select r.a from r where r.b >= (select max(w.n) "
            "from w where w.a = r.a)"
        ),
        (
            "with w as (select r.a, (select count(*) from q where q.a = r.a) as n from r) select x.a, y.n from w x join "
            "w y on x.n = y.a"
        ),
        "with w as (select * from q) select r.a, (select count(*) from w x join w y on x.a = y.b where x.a = r.a) from r",
        "select r.a, (with w as (select * from q where q.a = r.a) select count(*) from w x, w y) from r",
        "with w as (select * from r) select w.a, (select count(*) from w x where x.b < w.b) from w",
        "select r.a, r.a in (select q.a from q) and r.a in (select q.a from q) from r",
    ),
    "D21": _pitfall(
        "results may be NULL, keep their names, and lose no column",
        "select k.id, (select x.a from k x where x.id = k.b) from k",
        "select k.id, (select count(*) from q where q.a = k.a) is null from k",
        "select k.id from k where (select x.a from k x where x.id = k.b) is null",
        "select k.id, coalesce((select x.a from k x where x.id = k.b), -1) from k",
        "select x.id, x.m from (select k.id, k.a, (select y.a from k y where y.id = k.b) as m from k) x where x.m is not null",
        "select x.m from (select k.*, k.a in (select q.a from q where q.b = k.b) as m, k.a as a2 from k) x",
        "select x.id from (select k.id, k.a in (select q.a from q) as m from k) x",
        "select count(*) from (select k.id, (select max(q.b) from q where q.a = k.a) as m from k) x",
        "select * from r where r.b in (select q.b from q where q.a = r.a)",
        "select r.*, (select count(*) from q where q.a = r.a) as n from r",
        "select r.a as b, r.b as a, (select max(q.b) from q where q.a = r.a) as s from r",
        "select r.s from r where r.a in (select k.id from k where k.b = r.b) order by r.s",
    ),
    "D22": _pitfall(
        "constants in EXISTS; subqueries that depend on nothing",  # how often they run: test_run_counts.py
        "select r.a from r where exists (select 1 from q where coalesce(q.a, r.a) = 1)",
        "select r.a from r where exists (select 1 from q where coalesce(r.a, 0) = 0)",
        "select r.a from r where exists (select 1 from q where 1 = 1)",
        "select r.a from r where exists (select 1 from q where 1 = 0)",
        "select r.a from r where exists (select 1 from q where null)",
        "select r.a from r where exists (select 1 from e) or r.a = 1",
        "select r.a from r where exists (select 1 where r.a = 1)",
        "select r.a from r where not exists (select 1 where r.a = 1)",
        "select r.a, exists (select null), exists (select r.a where r.a is null) from r",
        "select r.a, (select max(q.b) from q), exists (select 1 from q), r.a in (select q.a from q) from r",
        "select r.a from r where r.b < (select max(q.b) from q) and exists (select 1 from t) and not exists (select 1 from e)",
        "select (select count(*) from q), (select 1 where false), exists (select 1 from e)",
        "select r.a from r where exists (select 1 from q where q.a = r.a and true or false)",
    ),
    "D23": _pitfall(
        "what one method cannot do in one place is done in the others",
        "select r.a, (select max(q.b) from q where q.a < r.a), (select count(*) from t where t.a = r.a) from r",
        (
            "select r.a, x.n, (select count(*) from t where t.a = r.a) from r, lateral (select row_number() over (order "
            "by q.b, q.c) as n from q where q.a = r.a) x"
        ),
        (
            "select r.a, (select q.b from q where q.a = r.a order by q.b, q.c limit 1 offset 1), r.a in (select t.a from "
            "t where t.c = r.b) from r"
        ),
        naive(
            "select r.a, (select count(*) from q full join t on t.a = q.a and q.b = r.b), (select sum(t.c) from t where "
            "t.a = r.a) from r",
            _NO_OUTER_JOIN,
        ),
        (
            "select r.a, (select count(*) from q where q.a = r.a and q.b in (select t.c from t where t.a < q.a order by "
            "1 limit 1)) from r where exists (select 1 from k where k.id = r.a)"
        ),
        (
            "select r.a, (select count(*) from (select q.b from q where q.a = r.a intersect all select t.c from t where "
            "t.a > r.a) x), (select max(q.c) from q where q.a = r.a) from r"
        ),
    ),
    "D24": _pitfall(
        "a plan without Apply is no end in itself: equal rows either way",  # measured: tests of the search
        "select k.id, (select max(q.b) from q where q.a = k.a) from k where k.id = 3",
        "select r.a from r where r.a = 3 and exists (select 1 from q x join q y on x.a < y.a where x.b > r.b)",
        "select k.id, (select x.b from k x where x.id = k.a) from k order by k.id limit 1",
    ),
    "D25": _pitfall(
        "what knows of an empty inner input, and who may drop rows for it",
        "select r.a, (select x.n + 1 from (select count(*) as n from q where q.a = r.a) x) from r",
        "select r.a, (select x.n from (select count(*) as n from q where q.a = r.a) x where x.n > 0) from r",
        "select r.a, (select count(*) from (select max(q.b) as m from q where q.a = r.a) x) from r",
        "select r.a, (select count(x.m) from (select max(q.b) as m from q where q.a = r.a) x) from r",
        "select r.a, (select max(coalesce(x.m, 9)) from (select max(q.b) as m from q where q.a = r.a) x) from r",
        "select r.a, (select x.n from (select count(*) as n from q where q.a = r.a) x join (select 1 as one) y on true) from r",
        (
            "select r.a, (select x.n from (select count(*) as n from q where q.a = r.a) x join t on t.c = x.n order by 1 "
            "limit 1) from r"
        ),
        "select r.a, (select sum(x.n) from (select count(*) as n from q where q.a = r.a union all select 10) x) from r",
        "select r.a, (select x.n from (select count(*) as n from q where q.a = r.a) x left join e on e.a = x.n) from r",
        "select r.a, (select y.n from e right join (select count(*) as n from q where q.a = r.a) y on e.a = y.n) from r",
        "select r.a from r where 0 in (select count(*) from q where q.a = r.a)",
        "select r.a from r where 0 not in (select count(*) from q where q.a = r.a)",
        "select r.a, 0 = any (select count(*) from q where q.a = r.a) from r",
        "select r.a, r.b > all (select count(*) from q where q.a = r.a) from r",
        "select r.a, x.n from r, lateral (select count(*) as n from q where q.a = r.a) x where x.n = 0",
        "select r.a, x.n from r left join lateral (select sum(q.b) as n from q where q.a = r.a) x on x.n is null",
        "select r.a, exists (select 1 from (select count(*) as n from q where q.a = r.a) x where x.n = 0) from r",
        "select r.a, (select count(*) from (select count(*) as n from q where q.a = r.a group by q.b) x) from r",
        "select r.a, (select rank() over (order by x.n) from (select count(*) as n from q where q.a = r.a) x) from r",
        "select r.a, (select distinct count(*) from q where q.a = r.a) from r",
    ),
}
