"""The order in which a query names its tables decides nothing: neither the space of plans nor what the cheapest one costs."""

import random
from itertools import permutations

import pytest

from executor import Session
from experiments.workloads.data import open_data
from planscope import Optimizer, Settings
from tests.differential.datasets import dataset
from tests.reference.compare import assert_same_bag, rows_of
from tests.search.planning import planned_alike
from tests.search.stored_tables import catalog, table

TABLES = catalog(
    table("big", 300_000, {"k": 1000, "id": 300_000}),
    table("a", 1000, {"k": 1000, "v": 40}, key="k"),
    table("b", 1000, {"k": 1000, "v": 40}, key="k"),
    table("c", 5000, {"k": 1000, "v": 40}),
    table("d", 70, {"k": 70, "v": 40}, key="k"),
)
LINKS = {
    "a star": "a.k = big.k and b.k = big.k and c.k = big.k and d.k = big.k",
    "a chain": "big.k = a.k and a.k = b.k and b.k = c.k and c.k = d.k",
    "two classes": "big.k = a.k and a.k = b.k and b.v = c.v and c.v = d.v and big.k < 500",
}
WAYS = [{}, {"enumeration": "partition"}, {"enumeration": "rules"}]


@pytest.mark.parametrize("links", LINKS)
def test_the_order_of_tables_and_conjuncts_decides_nothing(links: str) -> None:
    chosen = random.Random(5)
    names = list(permutations(["big", "a", "b", "c", "d"]))
    conjuncts = LINKS[links].split(" and ")
    texts = [
        f"select big.id from {', '.join(tables)} where {' and '.join(chosen.sample(conjuncts, len(conjuncts)))}"
        for tables in chosen.sample(names, 4)
    ]
    planned_alike(TABLES, texts, WAYS)


def test_a_contradiction_is_found_in_any_order() -> None:
    for tables in permutations("abc"):
        for equal, unlike in (("a.k = b.k and c.v = b.k", "a.k < c.v"), ("a.k = b.k and a.v = b.k and c.k = b.k", "c.k <> a.v")):
            sql = f"select 1 from {', '.join(tables)} where {equal} and {unlike}"
            assert Optimizer(TABLES).optimize(sql).plan.rows == 0, (tables, unlike)


LEFT = " ".join(f"left join a a{i} on big.k = a{i}.k and a{i}.v = {i}" for i in range(8))


MIXED = {  # each way of searching meets the joins of a set in another order
    "left after left": ("customer left join orders on c_custkey = o_custkey left join lineitem on o_orderkey = l_orderkey",
        "c_acctbal, o_orderkey"),
    "left below right": ("orders right join customer on o_custkey = c_custkey left join lineitem on o_orderkey = l_orderkey",
        "o_custkey, l_partkey"),
    "left of an inner join": ("partsupp p left join (part join lineitem on p_partkey = l_partkey) on p.ps_partkey = l_partkey "
        "left join partsupp s on l_partkey = s.ps_partkey", "p.ps_availqty, p_size, l_partkey"),
    "left of two tables": ("customer left join (supplier join nation on s_nationkey = n_nationkey) on c_nationkey = s_nationkey "
        "left join supplier s on n_nationkey = s.s_nationkey", "c_acctbal, n_regionkey, s.s_suppkey"),
    "full and left": ("part left join partsupp a on p_partkey = a.ps_partkey full join partsupp b on a.ps_partkey = b.ps_partkey "
        "and p_partkey = b.ps_partkey left join partsupp c on a.ps_partkey = c.ps_partkey", "p_size, b.ps_partkey, c.ps_suppkey"),
    "full after full": ("supplier a full join (supplier b join customer on b.s_nationkey = c_nationkey) on a.s_nationkey = "
        "c_nationkey full join orders on c_custkey = o_custkey", "a.s_acctbal, b.s_suppkey, c_nationkey, o_custkey"),
    "full on one side": ("(region full join nation on r_regionkey = n_regionkey) full join (supplier full join customer "
        "on s_nationkey = c_nationkey) on s_suppkey = c_custkey", "r_name, n_name, s_name, c_name"),
}  # fmt: skip


@pytest.mark.parametrize("case", MIXED)
def test_outer_joins_have_one_estimate_in_any_order(case: str) -> None:
    joins, columns = MIXED[case]
    planned_alike(open_data("tpch:0.01"), [f"select {columns} from {joins}"], WAYS)


def test_a_left_join_stays_below_an_inner_one_that_reads_its_columns() -> None:
    sql = """select c_name from customer left join ((orders left join lineitem on o_orderkey = l_orderkey) join part
             on l_partkey = p_partkey) on c_custkey = o_custkey"""
    planned_alike(open_data("tpch:0.01"), [sql], WAYS, prepass=False)  # which would make the lower left join an inner one


RAISING = "join a on big.k + big.id = a.v"


@pytest.mark.parametrize("beside", [LEFT, RAISING], ids=["left joins", "a join that may raise"])
def test_a_join_beside_those_that_are_not_collected_with_it_may_come_first(beside: str) -> None:
    """Left joins whose sets are too many to be ordered as a whole, and a join whose condition may raise."""
    texts = [f"select big.id from big {beside} join d on big.id = d.k", f"select big.id from big join d on big.id = d.k {beside}"]
    planned_alike(TABLES, texts, [*WAYS, {"driver": "iterative"}], proves=0, exact_mixed_sets=100)


