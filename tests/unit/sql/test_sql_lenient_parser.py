"""Texts in which something is missing, which the parser lets pass, are refused as by DuckDB; commas it allows are allowed."""

from __future__ import annotations

import duckdb
import pytest

from optimizer.errors import SqlError
from optimizer.sql.bind import bind
from tests.unit.sql.world import World, assert_means_the_same

REFUSED = (
    "select sum(a) over (partition by b, order by a) from t",
    "select sum(a) over (order by a, rows 1 preceding) from t",
    "select count(*,) from t",
    "select greatest(a, , b) from t",
    "select coalesce(, a) from t",
    "select , a from t",
    "select distinct, a from t",
    "select a + , b from t",
    "select +, a from t",
    "select (1, 2,) = (1, 2)",
    "select a from t order by a,",
    "select a from t order by , a",
    "select a from t, join u on t.a = u.a",
    "select a from t join u using (t.a)",
    "select a from .t",
    "select a as from t",
    "select a as 7 from t",
    "select a as + from t",
    "select as a from t",
    "select t.a from t cross join u on",
    "select sum(a) over -1 from t",
    "select sum(a) over w from t window w as",
    "select avg(a) over (order by a range 1) from t",
    "select avg(a) over (order by a rows unbounded) from t",
    "select case when a = 1 then 2 end case from t",
    "select case when a = 1 2 end from t",
    "select cast(a as int and true from t",
    "select * exclude (a::int) from t",
    "select x from (select a from t) q(x int)",
    "select 1 from t group",
    "with null as (select 1) select 2",
    "with x as (insert into t values (1)) select 1",
    "with x as (delete from t) select * from x",
    "select 1 < a < 3 from t",
    "select a = 1 = bo from t",
    "select bo = a < 1 from t",
    "select a from t join u on t.a = u.a <> bo",
    "select +s from t",
    "select +d from t",
    "select +bo from t",
    "select +'1' from t",
)
ALLOWED = (
    "select a, from t",
    "select a, b, from t where a = 1",
    "select (a < 1) = bo, bo = (a < 1), a < 1 is distinct from bo from t",
    "select t.a from t, u, where t.a = u.a",
    "select a, count(*) from t group by a,",
    "select a from t where a in (1, 2,)",
    "select * exclude (a, b,) from t",
    "values (1), (2),",
    "select a as case, b as from from t",
    "select +a, + a + +b, -+a, +1, +n, +f from t",
    "select a from t order by +a",
    "select +a from t group by +a having +a > 0",
)


@pytest.mark.parametrize("sql", REFUSED)
def test_refused(world: World, sql: str) -> None:
    with pytest.raises(duckdb.Error):
        world.duck.execute(sql).fetchall()
    with pytest.raises(SqlError) as caught:
        bind(sql, world.catalog)
    assert "^" in str(caught.value)


@pytest.mark.parametrize("sql", ALLOWED)
def test_allowed(world: World, sql: str) -> None:
    assert_means_the_same(world, sql)


def test_group_by_distinct(world: World) -> None:
    """DuckDB does not read it: the sets that remain are written out."""
    sets = "(a, b), (a), (b), ()"
    for distinct in ("rollup (a, b), rollup (b, a)", "cube (a, b), cube (a, b)", f"grouping sets ({sets}, (b, a), (a))"):
        sql = f"select a, b, count(*), grouping(a, b) from t group by distinct {distinct}"
        assert_means_the_same(world, sql, f"select a, b, count(*), grouping(a, b) from t group by grouping sets ({sets})")
    plain = "select a, count(*) from t group by"
    assert_means_the_same(world, f"{plain} distinct a", f"{plain} a")
    assert_means_the_same(world, f"{plain} all rollup (a), rollup (a)", f"{plain} rollup (a), rollup (a)")
