"""Groupings of a few rows among joins below a grouping: they may be joined with anything, and rules make many forms of that."""

from random import Random
from typing import Any

import pyarrow as pa
import pytest

from optimizer.figures import Figures
from optimizer.joins.inner import inner_region
from planscope import Optimizer, Session, Settings
from tests.search.planning import planned_alike

ONE = "(select max(p) p, min(q) q, count(*) v from {})"
TOP = "(select p, q, v from {} order by 1, 2, 3 limit 1)"
GROUPS = "(select p, max(q) q, sum(v)::bigint v from {} group by p)"
CASES = [
    (
        "arrow", 0, {"a": 6, "b": 1},
        f"select r1.q, max(r0.q) from {ONE.format('a')} r0, a r1, {TOP.format('b')} r2, {TOP.format('b')} r3 where r1.p = r0.p"
        " and r2.q = r0.p and r3.q = r2.q and r0.v = r1.p and r3.q = r2.p group by r1.q",
    ),
    (
        "arrow", 0, {"c": 2, "d": 2},
        f"select r0.p, r0.v, count(*), min(r2.p) from d r0, {GROUPS.format('c')} r1, {TOP.format('c')} r2, c r3 where r1.q = r0.p"
        " and r2.q = r1.q and r3.p = r0.p and r1.v = r3.v and r3.q = r0.p group by r0.p, r0.v",
    ),
    (
        "c_mm", 0, {"b": 3, "a": 50, "d": 2},
        f"select r1.v, count(*) from {TOP.format('b')} r0, {GROUPS.format('d')} r1, a r2 where r1.q = r0.q and r2.p = r1.p"
        " and r0.v = r1.q group by r1.v",
    ),
    (
        "c_mm", 3, {"c": 2, "d": 10},
        f"select r3.q, r2.q, max(r3.q) from d r0, {GROUPS.format('c')} r1, d r2, c r3 where r1.p = r0.q and r2.q = r1.p"
        " and r3.p = r2.q group by r3.q, r2.q",
    ),
]  # fmt: skip
WAYS: list[dict[str, Any]] = [
    {"exploration": "interleaved"}, {"exploration": "interleaved", "pruning": "lower"}, {"exploration": "on_demand"},
    {"region": "tasks"}, {"region": "table"}, {"region": "tasks", "pruning": "none"}, {"pruning": "none"}, {"pruning": "upper"},
    {"enumeration": "partition"}, {"driver": "iterative"},
]  # fmt: skip


def session(seed: int, rows: dict[str, int]) -> Session:
    random = Random(seed)
    return Session(
        {name: pa.table({c: [random.choice([0, 1, 2, None]) for _ in range(n)] for c in "pqv"}) for name, n in rows.items()}
    )


@pytest.mark.parametrize(("model", "seed", "rows", "sql"), CASES)
def test_however_it_is_searched_the_plan_costs_the_same(model: str, seed: int, rows: dict[str, int], sql: str) -> None:
    """Up to 7 % more was called proven: sets that had a goal before the table of their region was filled had no plan in it."""
    planned_alike(session(seed, rows).catalog, [sql], [{}, *WAYS], cost_model=model)


@pytest.mark.parametrize("pruning", ["none", "upper", "dominance", "both"])
@pytest.mark.parametrize("more", [{}, {"decorrelate": "cost", "expand_joins": 0}])
def test_a_product_that_a_rule_makes_is_no_set_of_a_larger_region(pruning: str, more: dict[str, Any]) -> None:
    """It was looked up in that region's table, which has connected sets only: an IndexError, or another set's splits."""
    tables = {
        "b": pa.table({"id": [0, 1], "s": ["x"] * 2, "m": [1] * 2}), "c": pa.table({"k": range(9)}),
        "a": pa.table({"s": ["x"] * 6, "c": [1] * 6}),
    }  # fmt: skip
    sql = (
        "select b.id from b cross join c join (select max(s) c0 from a) x on b.s = x.c0"
        " join (select max(c) c1 from a) y on b.m = y.c1 group by b.id order by 1"
    )
    found = Session(tables, {"pruning": pruning, **more})
    assert found.optimize(sql).cost == pytest.approx(Session(tables, {"region": "tasks"}).optimize(sql).cost, rel=1e-9)
    assert found.sql(sql).table.to_pylist() == [{"id": 0}, {"id": 1}]


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("model", ["c_mm", "c_out"])
def test_no_plan_refutes_a_bound_of_its_region(model: str, seed: int) -> None:
    """A set had other rows in its region than in its group, so a plan through the group was below the bound of the region."""
    sql = (
        f"select r1.p, r0.q from {GROUPS.format('d')} r0, d r1, {TOP.format('d')} r2, d r3, {ONE.format('a')} r4"
        " where r1.p = r0.p and r2.p = r1.q and r3.q = r2.p and r4.p = r1.p group by r1.p, r0.q"
    )
    catalog = session(seed, {"a": 6, "d": 2}).catalog
    for pruning in ("none", "dominance", "lower"):
        for expand in (5, 6):
            settings = Settings(cost_model=model, pruning=pruning, expand_joins=expand)
            assert Optimizer(catalog, settings).optimize(sql).search.proven


def test_rows_of_a_set_do_not_depend_on_the_order_of_its_relations() -> None:
    sql = CASES[3][3]
    memo = Optimizer(session(3, CASES[3][2]).catalog, Settings(cost_model="c_mm")).optimize(sql).memo
    assert isinstance(memo.figures, Figures)
    graphs = [(group, m) for group in memo.live_groups() for m in group.logical if m.op.name == "join_graph"]
    assert len(graphs) > 10
    for group, graph in graphs:
        leaves = [memo.group(gid) for gid in graph.inputs]
        for order in (leaves, leaves[::-1]):
            region = inner_region(tuple(leaf.props.columns for leaf in order), graph.op.predicate, False)
            rows = memo.figures.region_rows(region, order)
            assert rows.rows(region.graph.all) == pytest.approx(group.stats.rows)
