"""docs/extending.md runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

from optimizer import Optimizer
from optimizer.catalog.table import Catalog

PAGE = Path(__file__).parent.parent.parent / "docs" / "extending.md"
SQL = "select n_name, count(*) from nation join region on n_regionkey = r_regionkey where r_name = 'ASIA' group by n_name"
TRAINING = (
    "select count(*) from customer, orders, lineitem where c_custkey = o_custkey and o_orderkey = l_orderkey "
    "and l_shipdate > o_orderdate and l_commitdate < l_receiptdate and o_orderdate < date '1994-06-01'",
    "select count(*) from part, partsupp, supplier, nation where p_partkey = ps_partkey and ps_suppkey = s_suppkey "
    "and s_nationkey = n_nationkey and p_size > 30 and p_type like '%BRASS' and n_name in ('FRANCE', 'GERMANY')",
    "select count(*) from orders, lineitem, supplier, nation where o_orderkey = l_orderkey and l_suppkey = s_suppkey "
    "and s_nationkey = n_nationkey and o_orderpriority = '1-URGENT' and l_shipdate < date '1993-01-01'",
)


def test_the_page_runs(tpch: Catalog) -> None:
    """Every block of code on the page, in order, in one namespace; the first one is the signature and no code."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    assert len(blocks) >= 6
    names: dict[str, object] = {"catalog": tpch, "sql": SQL, "training": TRAINING}
    for block in blocks[1:]:
        exec(compile(block, str(PAGE), "exec"), names)
    before, after = names["errors"]
    assert after < 0.9 * before
    assert names["learned"].search.proven
    plain = Optimizer(tpch).optimize(SQL)
    careful = names["careful"]
    assert careful.plan.rows >= plain.plan.rows


def test_a_custom_cost_model_is_optimal_in_every_mode(tpch: Catalog) -> None:
    """The bounds of the page's cost model are admissible: pruning changes nothing."""
    from optimizer import Settings

    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    names: dict[str, object] = {"catalog": tpch, "sql": SQL, "Optimizer": Optimizer}
    exec(next(block for block in blocks if "class RowsMoved" in block), names)
    costs = {
        mode: Optimizer(tpch, Settings(pruning=mode), cost=names["RowsMoved"]()).optimize(SQL).cost
        for mode in ("none", "upper", "lower", "both")
    }
    assert len(set(costs.values())) == 1
