"""planscope explain --order-of duckdb: DuckDB's join order, priced in our model."""

from __future__ import annotations

import json

import duckdb
import pytest

from executor.session import Session
from experiments.order_of import SystemOrder, duckdb_order
from optimizer.algebra.logical import Scan
from optimizer.algebra.trees import postorder
from optimizer.catalog.table import Catalog
from optimizer.errors import Unsupported
from optimizer.joins.join_order import read_join_order, subtrees

CHAIN = (
    "select count(*) as n from region r, nation n1, supplier s, nation n2 "
    "where r.r_regionkey = n1.n_regionkey and n1.n_nationkey = s.s_nationkey and n2.n_name = s.s_name"
)


@pytest.mark.parametrize("query", [CHAIN, "tpch/q03", "tpch/q07", "tpch/q10"])
def test_the_order_is_one_of_the_query(tpch: Catalog, query: str) -> None:
    """Were aliases of one table mistaken for each other, joins of the order would have no condition, and be refused."""
    session = Session(tpch)
    own = session.optimize(query)
    found = duckdb_order(tpch, own)
    assert found.system == f"DuckDB {duckdb.__version__}"
    forced = Session(tpch, {"join_order": found.order}).optimize(query)
    assert forced.cost >= own.cost * (1 - 1e-9)
    aliases = {node.op.alias.lower() for node in postorder(own.stages[-1].tree) if isinstance(node.op, Scan)}
    assert max((left | right for left, right in subtrees(read_join_order(found.order))), key=len) == aliases


def test_the_command(planscope, shop) -> None:
    sql = "select count(*) as n from people p, sales s where p.id = s.person"
    done = planscope("explain", sql, "-d", str(shop), "--order-of", "duckdb")
    assert done.code == 0 and "forced: joins in the order" in done.out
    assert f"DuckDB {duckdb.__version__} joins in this order: in our model" in " ".join(done.out.split())
    value = json.loads(planscope("explain", sql, "-d", str(shop), "--order-of", "duckdb", "--format", "json").out)
    assert set(value["settings"]["join_order"]) >= {"p", "s"}


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("select 1 as one from people", "joins nothing"),
        ("select id from people p where exists (select 1 as one from sales where person = p.id)", "subqueries in expressions"),
        ("select 1 as one from people, (select id as other from people) q where id = other", "are called people"),
    ],
)
def test_what_is_not_read_off_a_plan_is_said(planscope, shop, sql: str, message: str) -> None:
    done = planscope("explain", sql, "-d", str(shop), "--order-of", "duckdb")
    assert done.code == 3 and message in done.err


def test_without_rows_there_is_no_order(planscope) -> None:
    done = planscope("explain", "chain/4", "--order-of", "duckdb")
    assert done.code == 3 and "statistics only, and DuckDB plans with rows" in done.err


def test_an_order_by_implied_equalities_is_not_in_our_space(planscope, shop, monkeypatch) -> None:
    monkeypatch.setattr("experiments.order_of.duckdb_order", lambda *_: SystemOrder("DuckDB 9", "((a c) b)"))
    sql = "select count(*) as n from people a, sales b, people c where a.id = b.person and b.amount = c.balance"
    done = planscope("explain", sql, "-d", str(shop), "--order-of", "duckdb")
    assert done.code == 3 and "DuckDB 9 joins ((a c) b), which is not in our space: no condition links a and c" in done.err


def test_without_duckdb_the_message_says_so(tpch: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.order_of.duckdb_module", lambda: None)
    with pytest.raises(Unsupported, match="DuckDB is not installed"):
        duckdb_order(tpch, Session(tpch).optimize(CHAIN))
