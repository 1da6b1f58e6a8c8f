"""planscope explain --order-of duckdb|postgres: another system's join order, priced in our model."""

import json
import os

import duckdb
import pytest

from executor.session import Session
from experiments.order_links import linked_by
from experiments.order_of import SystemOrder, duckdb_order
from experiments.same_rows import difference
from experiments.timing import run
from optimizer.algebra import Scan, postorder
from optimizer.catalog.table import Catalog
from optimizer.errors import Unsupported
from optimizer.joins.join_order import read_join_order, subtrees
from optimizer.joins.placed_order import has_order
from optimizer.prepass.program import PROGRAM

CHAIN = (
    "select count(*) as n from region r, nation n1, supplier s, nation n2 "
    "where r.r_regionkey = n1.n_regionkey and n1.n_nationkey = s.s_nationkey and n2.n_name = s.s_name"
)


@pytest.mark.parametrize("query", [CHAIN, "tpch/q03", "tpch/q05", "tpch/q07", "tpch/q10"])
def test_the_order_is_one_of_the_query(tpch: Catalog, query: str) -> None:
    """Were aliases of one table mistaken for each other, joins of the order would have no condition, and be refused."""
    session = Session(tpch)
    own = session.optimize(query)
    found = duckdb_order(tpch, own)
    assert found.system == f"DuckDB {duckdb.__version__}"
    forced = Session(tpch, {"join_order": found.order}, program=(*PROGRAM, linked_by(found.order))).optimize(query)
    assert forced.cost >= own.cost * (1 - 1e-9) or query == "tpch/q05"  # joined by an equality that others imply
    aliases = {node.op.alias.lower() for node in postorder(own.stages[-1].tree) if isinstance(node.op, Scan)}
    assert max((left | right for left, right in subtrees(read_join_order(found.order))), key=len) == aliases


def test_the_command(planscope, shop) -> None:
    sql = "select count(*) as n from people p, sales s where p.id = s.person"
    done = planscope("explain", sql, "-d", str(shop), "--order-of", "duckdb")
    assert done.code == 0 and "forced: joins in the order" in done.out
    assert f"DuckDB {duckdb.__version__} joins in this order: in our model" in " ".join(done.out.split())
    assert "fixpoint" not in done.out
    twice = planscope("explain", sql, "-d", str(shop), "--order-of", "duckdb", "--join-order", "(s p)")
    assert twice.code == 2 and "and one is given: leave one out" in twice.err
    value = json.loads(planscope("explain", sql, "-d", str(shop), "--order-of", "duckdb", "--format", "json").out)
    assert set(value["settings"]["join_order"]) >= {"p", "s"}


def test_an_order_that_makes_a_cross_product_is_not_in_our_space(planscope, shop, monkeypatch) -> None:
    monkeypatch.setattr("experiments.order_of.duckdb_order", lambda *_: SystemOrder("DuckDB 9", "((a c) b)"))
    sql = "select count(*) as n from people a, sales b, people c where a.id = b.person and b.amount = c.balance"
    done = planscope("explain", sql, "-d", str(shop), "--order-of", "duckdb")
    assert done.code == 3 and "DuckDB 9 joins ((a c) b), which is not in our space: no condition links a and c" in done.err


def test_an_order_that_costs_something_beside_one_that_costs_nothing(planscope, shop, monkeypatch) -> None:
    monkeypatch.setattr("experiments.order_of.duckdb_order", lambda *_: SystemOrder("DuckDB 9", "((p s) n)"))
    sql = "select count(*) as n from people p, sales s, nothing n where p.id = s.person and n.person = s.person"
    done = planscope("explain", sql, "-d", str(shop), "--order-of", "duckdb", "--set", "cost_model=c_out")
    assert done.code == 0 and "dearer than our own order with 0" in " ".join(done.out.split())


def test_without_duckdb_the_message_says_so(tpch: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.order_of.duckdb_module", lambda: None)
    with pytest.raises(Unsupported, match="DuckDB is not installed"):
        duckdb_order(tpch, Session(tpch).optimize(CHAIN))


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("tpch/q05", "(((nation region) customer) orders) (lineitem supplier)"),
        ("tpch/q09", "((((partsupp supplier) nation) part) lineitem) orders"),
    ],
)
def test_an_order_by_implied_equalities_has_the_same_rows(tpch: Catalog, query: str, order: str) -> None:
    """Nation and customer, partsupp and supplier are joined by an equality that others imply."""
    forced = Session(tpch, {"join_order": order}, program=(*PROGRAM, linked_by(order))).optimize(query)
    assert has_order(forced.plan, read_join_order(order))
    assert difference(run(Session(tpch).optimize(query)), run(forced)) is None


POSTGRES = [{"Plan": {"Node Type": "Hash Join", "Plans": [
    {"Node Type": "Seq Scan", "Alias": "p"}, {"Node Type": "Hash", "Plans": [{"Node Type": "Index Scan", "Alias": "s"}]},
]}}]  # fmt: skip


def test_the_order_of_postgres(planscope, shop, tmp_path, monkeypatch) -> None:
    """From a file, from psql, as recorded; where there is none the message says what to do."""
    sql = "select count(*) as n from people p, sales s where p.id = s.person"
    (tmp_path / "plan.json").write_text(json.dumps(POSTGRES))
    asked = ("explain", sql, "-d", str(shop), "--order-of", "postgres")
    done = planscope(*asked, "--postgres", str(tmp_path / "plan.json"))
    assert done.code == 0 and "PostgreSQL joins in this order: in our model" in " ".join(done.out.split())
    psql = tmp_path / "psql"
    psql.write_text(f"#!/bin/sh\ncat > {tmp_path}/asked\ncat {tmp_path}/plan.json\n")
    psql.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    done = planscope(*asked, "--postgres", "dbname=shop")
    assert done.code == 0 and "PostgreSQL joins in this order" in " ".join(done.out.split())
    assert (tmp_path / "asked").read_text() == f"EXPLAIN (FORMAT JSON) {sql};"
    psql.write_text("#!/bin/sh\necho 'psql: error: connection refused' >&2\nexit 2\n")
    done = planscope(*asked, "--postgres", "dbname=shop")
    assert done.code == 3 and "does not plan this query: psql: error: connection refused" in done.err
    for arguments, message in (
        ((), "is not recorded"),
        (("--postgres", "no_file"), "no file no_file"),
        (("--postgres", str(psql)), "is not what EXPLAIN"),
    ):
        done = planscope(*asked, *arguments)
        assert done.code == 3 and message in done.err
    done = planscope("explain", sql, "-d", str(shop), "--postgres", "dbname=shop")
    assert done.code == 2 and "--order-of postgres" in done.err
    done = planscope("explain", "stats/001", "--order-of", "postgres")
    assert done.code == 0 and "PostgreSQL joins in this order" in " ".join(done.out.split())
