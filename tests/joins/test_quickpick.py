"""Random join trees, by QuickPick."""

from collections import Counter
from random import Random

import pytest

from experiments.random_orders import random_tree
from optimizer.joins.graph import JoinGraph, JoinTree, relations_of
from tests.joins.by_definition import random_graph
from tests.joins.random_costs import check_tree
from tests.joins.shapes import chain, clique
from tests.joins.test_goo import random_hypergraph


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
    """A chain of 4 has 5 trees without cross products, 40 with orientations; a clique of 4 has 15.

    With 0-1, 1-2 and an edge of 3 to both 0 and 1, two relations are joined first, 3 second or last.
    """
    random = Random(72)
    drawn = Counter(random_tree(chain(4), random) for _ in range(2000))
    assert len(drawn) == 40
    assert len({unordered(tree) for tree in drawn}) == 5
    assert len({unordered(random_tree(clique(4), random)) for _ in range(500)}) == 15
    wide = JoinGraph(4, [(0, 1), (1, 2)], [(0b0011, 0b1000)])
    assert len({unordered(random_tree(wide, random)) for _ in range(100)}) == 3


def test_edges_are_drawn_uniformly() -> None:
    """Of three edges each is the last one, which splits the chain at the top, in a third of the trees."""
    random = Random(73)
    tops = Counter(min(relations_of(side).bit_count() for side in random_tree(chain(4), random)) for _ in range(3000))
    assert tops[2] == pytest.approx(1000, abs=100)
