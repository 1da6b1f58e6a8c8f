"""What queries with subqueries and LATERAL mean: the naive evaluation of the bound tree gives DuckDB's rows.

Where DuckDB refuses a query, or is not right about one, an equivalent query says what is expected of it.
"""

from __future__ import annotations

import pytest

from optimizer.errors import ExecutionError, SqlError, Unsupported
from optimizer.sql.bind import bind
from tests.reference.naive import run_query
from tests.unit.sql.test_sql_fuzz import assert_consistent
from tests.unit.sql.world import World, assert_means_the_same

SCALAR = (
    "select (select 1), (select null), (select max(a) from u), (select a from e)",
    "select a, (select max(c) from u where u.a = t.a) from t",
    "select a, (select count(*) from u where u.a = t.a) from t",
    "select a, (select count(c) + 1 from u where u.a = t.a) from t",
    "select a, (select coalesce(sum(c), 0) + count(*) from u where u.a = t.a) from t",
    "select a, (select case when sum(c) > 10 then 'many' else 'few' end from u where u.a = t.a) from t",
    "select a, (select count(*) from u where u.a = t.a group by u.a) from t",
    "select a, (select count(*) from u where u.a = t.a group by ()) from t",
    "select a, (select count(*) from u where u.a = t.a having count(*) > 1) from t",
    "select a, (select c from u where u.a = t.a) from t where t.a = 2",
    "select a, (select c from u where u.a = t.a) from t",  # more than one row
    "select a, (select c from u where u.a = t.a order by c limit 1) from t",
    "select a, (select c from u where u.a = t.a order by c desc limit 1 offset 1) from t",
    "select a, (select c from u where u.a = t.a order by t.b, u.c limit 1) from t",
    "select a, (select t.b limit 0) from t",
    "select a, (select t.b + 1) from t",
    "select a, (select t.b from u where u.a = t.a group by t.b) from t",
    "select a, (select count(*) from u group by t.a) from t",
    "select a, (select distinct t.a from u) from t",
    "select a, (select distinct t.a + 1 from u where u.c > t.b) from t",
    "select a, coalesce((select max(c) from u where u.a = t.a), -1) from t",
    "select (select max(a) from u) between 1 and (select max(c) from u) from t",
    "select a in (1, null, (select max(a) from u)) from t",
    "select a in ((select 1), 2) from t",
    "select a in ((select u.a from u), 2) from t",
    "select (select max(x) from (values (t.a), (t.b), (7)) v(x)) from t",
    "select (select sum(x) from (select u.c as x from u where u.a = t.a) q) from t",
    "select (select sum(x) from (select (select t.a + u.c) as x from u) q) from t",
    "select (select q.z from (select t.a + 1) q(z)) from t",
    "select (select avg(n) from t x where x.d < t.d) from t",
    "select (select max(x.s) from t x where x.s < t.s) || '!' from t",
    "select (select min(x.ts) from t x where x.d = t.d) from t",
    "select cast((select max(c) from u) as varchar), -(select max(c) from u), (select max(c) from u) % 3",
    "select case when exists (select 1 from e) then (select max(a) from u) else (select min(a) from u) end",
    "select case (select max(c) from u where u.a = t.a) when 11 then 'x' else 'y' end from t",
    "select nullif((select max(c) from u where u.a = t.a), 11) from t",
    "select greatest((select max(c) from u where u.a = t.a), a, 3) from t",
    "select s like (select 'a%') from t",
    "select (select t.a union all select t.b limit 1) from t where t.a = t.b",
    "select ((select max(a) from u)), (((select min(a) from u))) from t",
    "select (values (3))",
    "select (select max(v) from (values (1), (t.a)) w(v)) from t",
    "select (select a from u where c = 10) from t",
    "select (select sum(a) over () from u limit 1) from t",
    "select (select max(r) from (select row_number() over (partition by u.a order by u.c) as r from u where u.c > t.b) q) from t",
    "select (select b, a) from t",
    "select (select * from u limit 1) from t",
    "select (select * from (select t.a) q) from t",
)
EXISTS = (
    "select a from t where exists (select 1 from u where u.a = t.a)",
    "select a from t where not exists (select 1 from u where u.a = t.a)",
    "select a from t where exists (select * from u where u.a = t.a and u.c > t.b)",
    "select a from t where exists (select * from e)",
    "select a from t where not exists (select * from e)",
    "select a from t where exists (select count(*) from e)",
    "select a from t where exists (select max(x) from e where e.a = t.a)",
    "select a from t where exists (select max(x) from e where e.a = t.a having count(*) > 0)",
    "select a from t where exists (select 1 from u where u.a = t.a group by u.a having count(*) > 1)",
    "select a from t where exists (select 1 from u where u.a = t.a limit 0)",
    "select a from t where exists (select 1 from u where u.a = t.a offset 1)",
    "select a from t where exists (select 1 from u where u.a = t.a) or b = 3",
    "select exists (select 1 from u where u.a = t.a) or a = 3 from t",
    "select exists (select 1 from u where u.a = t.a) = bo, not exists (select 1 from u where u.a = t.a) and a < 3 from t",
    "select exists (select 1) is true, (exists (select 1 from e)) is null",
    "select exists (values (1)), exists (from e), exists ((select 1)), exists (select 1 union select 2)",
    "select a from t where exists (select u.a from u except select t.a)",
    "select a from t where exists (select u.a from u intersect select t.a)",
    "select a from t where exists (select 1 from u where u.c = t.b and exists (select 1 from t y where y.a = u.a and y.b < t.b))",
    "select a from t where not exists (select 1 from u where not exists (select 1 from t y where y.a = t.a and y.b < u.c))",
    "select a from t where exists (select distinct u.c from u where u.a is not distinct from t.a)",
)
MEMBERSHIP = (
    "select a, a in (select a from u), a not in (select a from u) from t",
    "select a, a in (select a from e), a not in (select a from e) from t",
    "select a, a in (select a from u where a is not null), a not in (select a from u where a is not null) from t",
    "select a from t where a in (select a from u)",
    "select a from t where a not in (select a from u)",
    "select a from t where a not in (select a from u where a is not null)",
    "select a from t where a not in (select c from u where u.a = t.a)",
    "select a from t where not (a in (select c from u where u.a = t.b) or b = 3)",
    "select a from t where a in (select a from u) or a in (select c - 7 from u)",
    "select null in (select a from u), null in (select a from e), null not in (select a from e), (select null) in (select 1)",
    "select a in (select null), a not in (select null) from t",
    "select 1.0 in (select a from u), 1.5 in (select a from u), '10' in (select c from u)",
    "select n in (select a from u), f in (select c from u), a in (select 1.5) from t",
    "select d in (select date '1994-01-31'), '1994-01-31' in (select d from t), ts in (select d from t) from t",
    "select s in (select c from u) from t",
    "select a in (select 'x') from t",
    "select a in (values (1), (2), (null)), a in (values (1)), b not in (values (2), (t.a)) from t",
    "select a in ((select u.a from u)) from t",
    "select a + 1 in (select c - b from u) from t",
    "select a in (select a from u union select c from u where c = t.b) from t",
    "select a in (select u.a from u intersect select t.a), a in (select u.a from u except all select 1) from t",
    "select a in (with c as (select a + 1 as z from u) select z from c) from t",
    "select a in (select a, c from u) from t",
    "select a in (select a from u order by c limit 2) from t",
    "select a in (select u.a from u where u.c in (select y.b + 5 from t y where y.a = t.a)) from t",
    "select (a in (select a from u)) in (select true) from t",
    "select (select max(a) from t) in (select c from u), (select 1) in (select a from u)",
    "select a from t where (a in (select a from u)) is null",
    "select a from t where case when a in (select a from u) then b = 2 else b = 5 end",
)
PARENTHESIZED = (
    "((select c from u))",
    "(((select c from u where c is not null)))",
    "((select c from u) union all (select b from t))",
    "((select c from u where u.a = t.a) union select t.b)",
    "((select c from u) intersect (select b from t))",
    "((select c from u where c > 5) intersect all select 9)",
    "((select c from u) except (select 5))",
    "((select c from u) except all (select t.b) order by 1 limit 1)",
    "((select c from u) order by c limit 1)",
    "((select c from u) limit 0)",
    "((with c as (select c from u where u.a = t.a) select c from c))",
    "(values (1), (t.a))",
    "((values (2)))",
    "((from (select c from u)))",
)
QUANTIFIED = (
    "select b, b = any (select c from u), b <> any (select c from u), b < some (select c from u) from t",
    "select b, b > any (select c from u), b <= any (select c from u), b >= any (select c from u) from t",
    "select b, b = all (select c from u), b <> all (select c from u), b < all (select c from u) from t",
    "select b, b > all (select c from u), b <= all (select c from u), b >= all (select c from u) from t",
    "select b, b > all (select c from u where u.a = t.a), b <= any (select c from u where u.a = t.a) from t",
    "select a = all (select a from e), a = any (select a from e), a <> all (select a from e) from t",
    "select null > all (select a from e), null = any (select a from e), null < any (select a from u), null <> all (select 1)",
    "select a from t where b > all (select c from u where u.a = t.a)",
    "select a from t where b > (select max(c) from u where u.a = t.a)",
    "select a from t where b <= any (select c from u where c is not null)",
    "select a from t where not b < all (select c from u where c is not null)",
    "select a from t where a = any (select a from u where u.c > all (select b from t y where y.a = u.a))",
    "select n > any (select a from u), n < all (select 0.5), s > any (select 'b') from t",
    "select d = all (select d from t where d > '1999-01-01'), ts >= any (select d from t) from t",
    "select a = any ((select u.a from u)), a = any (values (1)) from t",
    "select (select a from t where a = 3) = any (select a from t)",
    "select a > any (select s from t) from t",
    "select a is distinct from any (select a from u) from t",
    "select s like any (select 'x') from t",
    *(f"select b, b <> {word} {rows}, b <= {word} {rows} from t" for word in ("all", "any", "some") for rows in PARENTHESIZED),
    "select a from t where a <> all ((select u.a from u where u.a is not null) union all (select u.c from u where u.c = t.b))",
    "select (a, b) = all ((select 1, 2)), (a, b) = some ((select 1, 2) union all (select 3, 3)) from t where a + b > 0",
    "select b from t where b <> all ((select c from u)) union select 2",
    "select a from t where a <> all ((select 1)) order by a limit 2",
    "select all (a), b from t",
    "select a from t union all ((select c from u) union all (select 3))",
    'select a = "all"((select 1)) from t',
    "select a + all ((select 1)) from t",
)
ROWS = (
    "select (a, b) is distinct from (1, 2), (a, b) is not distinct from (null, 5) from t",
    "select (a, b) = (1, 2, 3) from t",
    "select (a, b) = 1 from t",
    "select a from t where (a, b) in (select a, b from t where b is not null)",
    "select a from t where (a, b) in (select u.a, 2 from u)",
    "select a from t where (a, b) in (values (1, 2), (3, 3))",
    "select a from t where (a, (select 2)) in (select a, 2 from u)",
    "select (a, b) in (select a from u) from t",
)
CLAUSES = (
    "select a, b from t where a = (select max(a) from u where u.c > t.b)",
    "select a from t where (select max(c) from u where u.a = t.a) is null",
    "select b, count(*) from t group by b having count(*) < (select count(*) from u where u.c > t.b)",
    "select b from t group by b having exists (select 1 from u where u.c = t.b)",
    "select a, b from t order by (select max(c) from u where u.a = t.a), a, b",
    "select a, b from t order by exists (select 1 from u where u.a = t.a) desc, a, b",
    "select a, (select count(*) from u where u.a = t.a) as m from t order by m desc, a, b",
    "select exists (select 1 from u where u.a = t.a) as x, count(*) from t group by exists (select 1 from u where u.a = t.a)",
    "select (select max(c) from u where u.a = t.a), count(*) from t group by (select max(c) from u where u.a = t.a)",
    "select (select max(c) from u where u.a = t.a) + 1, sum(b) from t group by (select max(c) from u where u.a = t.a)",
    "select (select max(c) from u where u.a = t.a) m, count(*) from t group by m",
    "select (select max(c) from u where u.a = t.a) m, count(*) from t group by 1 having m > 5 or m is null",
    "select (select max(c) from u where u.a = t.a) m, count(*) from t group by all",
    "select a, a in (select a from u), count(*) from t group by a, a in (select a from u)",
    "select (select 1 from u where u.a = t.a limit 1) is null, count(*) from t group by 1",
    "select sum((select max(c) from u where u.a = t.a)), count((select c from e)) from t",
    "select sum((select max(c) from u where u.a = t.a)) filter (where exists (select 1 from u where u.a = t.a)) from t",
    "select a, sum(a) filter (where a in (select a from u)) from t group by a order by (select max(c) from u where u.a = t.a), a",
    "select max(c) filter (where c > (select avg(c) from u)), count(distinct (select u.a)) from u",
    "select bo, sum((select count(*) from u where u.a = t.a)) from t group by bo",
    "select a + 1, count(distinct (select max(c) from u where u.a = t.a)) from t group by a + 1",
    "select sum((select sum(u.a) from u)) from t",
    "select t.a from t join u on t.a = u.a and exists (select 1 from u v where v.c = u.c and v.a = t.a)",
    "select t.a, u.c from t join u on (select max(v.c) from u v where v.a = t.a) = u.c",
    "select t.a, u.c from t left join u on t.a = (select max(v.a) from u v where v.a <= u.a)",
    "select row_number() over (order by (select max(c) from u where u.a = t.a), a, b), a from t",
    "select sum((select max(c) from u where u.a = t.a)) over (partition by exists (select 1 from u where u.a = t.a)) from t",
    "select a, rank() over (order by a) from t qualify rank() over (order by a) = (select min(c) - 4 from u)",
    "select distinct (select max(c) from u where u.a = t.a) from t",
    "select distinct a from t order by (select t.a)",
    "select distinct a + 1 as z from t order by (select z)",
    "select distinct a from t where a in (select a from u) order by a desc",
    "values ((select max(a) from t)), (3), ((select c from u where c = 10))",
    "select a from t union all select (select max(a) from u) order by 1",
    "select a from t where a in (select a from u) union select a from u where exists (select 1 from t where t.a = u.c)",
    "select * from (select a, (select max(c) from u where u.a = t.a) as m from t) q where m > 5",
    "select a, (select max(c) from u where u.a = t.a) as m from t where m > 5",
)
NAMES = (
    "select a as z, (select z) from t",
    "select (select z), a as z from t",
    "select a as z from t where exists (select 1 from u where u.a = z)",
    "select a as c from t where exists (select 1 from u where u.a = c)",  # the column of u, not the alias
    "select a + 1 as q, (select count(*) from u where u.a = q) from t",
    "select (select u.c as b from u where b = 5) from t",  # the alias inside, not the column outside
    "select (select t.b from (select 1 as a) t) from t",  # t inside has no b
    "select (select t.a from (select 1 as a) t) from t",
    "select (select sum(a) from t where t.a = x.b) from t x",
    "select x.a, (select sum(y.a + x.a) from t y where y.b >= x.b) from t x",
    "select (select count(*) from u where t.a = (select max(t.a) from t)) from t",
    "select a from t x where exists (select 1 from t where t.a = x.b)",
    "select a from t x where exists (select 1 from t y where y.a = t.b)",
    "select (select a from u, t limit 1) from t",
    "select (select t.bad from u) from t",
    "select (select t.* from u limit 1) from t",
    "select sum(a) as z, (select z) from t",
    "select sum(a) as z, (select max(u.c) from u where u.c > z) from t",
    "select a as z from t order by (select z), z",
    "select a, (select count(*) from u where u.a = t.a) as m from t where m > 0",
    "select a from t full join u using (a) where exists (select 1 from u v where v.a = a)",
    "select (select a) from t full join u using (a)",
    "select (select a from (select 1 as one) q), (select t.a), (select u.a) from t full join u using (a)",
    "select a, (select count(*) from u v where v.a = a) from t left join u using (a)",
    "select a from t natural join u where exists (select 1 from t y where y.b = a)",
    "with c as (select a from u) select (select max(a) from c) from t",
    "with c as (select a, c from u) select a from t where exists (select 1 from c where c.a = t.a and c.c in (select c from c))",
    "select (with c as (select t.a as z) select z from c) from t",
    "select (with c as (select t.a as z), d as (select z + 1 as y from c) select sum(y) from d) from t",
    "select (with c as (select u.c as z from u where u.a = t.a) select max(z) from c x join c y using (z)) from t",
    "select (with t as (select 5 as a) select a from t) from t",
    "with c as (select max(a) as m from u) select a from t where a < (select m from c) and (select (select m from c)) > 8",
)
OUTER_AGGREGATES = (
    "select (select sum(t.a)) from t",
    "select (select sum(t.a) from u) from t",  # as many rows as u has
    "select (select sum(t.a) from u limit 1) from t",
    "select (select sum(t.a) + max(u.c) from u) from t",
    "select b, (select sum(t.a) from u limit 1), sum(a) from t group by b",
    "select b, (select sum(t.a + b) from u where u.c = 9) from t group by b",
    "select b, (select sum(t.a + u.a) from u) from t group by b",  # reads u too, so it is the subquery's own
    "select a, (select sum(t.a + u.a) from u) from t",
    "select a, (select sum(t.a) filter (where u.a = 1) from u) from t",
    "select (select sum(1) filter (where t.a = 1) from u where c = 9) from t",
    "select (select count(t.a) from u where c = 9), (select count(distinct t.a)), (select count(*) from u) from t",
    "select (select (select sum(t.a))) from t",
    "select (select (select sum(u.c)) from u) from t",
    "select (select max((select sum(v.c + t.a))) from u v where v.a = 1) from t where t.a = 1",
    "select (select max(u.c + (select sum(t.a))) from u) from t",
    "select (select max(u.c + sum(t.a)) from u) from t",
    "select (select max(sum(t.a)) from u) from t",
    "select sum((select sum(t.a))) from t",
    "select sum((select t.a)) from t",
    "select b from t group by b having (select sum(t.a) > 1)",
    "select b from t group by b having exists (select 1 from u where u.a < sum(t.a))",
    "select b from t group by b having exists (select 1 from u where u.a = count(t.a) and u.c > b)",
    "select b from t group by b order by (select sum(t.a)), b",
    "select b, sum(a) from t group by b order by (select count(*) from u where u.c > sum(t.a)), b",
    "select b, (select max(c) from u where u.a < max(t.a)) from t group by b",
    "select (select c from u where u.c = sum(t.a) - 4) from t",
    "select (select count(*) from u where c > count(t.a)) from t",
    "select (select count(*) from u group by u.c having u.c = 9 and sum(t.a) > 1) from t",
    "select sum(a) as z, (select z + 1 from u where c = 9) from t",
    "select (select sum(t.a)) as z from t where z > 1",
    "select (select sum(t.a)) as z from t group by z",
    "select (select sum(t.a)) as z, b from t group by all",
    "select a from t where (select sum(t.a)) > 1",
    "select a from t where exists (select 1 from u where sum(t.a) > 1)",
    "select 1 from t join u on (select sum(t.a)) > 1",
    "select 1 from t group by (select sum(t.a))",
    "select * from t, lateral (select sum(t.a)) q",
    "select * from t, lateral (select sum(t.a) from u) q",
)
GROUPED = (
    "select b, (select max(c) from u where u.a = t.b) from t group by b",
    "select b, count(*), (select max(c) from u where u.a = t.b) + count(*) from t group by b",
    "select b from t group by b having (select count(*) from u where c > b) > 1",
    "select b from t group by b order by (select count(*) from u where u.c > t.b), b",
    "select a + 1 as k, (select count(*) from u where u.a = k) from t group by a + 1",
    "select a + 1 as k, (select count(*) from u where u.a = k) from t group by k",
    "select a, b, (select max(c) from u where u.a = t.b and u.c > t.a) from t group by a, b",
    "select b, (select t.a) from t group by b",
    "select b, (select max(c) from u where u.a > t.a) from t group by b",
    "select a + 1, (select count(*) from u where u.a = t.a) from t group by a + 1",
    "select b from t group by b having (select count(*) from u where u.a = t.a) > 0",
    "select a, b, (select count(*) from u where u.a = t.a) from t group by rollup (a, b)",
    "select a, sum(b), (select max(c) from u where u.a is not distinct from t.a) from t group by grouping sets ((a), ())",
    "select b, (select count(*) from u where exists (select 1 from e) or u.c > (select t.b)) from t group by b",
)
NESTED = (
    "select (select count(*) from t x where x.a = (select max(y.a) from t y where y.b = x.b and y.a <= t.a)) from t",
    "select count(*) from t where (select count(*) from u where u.a = t.a) = (select count(*) from u where u.a = t.b)",
    "select a from t where exists (select 1 from u where exists (select 1 from t y where y.a = t.b))",  # skips a level
    "select a, (select sum((select count(*) from t y where y.a = u.a and y.b = t.b)) from u) from t",
    "select (select max(z) from (select u.c + (select count(*) from t y where y.b > t.a) as z from u where u.a = t.a) q) from t",
    "select a from t where a in (select u.a from u where u.c not in (select y.b from t y where y.b is not null and y.a = t.a))",
    "select a, (select count(*) from u join t y on u.a = y.a and y.b = t.b) from t",
    "select a, (select count(*) from (select c from u where u.a = t.a union select b from t y where y.b = t.b) q) from t",
    "select a, (select count(*) from u where u.c > (select avg(v.c) from u v where v.a = u.a or v.a = t.a)) from t",
    "select (select (select (select t.a + 1) + 1) + 1) from t",
    "select a from t where exists (select 1 from u group by u.a having count(*) > (select count(*) from e where e.a = t.a) + 1)",
)
LATERAL = (
    "select * from t, lateral (select u.c from u where u.a = t.a) q",
    "select * from t, (select u.c from u where u.a = t.a) q",
    "select * from t join lateral (select u.c from u where u.a = t.a) q on q.c > t.b",
    "select * from t left join lateral (select u.c from u where u.a = t.a) q on true",
    "select * from t left join (select u.c from u where u.a = t.a) q on q.c > t.b + 8",
    "select * from t cross join lateral (select t.a + 1 as z) q",
    "select * from t join lateral (select u.a, u.c from u where u.a = t.a) q using (a)",
    "select * from t left join lateral (select u.a, u.c from u where u.a = t.a) q using (a)",
    "select * from t natural join lateral (select u.a, u.c from u where u.a = t.a) q",
    "select * from t right join lateral (select u.c from u where u.a = t.a) q on true",
    "select * from t full join lateral (select u.c from u where u.a = t.a) q on true",
    "select * from t semi join (select u.c from u where u.a = t.a) q on true",
    "select * from t anti join lateral (select u.c from u where u.a = t.a) q on true",
    "select * from t right join lateral (select u.c from u) q on q.c = t.b",
    "select * from t, lateral (select u.c from u where u.a = t.a) q, lateral (select q.c + t.a as d) r",
    "select * from t join u on t.a = u.a, lateral (select u.c + t.a as d) r",
    "select * from t, u left join lateral (select u.c + t.a as d) r on r.d > 10",
    "select * from t, (u left join lateral (select u.c + t.a as d) r on true)",
    "select count(*) from t, u join u v on v.a = t.a",
    "select count(*) from t, (u join u v on v.a = u.a and v.c > t.a)",
    "select * from t, lateral (select 1 union all select t.a) q",
    "select * from t, lateral (values (t.a), (t.b)) q(x)",
    "select * from t, (values (t.a), (t.b)) q(x) where x > 1",
    "select * from t, lateral (select * from (values (t.a), (t.b)) v(x) order by x limit 1) q",
    "select * from t, lateral (select max(u.c) from u where u.a = t.a) q(m) where m > 10",
    "select * from t left join lateral (select count(*) from u where u.a = t.a) q(m) on m > 0",
    "select a, q.m from t, lateral (select (select max(c) from u where u.a = t.a) as m) q",
    "select a from t where exists (select 1 from u, lateral (select u.c + t.b as z) q where z > 12)",
    "select (select sum(z) from u, lateral (select u.c + t.b as z) q) from t",
    "select (select sum(z) from u left join lateral (select v.c + t.b as z from u v where v.a = u.a) q on z > u.c) from t",
    "select * from t, lateral (with c as (select t.a as z) select z from c where z > 1) q",
    "select * from lateral (select 1) q",
    "select a, count(*) from t, lateral (select u.c from u where u.a = t.a) q group by a",
    "select * from (select a, b from t full join u using (a)) x, lateral (select x.a + 1 as z) q",
    "select a, z from t full join u using (a), lateral (select a + 1 as z) q",
    "select * from (select 1 as x) p, lateral (select x + 1 as y) q, lateral (select x + y as z) r",
)
QUERIES = (
    *SCALAR,
    *EXISTS,
    *MEMBERSHIP,
    *QUANTIFIED,
    *ROWS,
    *CLAUSES,
    *NAMES,
    *OUTER_AGGREGATES,
    *GROUPED,
    *NESTED,
    *LATERAL,
)


