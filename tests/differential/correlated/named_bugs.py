"""Rewritings that look right and are wrong, each with queries whose rows tell.

Every name is a mistake in a decorrelation by the domain method that has been made somewhere; on the rich dataset (and many
others) the mistake changes the result of its queries.
"""

from __future__ import annotations

NAMED_BUGS: dict[str, tuple[str, ...]] = {
    "no COALESCE over a count": (
        "select r.a, (select count(*) from q where q.a = r.a) from r",
        "select r.a from r where (select count(q.b) from q where q.a = r.a) = 0",
        "select r.a, (select count(*) from q where q.a < r.a and q.b > r.b) from r",
        "select r.a, (select count(*) from q where q.a = r.a) + (select count(*) from t where t.c = r.b) from r",
    ),
    "count(*) over the padded row of an outer join": (
        "select r.a, r.b, (select count(*) from q where q.a = r.a and q.b = r.b) from r",
        "select r.a, (select count(*) from q where q.a > r.a) from r",
        "select r.a, (select count(n.b) from n where n.a = r.a), (select count(*) from n where n.a = r.a) from r",
        "select r.a, (select count(*) filter (where q.b is null) from q where q.a = r.a) from r",
        "select r.a, (select sum(1) from q where q.a = r.a) from r",
        "select r.a, (select max(coalesce(q.b, 5)) from q where q.a = r.a) from r",
        "select r.a, (select sum(case when q.b is null then 1 else 2 end) from q where q.a = r.a) from r",
    ),
    "joined back by = instead of IS NOT DISTINCT FROM": (
        "select r.a, (select count(*) from q where q.a is not distinct from r.a) from r",
        "select r.a, (select count(*) from q where q.a = r.a or r.a is null) from r",
        "select r.a, (select max(q.b) from q where coalesce(q.a, -1) = coalesce(r.a, -1)) from r",
        "select r.a, x.b from r, lateral (select q.b from q where r.a is null) x",
        "select r.a from r where exists (select 1 from q where r.a is null and q.b is null)",
        "select r.a from r where r.b in (select q.b from q where r.a is null or q.a = r.a)",
        "select r.a, (select coalesce(r.a, 7) + min(q.b) from q) from r",
    ),
    "a substituted domain that keeps NULL": (
        "select r.a, (select sum(q.b) from q where q.a = r.a) from r",
        "select r.a, x.b from r, lateral (select q.b from q where q.a = r.a) x",
        "select r.a, x.b from r left join lateral (select q.b from q where q.a = r.a) x on true",
        "select r.a from r where exists (select 1 from q where q.a = r.a and q.b is not null)",
        "select r.a from r where not exists (select 1 from q where q.a = r.a)",
        "select r.a, r.b in (select q.b from q where q.a = r.a) from r",
        "select r.a, (select q.b from q where q.a = r.a order by q.b desc nulls first, q.c limit 1) from r",
        "select r.a, x.n from r, lateral (select q.b, count(*) as n from q where q.a = r.a group by q.b) x",
    ),
    "the domain only on the side of an outer join that is padded": (
        "select r.a, (select count(*) from q left join (select * from t where t.a = r.a) x on x.c = q.c) from r",
        "select r.a, (select count(x.a) from q left join (select * from t where t.c = r.b) x on x.a = q.a) from r",
        "select r.a, (select sum(q.b) from (select * from t where t.a = r.a) x right join q on x.c = q.b) from r",
        (
            "select r.a, y.b, y.c from r, lateral (select q.b, x.c from q left join (select * from t where t.a = r.a) x "
            "on x.c = q.b) y"
        ),
        (
            "select r.a from r where exists (select 1 from q left join (select * from t where t.a = r.a) x on x.c = q.b "
            "where x.c is null)"
        ),
    ),
    "EXISTS over a scalar aggregate as an inner join": (
        "select r.a from r where exists (select count(*) from q where q.a = r.a)",
        "select r.a from r where exists (select max(q.b) from q where q.a < r.a)",
        "select r.a, exists (select sum(q.b) from q where q.a = r.a) from r",
        "select r.a from r where not exists (select min(q.b) from q where q.a = r.a)",
        "select r.a, x.n from r, lateral (select count(*) as n from q where q.a = r.a) x",
        "select r.a from r where 0 in (select count(*) from q where q.a = r.a)",
    ),
    "COALESCE above the projection instead of at the aggregate": (
        "select r.a, (select coalesce(max(q.b), 7) + 1 from q where q.a = r.a) from r",
        "select r.a, (select count(*) + 1 from q where q.a = r.a) from r",
        "select r.a, (select case when count(*) = 0 then 'none' else 'some' end from q where q.a = r.a) from r",
        "select r.a, (select count(*) * coalesce(sum(q.b), 3) - 2 from q where q.a = r.a) from r",
        "select r.a, (select coalesce(min(q.b), r.b, 4) from q where q.a = r.a) from r",
        "select r.a, (select x.n - 1 from (select count(*) as n from q where q.a = r.a) x) from r",
    ),
    "a plain anti join for NOT IN": (
        "select r.a from r where r.b not in (select q.b from q where q.a = r.a)",
        "select r.a from r where r.a not in (select q.a from q where q.b > 0)",
        "select r.a from r where r.a not in (select q.a from q where q.b = r.b)",
    ),
    "a two-valued mark": (
        "select r.a from r where r.b not in (select q.b from q where q.a = r.a) or r.a is null",
        "select r.a from r where not (r.b in (select q.b from q where q.a = r.a) or r.a = 2)",
        "select r.a, r.b in (select q.b from q where q.a = r.a) from r",
    ),
    "> ALL by the maximum": (
        "select r.a from r where r.b > all (select q.b from q where q.a = r.a)",
        "select r.a, r.a >= all (select q.a from q where q.b <= r.b) from r",
        "select r.a, r.b < any (select q.b from q where q.a = r.a) from r",
    ),
    "one limit for all outer rows": (
        "select r.a, x.b from r, lateral (select q.b from q where q.a = r.a order by q.b limit 1) x",
        "select r.a, (select q.b from q where q.a = r.a order by q.b offset 1 limit 1) from r",
        "select r.a, x.n from r, lateral (select row_number() over (order by q.b, q.c) as n from q where q.a = r.a) x",
    ),
    "outer duplicates lost with the domain": (
        "select r.a, x.b from r, lateral (select q.b from q where q.a = r.a) x",
        "select count(*) from r where exists (select 1 from q where q.a = r.a)",
        "select r.a, (select count(*) from q where q.a = r.a) from r",
    ),
}