@pytest.mark.parametrize(
    "grouped", ["", " join (select k, count(*) n from c group by k) g on g.k = d.v"], ids=["tables", "groups"]
)
def test_too_many_joins_beside_one_that_may_raise_are_not_called_proven(grouped: str) -> None:
    sql = f"select big.id from big {RAISING} join d on big.id = d.k{grouped}"
    query = Optimizer(TABLES, Settings(expand_joins=1)).optimize(sql)
    assert not query.search.proven and "a join whose condition may raise" in query.search.heuristic


def test_cross_products_that_rules_do_not_move_are_not_called_proven() -> None:
    """Partitioning orders relations that nothing connects; rules leave them as the text has them."""
    costs = []
    for tables in ("a, b, d", "d, a, b"):
        for enumeration in ("adaptive", "rules"):
            query = Optimizer(TABLES, Settings(enumeration=enumeration)).optimize(f"select a.k from {tables}")
            assert query.search.proven == (enumeration == "adaptive")
            costs.append(query.cost)
    assert costs[0] == pytest.approx(costs[2], rel=1e-9) and costs[1] != pytest.approx(costs[3], rel=1e-3)


ALIKE = catalog(
    table("a", 8_340, {"k": 12, "j": 20}),
    table("b", 125_714, {"k": 38_156, "j": 18_285}),
    table("c", 44_076, {"k": 1_085, "j": 10_348}, key="k"),
    table("d", 34_954, {"k": 26, "j": 33_123}),
    table("l", 60_000, {"k": 15_000, "n": 7, "s": 100}, key="k n"),
    table("o", 15_000, {"k": 15_000, "p": 1}, key="k"),
    table("m", 60_000, {"k": 15_000, "n": 7, "j": 100}, key="k n"),
    table("s", 60_000, {"k": 15_000, "n": 7, "s": 100, "j": 60_000}, key="k n"),
    table("e", 300_000, {"k": 15_000, "n": 7, "s": 100}),
)
SHARED = {
    "a column that is there twice": (
        ("a", "(select k, k k2 from b limit 1000) x", "c", "d"),
        "a.j = x.k2 and x.k = c.k and c.k = d.k",
    ),
    "columns of one table in one class": (("a", "b", "c", "d"), "a.j = b.k and a.k = c.k and a.k = d.k and a.j = d.k"),
    "aliases that other joins tell apart": (("m a", "m b", "m c"), "a.j = b.j and a.k = c.k and b.j = c.j and c.n = b.n"),
    "aliases that are found by their keys": (("m a", "m b", "m c"), "a.k = b.k and a.k = c.k and c.n = b.k"),
    "equal columns of an alias": (("m a", "m b", "m c"), "a.n = b.j and a.n = c.n and b.j = c.k"),
    "groups of equal columns": (
        ("m a", "m b", "m c", "m d"),
        "a.n = b.j and a.n = c.n and a.n = d.k and a.j = c.j and b.j = a.j",
    ),
    "columns that have one value": (("o a", "o b", "o c"), "a.p = b.k and c.k = b.p and c.k = b.k and c.p = b.k and c.p = 6"),
    "a table twice": (("o", "l l1", "l l2"), "o.k = l1.k and o.p = l2.n and o.k = l2.k"),
    "groups of a column whose equal stands in a relation with another": (
        ("e a", "s b", "s c", "s d"),
        "a.s = b.k and a.s = c.k and b.k = c.k and b.s = c.s and c.j = d.j and b.n = d.n and a.n = 6",
    ),
}


@pytest.mark.parametrize("tables", SHARED)
def test_what_a_relation_knows_of_itself_joins_others_in_any_order(tables: str) -> None:
    names, links = SHARED[tables]
    asked = {"count(*)": "", **({"a.k, sum(b.k)": " group by a.k"} if any(name[-2:] == " a" for name in names) else {})}
    if "d.j" in links:
        asked["distinct a.k, d.j"] = ""
    for values, grouped in asked.items():
        sql = [f"select {values} from {', '.join(order)} where {links}{grouped}" for order in permutations(names)]
        planned_alike(ALIKE, sql, [{}], disable=("self_join_remove",))


QUERY = "select a.id from q a join t b on a.rid = b.rid join u c on a.id = c.c join q d on b.rid = d.rid"
LEFT_DEEP = "select * from t a join r b on a.s = b.s, r c left join r d on c.id = d.id where b.id + b.id > c.id"


def test_a_join_that_is_a_leaf_is_estimated_with_its_region(tmp_path) -> None:
    """A conjunct with a cast that may raise keeps a join out of the region above it; its rows are those of the whole."""
    folder = dataset(tmp_path, 16).folder
    ways = ({}, {"pruning": "none"}, {"enumeration": "partition"}, {"driver": "iterative"})
    costs = [Session(folder, way).optimize(QUERY).cost for way in ways]
    assert costs == pytest.approx([costs[0]] * len(ways), rel=1e-9)


@pytest.mark.parametrize("driver", ["top_down", "iterative"])
def test_a_region_without_a_left_deep_split_keeps_the_order_as_written(tmp_path, driver: str) -> None:
    folder = dataset(tmp_path, 17).folder
    left_deep = Session(folder, {"enumeration": "left_deep", "driver": driver})
    assert_same_bag(rows_of(Session(folder).sql(LEFT_DEEP).table), rows_of(left_deep.sql(LEFT_DEEP).table))
