"""The oracles: each finds the cheapest order of the definition, whatever the costing."""

from random import Random

import pytest

from experiments.enumerators.dp_ccp import dp_ccp, pairs
from experiments.enumerators.dp_hyp import dp_hyp, hyper_pairs
from experiments.enumerators.dp_left_deep import dp_left_deep
from experiments.enumerators.dp_size import dp_size
from experiments.enumerators.dp_sub import dp_sub
from experiments.enumerators.dp_vectorized import dp_vectorized
from experiments.enumerators.top_down import top_down
from optimizer.joins.costing import COutCosting
from optimizer.joins.graph import JoinGraph, joins_of
from optimizer.joins.partition.hypergraph import hypergraph
from optimizer.joins.partition.min_cut_branch import min_cut_branch
from tests.joins.by_definition import Definition, RandomCosting, cost_of, random_graph, random_hypergraph
from tests.joins.random_costs import HashJoinCosting, random_c_out
from tests.joins.shapes import SHAPES, chain, clique, star
from tests.joins.test_counts import TABLE

BUSHY = {
    "dp_size": dp_size,
    "dp_sub": dp_sub,
    "dp_ccp": dp_ccp,
    "dp_hyp": dp_hyp,
    "dp_vectorized": dp_vectorized,
    "top_down": lambda graph, costing: top_down(graph, costing, hypergraph if graph.hyperedges else min_cut_branch),
}
SIMPLE_ONLY = ("dp_ccp",)


def costings(graph: JoinGraph, seed: int):
    c_out = random_c_out(graph, Random(seed))
    return c_out, HashJoinCosting(c_out), RandomCosting(seed)


def check(graph: JoinGraph, costing, wanted: float) -> None:
    definition = Definition(graph)
    for name, enumerate_all in BUSHY.items():
        if graph.hyperedges and name in SIMPLE_ONLY:
            continue
        found = enumerate_all(graph, costing)
        assert found.cost == pytest.approx(wanted, rel=1e-12), name
        assert cost_of(found.tree, costing) == (pytest.approx(wanted, rel=1e-12), graph.all), name
        assert all(definition.joined(a, b) for a, b in joins_of(found.tree)), f"{name}: a cross product in {found.tree}"


@pytest.mark.parametrize("n", range(1, 7))
def test_cheapest_of_the_definition(n):
    for seed in range(6):
        graph = random_graph(n, seed, seed)
        for costing in costings(graph, seed):
            check(graph, costing, Definition(graph).best(costing))


@pytest.mark.parametrize("n", range(2, 6))
def test_cheapest_left_deep_and_with_cross_products(n):
    for seed in range(6):
        graph = random_graph(n, seed, seed)
        definition = Definition(graph)
        for costing in costings(graph, seed):
            left_deep = dp_left_deep(graph, costing)
            assert left_deep.cost == pytest.approx(definition.best(costing, left_deep=True), rel=1e-12)
            assert all(right & (right - 1) == 0 for _, right in joins_of(left_deep.tree))
            assert cost_of(left_deep.tree, costing)[0] == pytest.approx(left_deep.cost, rel=1e-12)
            crossed = dp_left_deep(graph, costing, cross_products=True)
            assert crossed.cost == pytest.approx(definition.best(costing, left_deep=True, cross_products=True), rel=1e-12)
            wanted = definition.best(costing, cross_products=True)
            both = [enumerate_all(graph, costing, cross_products=True) for enumerate_all in (dp_sub, dp_vectorized)]
            assert both[0].cost == both[1].cost
            for found in both:
                assert found.cost == pytest.approx(wanted, rel=1e-12)
                assert cost_of(found.tree, costing)[0] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("n", [7, 8, 9, 10])
def test_all_agree_to_the_last_bit(n):
    """One tree costs one number, added up in one order, so equal optima are equal floats."""
    for seed in range(3):
        graph = random_graph(n, 2 * seed, seed)
        for costing in costings(graph, seed)[: 3 if n < 9 else 2]:
            costs = {name: enumerate_all(graph, costing).cost for name, enumerate_all in BUSHY.items()}
            assert len(set(costs.values())) == 1, costs
            assert dp_left_deep(graph, costing).cost >= costs["dp_sub"]