@pytest.mark.parametrize("sql", QUERIES)
def test_queries(sql: str, world: World) -> None:
    assert_means_the_same(world, sql)


@pytest.mark.parametrize("sql", QUERIES)
def test_outer_columns_are_those_around(sql: str, world: World) -> None:
    try:
        query = bind(sql, world.catalog)
    except SqlError:
        return
    assert_consistent(query)
    assert not query.tree.outer


def any_of(condition: str, rows: str) -> str:
    """`condition` for some of `rows`, spelled out in three-valued logic."""
    some = f"exists (select 1 from {rows} where {{}})"
    return f"case when {some.format(condition)} then true when {some.format(f'({condition}) is null')} then null else false end"


BEFORE = "t.a < u.a or t.a = u.a and t.b < u.c"
IN_ROWS = any_of("t.a = u.a and t.b = u.c", "u")
# the query, and one that means the same to DuckDB
EQUIVALENT = (
    # a row with a NULL is UNKNOWN to DuckDB even where another column decides
    ("select (a, b) in (select a, c from u) from t", f"select {IN_ROWS} from t"),
    ("select (a, b) not in (select a, c from u) from t", f"select not {IN_ROWS} from t"),
    ("select (a, b) <> any (select a, c from u) from t", f"select {any_of('t.a <> u.a or t.b <> u.c', 'u')} from t"),
    ("select (a, b) = all (select 1, 2) from t", "select a = 1 and b = 2 from t"),
    ("select a from t where (a, b) not in (select a, c from u)", f"select a from t where not {IN_ROWS}"),
    # rows and a correlated subquery
    (
        "select a from t where (a, b) = any (select u.a, t.b from u)",
        "select a from t where exists (select 1 from u where u.a = t.a and t.b = t.b)",
    ),
    (
        "select (a, b) > any (select a, c from u where u.a = t.a) from t",
        f"select {any_of('t.b > u.c', '(select * from u where u.a = t.a) u')} from t",
    ),
    (
        "select (a, b) <= all (select a, x.b from t x where x.a = t.a) from t",
        f"select not {any_of('t.b > x.b', '(select * from t x where x.a = t.a) x')} from t",
    ),
    (
        "select b from t group by b having (sum(a), b) < any (select a, c from u)",
        "select b from (select sum(a) as s, b from t group by b) q "
        "where exists (select 1 from u where s < u.a or s = u.a and b < u.c)",
    ),
    ("select a from t where (a, b) >= all (select a, c from u)", f"select a from t where not {any_of(BEFORE, 'u')}"),
    (
        "select (a, b) < any (select 5, 5), (a, b) > all (select 0, 5), (a, b) >= any (select 2, null::int) from t",
        "select a < 5 or a = 5 and b < 5, a > 0 or a = 0 and b > 5, a > 2 or a = 2 and b >= null::int from t",
    ),
    # a row of DuckDB's is one value, in which NULL equals NULL and is the greatest
    (
        "select (a, b) = (1, 2), (a, b) <> (1, 2), (a, b) = (b, a), row(a, b) = row(1, 2) from t",
        "select a = 1 and b = 2, a <> 1 or b <> 2, a = b and b = a, a = 1 and b = 2 from t",
    ),
    (
        "select (a, b) = (2, null), (a, b) <> (2, null), (null, 5) = (a, b) from t",
        "select a = 2 and b = null::int, a <> 2 or b <> null::int, null::int = a and 5 = b from t",
    ),
    ("select a from t where (a, b) = (null, 5)", "select a from t where false"),
    ("select a from t where (a, b) not in ((5, 6), (3, null), (null, null))", "select a from t where false"),
    (
        "select (a, b) < (1, 3), (a, b) <= (2, null), (a, b) > (2, null), (a, b) >= (1, 2), (a, b) < (null, 5) from t",
        "select a < 1 or a = 1 and b < 3, a < 2 or a = 2 and b <= null::int, a > 2 or a = 2 and b > null::int, "
        "a > 1 or a = 1 and b >= 2, a < null::int or a = null::int and b < 5 from t",
    ),
    (
        "select (a, s) < (1, 'b'), (a, b, n) > (1, 2, 1) from t",
        "select a < 1 or a = 1 and s < 'b', a > 1 or a = 1 and (b > 2 or b = 2 and n > 1) from t",
    ),
    (
        "select (a, b) in ((1, 2), (3, 3)), (a, b) not in ((1, 2), (2, null)), (a, b) in ((2, null)) from t",
        "select a = 1 and b = 2 or a = 3 and b = 3, not (a = 1 and b = 2 or a = 2 and b = null::int), "
        "a = 2 and b = null::int from t",
    ),
    # expressions grouped by, written anew inside
    (
        "select a + 1, (select count(*) from u where u.a = t.a + 1) from t group by a + 1",
        "select a + 1 as k, (select count(*) from u where u.a = k) from t group by a + 1",
    ),
    (
        "select b + 1, (select max(c) from u where c > b + 1) from t group by b + 1",
        "select b + 1 as k, (select max(c) from u where c > k) from t group by b + 1",
    ),
    # aliases: in a subquery of HAVING; of a subquery, in an expression
    (
        "select a as z from t group by a having exists (select 1 from u where u.a = z)",
        "select a as z from t group by a having exists (select 1 from u where u.a = t.a)",
    ),
    (
        "select a, (select count(*) from u where u.a = t.a) + 1 as m from t order by m + 1 desc, a, b",
        "select a, m from (select *, (select count(*) from u where u.a = t.a) + 1 as m from t) q order by m + 1 desc, a, b",
    ),
    (
        "select a, (select count(*) from u where u.a = t.a) as m, (select m + 1) from t",
        "select a, m, m + 1 from (select *, (select count(*) from u where u.a = t.a) as m from t) q",
    ),
    # subqueries in the condition of joins other than inner ones
    (
        "select t.a, u.a from t full join u on t.a = (select max(v.a) - 7 from u v)",
        "select t.a, u.a from t full join u on t.a = 2",
    ),
    (
        "select t.a, u.a, u.c from t full join u on exists (select 1 from u v where v.a = t.a and v.c = u.c)",
        "select t.a, u.a, u.c from t full join u on t.a = u.a and u.c is not null",
    ),
    (
        "select t.a, u.a, u.c from t right join u on exists (select 1 from u v where v.a = t.a and v.c = u.c)",
        "select t.a, u.a, u.c from t right join u on t.a = u.a and u.c is not null",
    ),
    (
        "select t.a from t semi join u on exists (select 1 from u v where v.a = t.a and v.c = u.c)",
        "select t.a from t semi join u on t.a = u.a and u.c is not null",
    ),
    (
        "select t.a from t anti join u on exists (select 1 from u v where v.a = t.a and v.c = u.c)",
        "select t.a from t anti join u on t.a = u.a and u.c is not null",
    ),
    (
        "select x.a from t x left join t y on x.a = y.b and x.b > (select min(c) - 6 from u v where v.a = x.a)",
        "select x.a from (select *, (select min(c)-6 from u where u.a = t.a) m from t) x left join t y on x.a = y.b and x.b > m",
    ),
    # outer columns in the condition of outer joins
    (
        "select a, (select count(*) from u left join t y on u.a = y.a and y.b = t.b where y.a is null) from t",
        "select a, (select count(*) from u where not exists (select 1 from t y where u.a = y.a and y.b = t.b)) from t",
    ),
    (
        "select a from t where exists (select 1 from u left join e on u.a = e.a and e.a = t.a where u.a = t.a)",
        "select a from t where exists (select 1 from u where u.a = t.a)",
    ),
    (
        "select a from t where exists (select 1 from e full join u on u.a = e.a and u.c = t.b where t.a = 1)",
        "select a from t where a = 1",
    ),
    # subqueries in the condition of a lateral join
    (
        "select * from t left join (select c from u where u.a = t.a) q on exists (select 1 from u where c = q.c and b = 2)",
        "select * from t left join lateral (select c from u where u.a = t.a and c is not null and b = 2) q on true",
    ),
    (
        "select * from t join lateral (select u.c from u where u.a = t.a) q on q.c = (select max(v.c) from u v where v.a = t.a)",
        "select * from t, lateral (select u.c from u where u.a = t.a) q where q.c = (select max(v.c) from u v where v.a = t.a)",
    ),
    # a branch that is not taken
    ("select case when a = 1 then (select c from u) else 0 end from t where a = 3", "select 0"),
    # window functions over columns of an enclosing query
    ("select a, (select sum(t.a) over ()) from t", "select a, a from t"),
    (
        "select a, (select max(z) from (select sum(t.a) over (order by u.c, u.a) as z from u) q) from t where a > 0",
        "select a, 5 * a from t where a > 0",
    ),
)


