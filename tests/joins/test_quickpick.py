"""Random join trees."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from experiments.random_orders import random_tree
from optimizer.joins.graph import JoinGraph, JoinTree, chain, clique, cycle, random_graph, relations_of
from tests.joins.quickpick import quickpick
from tests.joins.random_costs import HashJoinCosting, brute_force, check_tree, cost_of, random_c_out
from tests.joins.test_goo import random_hypergraph, wide_c_out


def unordered(tree: JoinTree) -> frozenset[object]:
    """The shape of a small tree, inputs in no order."""
    return frozenset((tree,)) if isinstance(tree, int) else frozenset(unordered(side) for side in tree)


def test_trees_are_complete_and_without_cross_products() -> None:
    random = Random(71)
    for seed in range(60):
        graph = random_graph(random.randint(1, 12), 3, seed)
        check_tree(random_tree(graph, random), graph)
        hypergraph = random_hypergraph(random, random.randint(2, 9), 2)
        check_tree(random_tree(hypergraph, random), hypergraph)
    check_tree(random_tree(JoinGraph(5, [(0, 1), (3, 4)]), random), JoinGraph(5, [(0, 1), (3, 4)]), crossed=2)
    check_tree(random_tree(clique(100), random), clique(100))


def test_every_tree_comes_up() -> None:
    """A chain of 4 has 5 trees without cross products, 40 with orientations; a clique of 4 has 15."""
    random = Random(72)
    drawn = Counter(random_tree(chain(4), random) for _ in range(2000))
    assert len(drawn) == 40
    assert len({unordered(tree) for tree in drawn}) == 5
    assert len({unordered(random_tree(clique(4), random)) for _ in range(500)}) == 15


def test_edges_are_drawn_uniformly() -> None:
    """Of three edges each is the last one, which splits the chain at the top, in a third of the trees."""
    random = Random(73)
    tops = Counter(min(relations_of(side).bit_count() for side in random_tree(chain(4), random)) for _ in range(3000))
    assert tops[2] == pytest.approx(1000, abs=100)


def test_the_best_of_many_is_the_optimum_of_a_small_graph() -> None:
    random = Random(74)
    for seed in range(20):
        graph = random_graph(5, 2, seed)
        costing = HashJoinCosting(random_c_out(graph, random, degenerate=seed % 2 == 0))
        found = quickpick(graph, costing, 500, seed)
        best = brute_force(graph, costing)
        check_tree(found.tree, graph)
        assert best is not None and found.cost == pytest.approx(best.cost, rel=1e-9)
        assert found.cost == pytest.approx(cost_of(found.tree, costing), rel=1e-9)
    hypergraph = random_hypergraph(random, 5, 1)
    costing = HashJoinCosting(wide_c_out(random, 5))
    best = brute_force(hypergraph, costing)
    assert best is not None and quickpick(hypergraph, costing, 500).cost == pytest.approx(best.cost, rel=1e-9)


def test_more_samples_are_never_worse_and_the_seed_decides() -> None:
    graph = cycle(10)
    costing = random_c_out(graph, Random(75))
    costs = [quickpick(graph, costing, samples, 5).cost for samples in (1, 10, 100, 400)]
    assert costs == sorted(costs, reverse=True) and costs[-1] < costs[0]
    assert quickpick(graph, costing, 100, 5) == quickpick(graph, costing, 100, 5)
    assert len({quickpick(graph, costing, 1, seed).tree for seed in range(10)}) > 1
