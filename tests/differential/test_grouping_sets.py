"""GROUPING SETS, ROLLUP and CUBE: DuckDB = naive evaluation = the optimized plan, on NULL keys, duplicates and empty tables."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest

from executor.arrow.context import Tuning
from executor.arrow.run import execute_table
from executor.session import Session
from optimizer.errors import SqlError
from optimizer.sql.bind import bind
from tests.differential.datasets import dataset
from tests.reference.compare import Row, assert_same_bag, assert_same_kinds, assert_same_list, rows_of
from tests.reference.naive import run_query

DATASETS = (0, 1, 4, 5, 7)  # 7 has no rows
SMALL = Tuning(batch=2, merge=3, part=2, inline=1, workers=1)  # partial groups are merged many times

QUERIES = (
    # the empty set gives one row over no input, once for each time it is listed
    "select count(*), sum(k), grouping(k) from r group by grouping sets ((), (), (k), (k))",
    "select 1 from t group by grouping sets ((), (), (k))",
    "select 1 from t group by ()",
    "select k, count(*) from t group by (), k",
    # elements multiply, and nest
    "select k, s, f, grouping(f, s, k) from t group by rollup (k, s), cube (f)",
    "select k, s, f from t group by k, grouping sets ((s), (f)), grouping sets ((s), ())",
    "select k, s from t group by grouping sets (rollup (k, s), grouping sets ((s), k), ())",
    "select k, s, f, count(*) from t group by rollup ((k, s), f)",
    "select k, s, count(*) from t group by (k, s)",
    # a set that comes out twice counts twice
    "select k, count(*) from t group by k, rollup (k)",
    "select k, count(*) from t group by cube (k, k)",
    "select k, count(*) from t group by grouping sets (k, (k, k))",
    # positions, aliases and expressions
    "select a, b, count(*), grouping(b) from (select k a, k b from t) x group by rollup (a, b)",
    "with x as (select k a, k b, s from t) select a, b, s from x group by cube (a, b, s)",
    "select p, q from (select a p, a q from (select k a from t) x) y, lateral (select p r) z group by cube (p, q, r)",
    "select k > 1, k is null, count(*) from t group by rollup (k > 1, k is null)",
    "select k = f, s, count(*) from t group by grouping sets (k = f, cube (s in ('a', 'b'), s))",
    "select k + 1 as n, s, count(*) from t group by rollup (n, 2)",
    "select k + 1, k, count(*), grouping(k + 1), grouping(k) from t group by rollup (k + 1, k)",
    "select coalesce(k, -1), k + 1, count(*) from t group by rollup (k)",
    "select coalesce(k, -1), count(*) from t group by rollup (coalesce(k, -1))",
    "select 'all' as y, 'all', s, null as n, count(*), grouping(y) from t group by cube (y, s), rollup (n)",
    "select true as y, 1.5 as z, max(s || '1') from t group by grouping sets ((y, 2), ()) having true",
    # aggregates read the column as it is in the input
    "select k, sum(k), count(k), max(k) filter (where k > 1), count(distinct k) from t group by cube (k, s)",
    "select s, f, count(distinct k), sum(distinct x), avg(k), max(x), sum(x) filter (where f) from t group by cube (s, f)",
    # GROUPING in every clause it may stand in
    "select k, s, grouping_id(k, s, k) g from t group by cube (k, s) having grouping(k) = 0 order by g, grouping(s) desc, k, s",
    "select k, grouping(k) as g, count(*) from t group by rollup (k) having g = 1",
    "select k, grouping(k) from t group by k",
    "select k, count(*) from t group by rollup (k) having k is null",
    "select distinct k from t group by cube (k, s)",
    # read from outside: nothing, some columns, a filter on GROUPING
    "select count(*) from (select k, s, count(*) n, grouping(k) g from t group by cube (k, s)) v",
    "select s, n from (select k, s, count(*) n, sum(x) z, grouping(k) g from t group by cube (k, s)) v where g = 1 and n > 1",
    "select v.k, r.s from (select k, count(*) n from t group by rollup (k)) v left join r on v.k = r.k and v.n > 1",
    "select r.k, t.s, sum(r.b), sum(t.x) from r left join t on r.k = t.k group by cube (r.k, t.s)",
    "select k from t group by rollup (k) union all select k from r group by cube (k)",
)

REFUSED = (
    "select s from t group by grouping sets ((k), ())",
    "select grouping(k) from t",
    "select grouping(s) from t group by rollup (k)",
    "select grouping(1) from t group by rollup (k)",
    "select k, grouping(k) from t group by all",
    "select k from t where grouping(k) = 0 group by rollup (k)",
    "select grouping(k) as g from t where g = 0 group by rollup (k)",
    "select k, sum(grouping(k)) from t group by rollup (k)",
    "select k, sum(x) filter (where grouping(k) = 0) from t group by rollup (k)",
    "select k from t group by rollup (grouping(k), k)",
    "select grouping(k), k from t group by 1, k",
    "select k from t group by rollup (k), count(*)",
    "select k from t group by k with rollup",
    "select count(*) from t group by rollup ()",
    "select count(*) from t group by grouping sets ()",
    "select k from t group by cube (k, s, x, f, k + 1, k + 2, k + 3, k + 4, k + 5, k + 6, k + 7, k + 8, k + 9, -k, -x, -(-k))",
)


class Engines(NamedTuple):
    session: Session
    duckdb: duckdb.DuckDBPyConnection
    tables: dict[str, object]

    def check(self, sql: str) -> list[Row]:
        """The rows of `sql`, which all agree on."""
        wanted = self.duckdb.execute(sql).to_arrow_table()
        same = assert_same_list if " order by " in sql else assert_same_bag
        same(rows_of(wanted), run_query(bind(sql, self.session.catalog), self.tables))
        result = self.session.sql(sql).table
        assert_same_kinds(wanted, result)
        same(rows_of(wanted), rows_of(result))
        query = self.session.optimize(sql)
        small = execute_table(query.plan, query.columns, query.catalog.tables, tuning=SMALL)
        same(rows_of(wanted), rows_of(small.select([f"c{output.id}" for output in query.outputs])))
        return rows_of(wanted)


@pytest.fixture(scope="module", params=DATASETS)
def engines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engines:
    data = dataset(tmp_path_factory.mktemp("data"), request.param)
    return Engines(Session(data.folder), data.connect(), data.tables)


def test_forms(engines: Engines) -> None:
    for sql in QUERIES:
        engines.check(sql)


@pytest.mark.few(2)
def test_random_grouping_sets(engines: Engines) -> None:
    dice = random.Random(engines.session.catalog.name)
    rows = sum(len(engines.check(random_query(dice))) for _ in range(10))
    assert rows > 5, "the queries have rows"


def test_refused_like_duckdb(tmp_path: Path) -> None:
    data = dataset(tmp_path, 0)
    engines = Engines(Session(data.folder), data.connect(), data.tables)
    for sql in REFUSED:
        with pytest.raises(duckdb.Error):
            engines.duckdb.execute(sql)
        with pytest.raises(SqlError):
            engines.session.sql(sql)


def test_a_single_set_is_an_aggregate(tmp_path: Path) -> None:
    session = Session(dataset(tmp_path, 0).folder)
    for group in ("grouping sets ((k, s))", "k, grouping sets (s)", "(k, s), ()"):
        plan = session.explain(f"select k, s, grouping(s, k), count(*) from t group by {group}").query.plan
        assert not any(node.op.name == "hash_grouping_sets" for node in plan.walk())


KEYS = ("k", "s", "f", "x", "k + 1", "rid", "(s is null)")
CALLS = (
    "count(*)", "count(k)", "sum(k)", "avg(x)", "min(s)", "max(k)", "count(distinct k)", "sum(distinct rid)",
    "sum(k) filter (where f)", "max(x)",
)  # fmt: skip


def random_query(dice: random.Random) -> str:
    keys = dice.sample(KEYS, dice.randint(1, 4))

    def some(least: int) -> list[str]:
        return [dice.choice(keys) for _ in range(dice.randint(least, 3))]

    def element(depth: int) -> str:
        match dice.randrange(5 if depth else 3):
            case 0:
                return f"({', '.join(some(0))})"
            case 1:
                return f"rollup ({', '.join(some(1))})"
            case 2:
                return f"cube ({', '.join(some(1)[:2])})"
        return f"grouping sets ({', '.join(element(depth - 1) for _ in range(dice.randint(1, 3)))})"

    elements = [element(2) for _ in range(dice.randint(1, 2))]
    shown = [key for key in keys if any(key in each for each in elements)]
    # "k" is written in "k + 1" too: name all keys in one more element, so that each is a key
    elements.append(f"grouping sets (({', '.join(shown)}), ())" if shown else "()")
    items = [f"{key} as c{i}" for i, key in enumerate(shown)] + dice.sample(CALLS, dice.randint(0 if shown else 1, 3))
    if shown and dice.random() < 0.7:
        items.append(f"grouping({', '.join(dice.choice(shown) for _ in range(dice.randint(1, 3)))}) as g")
    sql = f"select {', '.join(items)} from {dice.choice(['t', 't', '(select * from t where f) t'])}"
    sql += f" group by {', '.join(elements)}"
    if shown and dice.random() < 0.4:
        sql += f" having {dice.choice(['count(*) > 1', f'grouping({shown[0]}) = 1', f'{shown[0]} is not null'])}"
    return sql