@pytest.mark.parametrize(("sql", "equivalent"), EQUIVALENT)
def test_where_duckdb_refuses_or_is_wrong(sql: str, equivalent: str, world: World) -> None:
    assert_means_the_same(world, sql, equivalent)
    assert_consistent(bind(sql, world.catalog))


REFUSED = {
    "select random() as z, (select z)": "alias of a volatile expression",
    "select row_number() over () as r, (select r) from t": "a window function of an enclosing query",
    "select grouping(a) as g, (select g) from t group by rollup (a)": "GROUPING of an enclosing query",
    "select a = any ([1, 2]) from t": "ANY of a list",
    "select a = all ([1, 2]) from t": "ALL of a list",
    "select a = some ([1, 2]) from t": "ANY of a list",
    "select a from t where a + all ((select 1)) = 2": "ALL outside a comparison",
    "select * from t, lateral unnest([1])": "LATERAL without a subquery",
    "select * from t full join (select t.a) q on true": "FULL JOIN with a right side that refers to the left",
    "select (random(), a) < (1, 2) from t": "a row comparison over a volatile function",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_not_supported(sql: str, world: World) -> None:
    with pytest.raises(Unsupported, match=REFUSED[sql]):
        bind(sql, world.catalog)


CARETS = {
    "select a <> all ((select a, c from u)) from t": ("the subquery returns 2 columns, not 1", "a, c from u"),
    "select a <> all ((select c from u) union all (select bad from u)) from t": ('unknown column "bad"', "bad"),
    "select a <> some ((select s from t)) from t": ("cannot compare INTEGER and VARCHAR", "s from t"),
    "select a + all ((select 1)) from t": ("ALL outside a comparison", "all ((select 1))"),
    "select a = all ((select 1), (select 2)) from t": ("ALL of a list", "all ((select 1), (select 2))"),
    "select a = some () from t": ("ANY of a list", "some ()"),
    "select a = all ((select 1) from t": ("syntax error", "from"),
}


@pytest.mark.parametrize("sql", CARETS)
def test_carets_under_quantified_subqueries(sql: str, world: World) -> None:
    message, underlined = CARETS[sql]
    with pytest.raises(SqlError, match=message) as caught:
        bind(sql, world.catalog)
    assert sql[caught.value.start : caught.value.end] == underlined


def test_more_than_one_row(world: World) -> None:
    with pytest.raises(ExecutionError, match="more than one row"):
        run_query(bind("select (select c from u where u.a = t.a) from t", world.catalog), world.tables)


def test_volatile(world: World) -> None:
    """A subquery is volatile when something in its tree is, and is then no other one's double."""
    query = bind("select (select random()), (select random()), (select 1), (select 1) from t", world.catalog)
    scalars = query.tree.op.scalars()
    assert [s.volatile for s in scalars] == [True, True, False]
    assert len({o.id for o in query.outputs}) == 3
