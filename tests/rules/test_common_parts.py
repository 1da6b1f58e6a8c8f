"""Parts that stand in a query several times: which are kept and which not; the rows are DuckDB's, and no plan is dearer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from executor import Session
from optimizer.algebra.ctes import references
from optimizer.algebra.trees import Tree, postorder
from optimizer.catalog.table import Catalog
from optimizer.pipeline import OptimizedQuery
from tests.conftest import duckdb_tables
from tests.reference.compare import assert_same_bag, rows_of

TABLES = {
    "f": "select (i * 7) % 40 k, nullif(i % 13, 5) v, i % 3 g, i id from range(400) t(i) union all select null, 1, 1, 400",
    "d": "select nullif(i, 7) k, i % 5 a, nullif(i % 4, 2) b from range(45) t(i)",
}
SUMS = "select f.k, sum(v) s from f, d where f.k = d.k and a < 3 group by f.k"
COUNTS = "select f.k, count(*) n from f, d where f.k = d.k and a < 3 group by f.k"
RANKS = "select k, rank() over (order by a, k) r from d"
SOME = "select k, a from d where b = 1"
KEPT = {  # query, and how often each of its spools is read
    "groups": (f"select * from ({SUMS}) x, ({SUMS}) y where x.s < y.s", [2]),
    "the join below other groups": (f"select * from ({SUMS}) x, ({COUNTS}) y where x.k = y.k", [2]),
    "a filtered table, other columns of it": ("select * from (select k from d where b = 1), (select a from d where b = 1)", [2]),
    "three times": (f"select * from ({SUMS}) x, ({SUMS}) y, ({SUMS}) z where x.s < y.s and y.s = z.s", [3]),
    "a part of a part": (f"select * from ({SUMS}) x, ({SUMS}) y, ({COUNTS}) z where x.s < y.s and z.k = y.k", [2, 2]),
    "two parts": (f"select * from ({SUMS}) x, ({SUMS}) y, ({SOME}) u, ({SOME}) w where x.s < y.s and u.k = w.a", [2, 2]),
    "by all keys": (f"select count(*) from ({COUNTS} union all {COUNTS})", [2]),
    "one of them filtered above": (f"select * from ({SUMS}) x, ({SUMS}) y where x.k = y.k and x.s > 20", [2]),
    "outer joins": (f"select * from ({SOME}) x left join ({SUMS}) y on x.k = y.k full join ({SOME}) z on z.a = y.k", [2]),
    "windows": (f"select * from ({RANKS}) x, ({RANKS}) y where x.r = y.r", [2]),
    "in subqueries": (f"select * from f where k in (select k from ({SUMS}) where s > 9) or v in (select s from ({SUMS}))", [2]),
    "other order": ("select * from (select k from d where b = 1 and a < 3), (select k from d where a < 3 and 1 = b)", [2]),
}  # fmt: skip
APART = {
    "whole tables": "select * from f x, f y where x.k = y.v",
    "other constants": "select * from (select k from d where b = 1), (select k from d where b = 3)",
    "other tables": f"select * from ({SUMS}) x, (select k, a from d where b = 1) y where x.k = y.k",
    "volatile": "select count(*) >= 0 from (select k from d where random() < 2), (select k from d where random() < 2)",
    "once": f"select * from ({SUMS}) x",
    "not null alone": "select * from (select b from d where b is not null), (select b from d where b is not null)",
}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, duckdb.DuckDBPyConnection]]:
    folder = tmp_path_factory.mktemp("common_parts")
    with duckdb_tables(folder, TABLES) as connection:
        yield folder, connection


def read(query: OptimizedQuery) -> list[int]:
    """How often each spool of the stage is read."""
    tree = query.stages[-1].tree if query.stages[-1].name == "common_parts" else query.bound.tree
    spools = [op.spool for node in postorder(tree) if isinstance(node, Tree) for op in references(node) if not node.inputs]
    return sorted(spools.count(spool) for spool in set(spools))


@pytest.mark.parametrize("name", [*KEPT, *APART])
def test_rows_stay(name: str, database: tuple[Path, duckdb.DuckDBPyConnection]) -> None:
    folder, connection = database
    sql, wanted = KEPT[name] if name in KEPT else (APART[name], [])
    expected = rows_of(connection.execute(sql).to_arrow_table())
    done = [Session(folder, {"common_parts": each}).sql(sql) for each in ("off", "always", "cost")]
    for each in done:
        assert_same_bag(rows_of(each.table), expected)
    off, always, chosen = (each.explanation.query for each in done)
    assert read(always) == wanted
    assert chosen.search.proven and chosen.cost <= min(off.cost, always.cost) * (1 + 1e-9)


def test_what_reads_the_query_around_it_is_not_kept(database: tuple[Path, duckdb.DuckDBPyConnection]) -> None:
    folder, connection = database
    inner = "select g from f where v < d.k"
    sql = f"select k, (select sum(g) from ({inner} union all {inner} and id > 9)), a in (select k from ({SUMS})) from d"
    done = Session(folder, {"common_parts": "always", "decorrelate": "none"}).sql(sql)
    assert_same_bag(rows_of(done.table), rows_of(connection.execute(sql).to_arrow_table()))
    assert read(done.explanation.query) == []


def test_what_another_stage_made_twice_is_kept(tpch: Catalog) -> None:
    """The left input that decorrelation copies for a domain, and the table that a semi-join reads again."""
    inner = "select sum(o_totalprice) from orders where o_custkey = c_custkey or o_orderkey = c_nationkey"
    domain = (
        f"select c_name, ({inner}) from customer, nation where c_nationkey = n_nationkey and n_name = 'PERU' and c_acctbal < 0"
    )
    groups = "(select o_custkey, row_number() over (partition by o_custkey order by o_orderkey) from orders) o"
    reduced = f"select * from customer, {groups} where o_custkey = c_custkey and c_acctbal < -900"
    for sql, more in ((domain, {"decorrelate": "general"}), (reduced, {"semi_joins": "always"})):
        plain, kept = (Session(tpch, {"common_parts": each, **more}) for each in ("off", "always"))
        assert read(kept.optimize(sql)) == [2]
        assert_same_bag(rows_of(kept.sql(sql).table), rows_of(plain.sql(sql).table))


def test_every_alternative_has_another_with_spools(tpch: Catalog) -> None:
    groups = "(select o_custkey, row_number() over (partition by o_custkey order by o_orderkey) from orders) o"
    sql = f"select * from customer, {groups} where o_custkey = c_custkey and c_acctbal < -900"
    alone, both = (Session(tpch, {"semi_joins": "cost", "common_parts": each}).optimize(sql) for each in ("off", "cost"))
    assert both.stages[-1].tree.op.name == "choice" and len(both.stages[-1].tree.inputs) == 3
    assert both.cost <= alone.cost * (1 + 1e-9)
