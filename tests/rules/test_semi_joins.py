"""Semi-joins below groups: where they are added and where not; the rows are DuckDB's, and the cheaper plan is found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from executor import Session
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.trees import Tree, postorder
from optimizer.catalog.table import Catalog
from optimizer.pipeline import OptimizedQuery
from tests.conftest import duckdb_tables
from tests.reference.compare import assert_same_bag, rows_of

TABLES = {
    "f": "select (i * 7) % 40 k, nullif(i % 13, 5) v, i % 3 g, i id from range(400) t(i) union all select null, 1, 1, 400",
    "d": "select nullif(i, 7) k, i % 5 a, nullif(i % 4, 2) b from range(45) t(i)",
    "e": "select nullif(i % 30, 9) k, i % 6 a from range(60) t(i)",
}

ON = "x.k = d.k and d.a = 3"
X = "(select k, sum(v) s from f group by k) x"
REDUCED = {  # query: semi-joins that are added
    "groups": (f"select * from d, {X} where {ON}", 1),
    "groups by more": (f"select * from d, (select k, g, count(*) from f group by k, g) x where {ON}", 1),
    "NULL as NULL": (f"select * from d join {X} on x.k is not distinct from d.k where d.a = 2", 1),
    "two keys": (f"select * from d, (select k, g, count(*) from f group by k, g) x where {ON} and x.g = d.b", 1),
    "distinct": (f"select * from d, (select distinct k from f) x where {ON}", 1),
    "windows": (f"select * from d, (select k, id, sum(v) over (partition by k order by id) from f) x where {ON}", 1),
    "by way of a third": (f"select * from d, e, {X} where x.k = e.k and e.k = d.k and d.a = 3", 1),
    "two that filter": (f"select * from d, e, {X} where x.k = e.k and e.k = d.k and d.a = 3 and e.a = 2", 2),
    "two groups": (f"select * from d, {X}, (select k, min(a) from e group by k) y where {ON} and y.k = d.k", 2),
    "left": (f"select * from d left join {X} on x.k = d.k where d.a = 3", 1),
    "right": (f"select * from {X} right join d on x.k = d.k where d.a = 3", 1),
    "semi": ("select * from d where a = 3 and exists (select 1 from f where k = d.k group by k having count(*) > 9)", 1),
    "anti": ("select * from d where a = 3 and not exists (select 1 from f where k = d.k group by k having count(*) > 9)", 1),
    "scalar subquery": ("select d.*, (select max(v) from f where f.k = d.k) from d where d.a = 3", 1),
    "union": (f"select * from d, (select k, max(1) from (select k from f union all select k from e) group by k) x where {ON}", 1),
    "in a union": (f"select * from d, (select k, count(*) n from f group by k union all select k, 0 from e) x where {ON}", 1),
    "computed": ("select * from d, (select k j, sum(v) + 1 from f group by k having sum(v) > 3) where j = d.k and a = 3", 1),
    "of groups": (f"select * from d, (select k, max(s) from (select distinct k, g s from f) group by k) x where {ON}", 1),
    "below a left join": (f"select * from d join (e left join {X} on x.k = e.k) on e.k = d.k where d.a = 3", 1),
}  # fmt: skip
KEPT = {
    "no filter": f"select * from d, {X} where x.k = d.k",
    "only IS NOT NULL": f"select * from d, {X} where x.k = d.k and d.a is not null",
    "not by the key": f"select * from d, {X} where x.s = d.k and d.a = 3",
    "no equality": f"select * from d, {X} where x.k < d.k and d.a = 3",
    "another type": f"select * from d, {X} where x.k = d.a + 0.5 and d.a = 3",
    "full": f"select * from (select * from d where a = 3) y full join {X} on x.k = y.k",
    "kept side": f"select * from {X} left join (select * from d where a = 3) y on x.k = y.k",
    "anti, kept side": f"select * from {X} anti join (select * from d where a = 3) y on x.k = y.k",
    "limit between": f"select * from d, (select k, count(*) from f group by k order by k limit 9) x where {ON}",
    "intersect": f"select * from d, (select k from (select distinct k, v from f) intersect select k from e) x where {ON}",
    "one group": f"select * from d, (select max(k) k from f) x where {ON}",
    "window over all": f"select * from d, (select k, id, count(*) over (order by id) n from f) x where {ON}",
}  # fmt: skip


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, duckdb.DuckDBPyConnection]]:
    folder = tmp_path_factory.mktemp("semi_joins")
    with duckdb_tables(folder, TABLES) as connection:
        yield folder, connection


def added(query: OptimizedQuery) -> int:
    """Semi-joins that the stage made."""
    by_stage = {stage.name: stage.tree for stage in query.stages}
    if "semi_joins" not in by_stage:
        return 0
    return _semi_joins(by_stage["semi_joins"]) - _semi_joins(by_stage["prepass"])


def _semi_joins(root: Tree) -> int:
    return sum(isinstance(n, Tree) and isinstance(n.op, Join) and n.op.kind is JoinKind.SEMI for n in postorder(root))


@pytest.mark.parametrize("name", [*REDUCED, *KEPT])
def test_rows_stay(name: str, database: tuple[Path, duckdb.DuckDBPyConnection]) -> None:
    folder, connection = database
    sql, wanted = REDUCED[name] if name in REDUCED else (KEPT[name], 0)
    expected = rows_of(connection.execute(sql).to_arrow_table())
    for setting in ("always", "cost"):
        session = Session(folder, {"semi_joins": setting})
        if setting == "always":
            assert added(session.optimize(sql)) == wanted
        assert_same_bag(rows_of(session.sql(sql).table), expected)


def test_the_cheaper_plan_is_chosen(tpch: Catalog) -> None:
    """Numbering the rows of a few customers costs less than those of all; to count them costs no more than a join that could
    leave some out."""
    one = "select * from customer, (select o_custkey, {} from orders {}) o where o_custkey = c_custkey and c_acctbal < -900"
    numbered = one.format("row_number() over (partition by o_custkey order by o_totalprice, o_orderkey)", "")
    counted = one.format("count(*)", "group by o_custkey")
    for sql, pays in ((numbered, True), (counted, False)):
        off, always, chosen = (Session(tpch, {"semi_joins": each}).optimize(sql).cost for each in ("off", "always", "cost"))
        assert (always < off) is pays
        assert min(off, always) <= chosen <= min(off, always) + 101  # a projection keeps the two apart
