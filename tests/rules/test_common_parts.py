"""Parts that stand in a query several times: which are kept and which not; the rows are DuckDB's, and no plan is dearer."""

from pathlib import Path

import duckdb
import pytest

from optimizer.algebra.ctes import references
from optimizer.algebra.trees import Tree, postorder
from optimizer.catalog.table import Catalog
from planscope import OptimizedQuery, Session
from tests.cases import Case, params, read
from tests.reference.compare import assert_same_bag, rows_of

SUMS = "select f.k, sum(v) s from f, d where f.k = d.k and a < 3 group by f.k"


def reads(query: OptimizedQuery) -> list[int]:
    """How often each spool of the stage is read."""
    tree = query.stages[-1].tree if query.stages[-1].name == "common_parts" else query.bound.tree
    spools = [op.spool for node in postorder(tree) if isinstance(node, Tree) for op in references(node) if not node.inputs]
    return sorted(spools.count(spool) for spool in set(spools))


@pytest.mark.parametrize("case", params(read(Path(__file__).parent / "common_parts.cases", "kept")))
def test_rows_stay(case: Case, database: tuple[Path, duckdb.DuckDBPyConnection]) -> None:
    folder, connection = database
    expected = rows_of(connection.execute(case.sql).to_arrow_table())
    done = [Session(folder, {"common_parts": each}).sql(case.sql) for each in ("off", "always", "cost")]
    for each in done:
        assert_same_bag(rows_of(each.table), expected)
    off, always, chosen = (each.explanation.query for each in done)
    assert str(reads(always)) == f"[{case.marks.get('kept', '')}]"
    assert chosen.search.proven and chosen.cost <= min(off.cost, always.cost) * (1 + 1e-9)


def test_what_reads_the_query_around_it_is_not_kept(database: tuple[Path, duckdb.DuckDBPyConnection]) -> None:
    folder, connection = database
    inner = "select g from f where v < d.k"
    sql = f"select k, (select sum(g) from ({inner} union all {inner} and id > 9)), a in (select k from ({SUMS})) from d"
    done = Session(folder, {"common_parts": "always", "decorrelate": "none"}).sql(sql)
    assert_same_bag(rows_of(done.table), rows_of(connection.execute(sql).to_arrow_table()))
    assert reads(done.explanation.query) == []


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
        assert reads(kept.optimize(sql)) == [2]
        assert_same_bag(rows_of(kept.sql(sql).table), rows_of(plain.sql(sql).table))


def test_every_alternative_has_another_with_spools(tpch: Catalog) -> None:
    groups = "(select o_custkey, row_number() over (partition by o_custkey order by o_orderkey) from orders) o"
    sql = f"select * from customer, {groups} where o_custkey = c_custkey and c_acctbal < -900"
    alone, both = (Session(tpch, {"semi_joins": "cost", "common_parts": each}).optimize(sql) for each in ("off", "cost"))
    assert both.stages[-1].tree.op.name == "choice" and len(both.stages[-1].tree.inputs) == 3
    assert both.cost <= alone.cost * (1 + 1e-9)
