"""Cross products, also beside outer joins and semi-joins: the space is the same however the query is written and searched."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from optimizer.audit.audit import audit
from optimizer.errors import SettingsError
from optimizer.joins.graph import JoinGraph
from optimizer.joins.set_splits import set_splits
from optimizer.plan_space.of_search import full_space
from planscope import OptimizedQuery, Optimizer, Settings, Trace
from tests.search.planning import planned_alike
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


@pytest.mark.parametrize("above", ["left join a l on l.j = x.i", "semi join a l on l.j = x.i", "full join a l on l.j = x.i"])
def test_products_are_free_of_their_order_in_from(above: str) -> None:
    queries = [f"select x.i from {' cross join '.join(order)} {above}" for order in itertools.permutations(("b x", "a y", "e z"))]
    planned_alike(TABLES, queries, [{}])
    planned_alike(TABLES, queries[3:4], WAYS)
    planned_alike(TABLES, queries[3:4], EVERY_PRODUCT)


BELOW = (
    "a cross join b right join c on a.k = c.k",
    "c left join (a cross join b) on a.k = c.k",
    "a cross join b full join c on a.k = c.k",
)


@pytest.mark.parametrize("below", BELOW)
@pytest.mark.parametrize("on", ["b.i is not distinct from d.i and c.k < d.i", "coalesce(b.i, 1) = d.i and c.k = d.i"])
def test_a_product_on_the_side_of_nulls_is_made_where_no_other_order_is_right(below: str, on: str) -> None:
    """The rows of b that have no partner are NULLs only once the outer join is made."""
    sql = f"select a.j, c.k, d.i from {below} join d on {on}"
    planned_alike(TABLES, [sql], WAYS)
    planned_alike(TABLES, [sql], EVERY_PRODUCT[:-1])


def test_rules_prove_nothing_where_conjuncts_part_above_an_outer_join() -> None:
    sql = "select f.v from f left join c on f.v = c.k join d on coalesce(c.k, 1) = d.i and f.v = d.i"
    best, found = planned(sql), planned(sql, enumeration="rules")
    assert best.search.proven and found.cost > best.cost and not found.search.proven
    assert planned(sql.replace("coalesce(c.k, 1) = d.i and ", ""), enumeration="rules").search.proven


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
    assert planned_alike(TABLES, [sql], EVERY_PRODUCT)[0].cost < planned(sql).cost


def test_a_join_order_with_a_product_of_linked_relations_is_refused() -> None:
    sql = "select x.i from d x, s y, c z, e w left join b l on l.i = w.v where x.i = y.i and y.k = z.k"
    assert planned(sql, join_order="((x w) y) z l").search.proven
    with pytest.raises(
        SettingsError, match=r"\{x, y, z\} cannot be joined: one of these is a cross product, as cross_products=true"
    ):
        planned(sql, join_order="((x z) y) w l")
    assert planned(sql, join_order="((x z) y) w l", cross_products=True).search.proven


def test_forms_of_a_subquery_have_the_same_products() -> None:
    """Bounds decided it, where left inputs were explored only when they were asked for."""
    sql = (
        "select t3.v from (select t2.j, t2.k, t2.j v from f t1, n t2) t3, (select t2.v i, t2.k from f t1, n t2) t4 "
        "where t3.k = t4.i and exists (select 1 from n t5 where t3.j = t5.k and t4.k is not distinct from t5.k)"
    )
    explorations = ("all", "on_demand", "interleaved")
    ways = [{"exploration": exploration, "pruning": pruning} for exploration in explorations for pruning in ("both", "none")]
    planned_alike(TABLES, [sql], ways, decorrelate="cost")


@pytest.mark.parametrize("model", ["arrow", "c_out", "c_mm"])
@pytest.mark.parametrize("grouped", [True, False])
def test_a_set_has_the_same_products_as_a_group_and_in_a_larger_region(model: str, grouped: bool) -> None:
    """x, y and z are linked, so there is no product of x and z, though nothing links the others with w."""
    items = "x.i, count(*)" if grouped else "x.i"
    sql = f"select {items} from d x, s y, c z, e w where x.i = y.i and y.k = z.k {'group' if grouped else 'order'} by x.i"
    planned_alike(TABLES, [sql], [*WAYS, {"region": "table", "pruning": "none"}], cost_model=model)
    trace = Trace()
    query = Optimizer(TABLES, Settings(cost_model=model)).optimize(sql, trace)
    assert audit(query.engine, trace).sound and full_space(query.engine).best_cost == pytest.approx(query.cost, rel=1e-9)


def test_the_table_of_a_region_in_pieces_has_the_splits_of_its_sets() -> None:
    chain = JoinGraph(4, [(0, 1), (1, 2)])
    every = JoinGraph(4, list(itertools.combinations(range(4), 2)))
    found = set_splits(every, False, 100, chain)
    assert found is not None and len(found.sets) == 15
    splits = {
        (int(found.sets[a]), int(found.sets[b])) for level in found.levels for a, b in zip(level.left, level.right, strict=True)
    }
    of = {s: {frozenset((a, b)) for a, b in splits if a | b == s} for s in (0b0111, 0b0101, 0b1011)}
    assert of[0b0111] == {frozenset((0b001, 0b110)), frozenset((0b100, 0b011))}, "not 101 and 010"
    assert of[0b0101] == {frozenset((0b001, 0b100))}
    assert of[0b1011] == {frozenset(pair) for pair in ((0b0001, 0b1010), (0b0010, 0b1001), (0b1000, 0b0011))}
