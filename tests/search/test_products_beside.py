"""Cross products beside outer joins and semi-joins: the space is the same however the query is written and searched."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from optimizer.pipeline import OptimizedQuery, Optimizer
from optimizer.settings import Settings
from tests.search.stored_tables import catalog, table

N = table("n", 10000, {"j": 1000, "k": 1000, "v": 1000})
NULLABLE = replace(N, columns=tuple(replace(column, nullable=True) for column in N.columns))
TABLES = catalog(
    table("a", 10000, {"j": 1000, "k": 1000}), table("b", 1000, {"i": 1000}), table("c", 10, {"k": 10}),
    table("d", 10, {"i": 10}), table("f", 10000, {"v": 1000}), NULLABLE, table("e", 1000, {"v": 1000}),
    table("s", 1_000_000, {"i": 1000, "j": 1000, "k": 1000}),
)  # fmt: skip
WAYS: list[dict[str, Any]] = [
    {}, {"driver": "iterative"}, {"region": "tasks"}, {"pruning": "none"}, {"exploration": "interleaved"},
    {"enumeration": "partition"},
]  # fmt: skip
EVERY_PRODUCT = [{"cross_products": True, **way} for way in (*WAYS, {"enumeration": "rules"})]


def planned(sql: str, **settings: Any) -> OptimizedQuery:
    return Optimizer(TABLES, Settings(**settings)).optimize(sql)


def same(queries: list[OptimizedQuery]) -> None:
    assert all(query.search.proven for query in queries)
    assert [query.cost for query in queries] == pytest.approx([queries[0].cost] * len(queries), rel=1e-9)


@pytest.mark.parametrize("above", ["left join a l on l.j = x.i", "semi join a l on l.j = x.i", "full join a l on l.j = x.i"])
def test_products_are_free_of_their_order_in_from(above: str) -> None:
    queries = [f"select x.i from {' cross join '.join(order)} {above}" for order in itertools.permutations(("b x", "a y", "e z"))]
    same([planned(sql) for sql in queries])
    same([planned(queries[3], **way) for way in WAYS])
    same([planned(queries[3], **way) for way in EVERY_PRODUCT])


def test_rules_prove_nothing_where_a_product_is_beside_an_outer_join() -> None:
    sql = "select d.i from d cross join (select t.j from a t left join a on t.k = a.j) x"
    best = planned(sql)
    assert best.search.proven
    for enumeration in ("rules", "rules_b0"):
        found = planned(sql, enumeration=enumeration)
        assert found.cost > best.cost and not found.search.proven
        assert planned(sql, enumeration=enumeration, cross_products=True).cost == pytest.approx(best.cost, rel=1e-9)


def test_cross_products_are_made_below_a_left_join() -> None:
    sql = "select s.j from s join d on s.i = d.i join c on s.k = c.k left join a on a.j = s.j"
    every = [planned(sql, **way) for way in EVERY_PRODUCT]
    same(every)
    assert every[0].cost < planned(sql).cost


def test_forms_of_a_subquery_have_the_same_products() -> None:
    """Bounds decided it, where left inputs were explored only when they were asked for."""
    sql = (
        "select t3.v from (select t2.j, t2.k, t2.j v from f t1, n t2) t3, (select t2.v i, t2.k from f t1, n t2) t4 "
        "where t3.k = t4.i and exists (select 1 from n t5 where t3.j = t5.k and t4.k is not distinct from t5.k)"
    )
    ways = itertools.product(("all", "on_demand", "interleaved"), ("both", "none"))
    same([planned(sql, decorrelate="cost", exploration=exploration, pruning=pruning) for exploration, pruning in ways])