@pytest.mark.parametrize("name", SHAPES)
def test_counters(name):
    for n in (5, 10):
        graph = SHAPES[name](n)
        _, number, sub, size = TABLE[name, n]
        costing = random_c_out(graph, Random(n))
        by_size, by_sub, by_pair = dp_size(graph, costing), dp_sub(graph, costing), dp_ccp(graph, costing)
        assert (by_sub.inner, by_size.inner) == (sub, size)
        assert by_size.pairs == by_sub.pairs == by_pair.pairs == dp_hyp(graph, costing).pairs == 2 * number


def test_pairs_come_once_and_after_those_they_are_made_of():
    random = Random(11)
    graphs = [random_graph(7, seed, seed) for seed in range(20)]
    for graph in graphs:
        assert sorted(map(sorted, pairs(graph))) == sorted(map(sorted, hyper_pairs(graph)))
    graphs += [random_hypergraph(random.randint(2, 7), random) for _ in range(150)]
    for graph in graphs:
        definition = Definition(graph)
        wanted = sorted((a, s ^ a) for s in definition.connected for a in definition.pairs(s))
        for enumerated in [hyper_pairs(graph)] if graph.hyperedges else [hyper_pairs(graph), pairs(graph)]:
            found, planned = [], {1 << i for i in range(graph.n)}
            for a, b in enumerated:
                assert a in planned and b in planned, f"({a:b}, {b:b}) too early in {graph.edges()} {graph.hyperedges}"
                planned.add(a | b)
                found.append((a, b) if a & -a < b & -b else (b, a))
            assert sorted(found) == wanted, f"{graph.edges()} {graph.hyperedges}"


def test_hypergraphs_are_planned():
    random = Random(3)
    planned = 0
    for seed in range(120):
        graph = random_hypergraph(random.randint(2, 6), random)
        definition = Definition(graph)
        if graph.all in definition.connected:
            planned += 1
            costing = RandomCosting(seed)
            check(graph, costing, definition.best(costing))
            if graph.all in definition._left_deep():
                assert dp_left_deep(graph, costing).cost == pytest.approx(definition.best(costing, left_deep=True), rel=1e-12)
    assert planned > 40


def test_one_relation():
    costing = HashJoinCosting(random_c_out(chain(1), Random(1)))
    for enumerate_all in (*BUSHY.values(), dp_left_deep):
        found = enumerate_all(chain(1), costing)
        assert (found.cost, found.tree, found.pairs) == (costing.leaf(0), 0, 0)


def test_graphs_in_pieces_have_no_order_without_cross_products():
    graph = JoinGraph(4, [(0, 1), (2, 3)])
    costing = COutCosting([1.0, 2.0, 3.0, 4.0], {(0, 1): 0.5})
    for enumerate_all in (*BUSHY.values(), dp_left_deep):
        with pytest.raises(AssertionError, match="1111 cannot be joined without a cross product"):
            enumerate_all(graph, costing)
    assert dp_sub(graph, costing, cross_products=True).cost == dp_vectorized(graph, costing, cross_products=True).cost


def test_costs_beyond_the_range_of_floats_still_give_a_tree():
    graph = clique(6)
    costing = COutCosting([1e80] * 6, {})
    for enumerate_all in BUSHY.values():
        found = enumerate_all(graph, costing)
        assert found.cost == float("inf")
        assert cost_of(found.tree, costing)[1] == graph.all


def test_many_relations_do_not_recurse():
    graph = chain(120)
    costing = COutCosting([2.0] * 120, dict.fromkeys(graph.edges(), 0.5))
    found = dp_ccp(graph, costing)
    assert found.pairs == 2 * (120**3 - 120) // 6
    long = star(14)
    costing = random_c_out(long, Random(1))
    assert dp_left_deep(long, costing).cost == dp_ccp(long, costing).cost  # stars have left-deep orders only
