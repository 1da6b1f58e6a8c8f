"""Random join trees, by QuickPick."""

from collections import Counter
from random import Random

import pytest

from experiments.random_orders import random_tree
from optimizer.joins.graph import JoinGraph, JoinTree, Relations, bits, relations_of
from tests.joins.by_definition import random_graph
from tests.joins.random_costs import check_tree
from tests.joins.shapes import chain, clique


def unordered(tree: JoinTree) -> frozenset[object]:
    """The shape of a small tree, inputs in no order."""
    return frozenset((tree,)) if isinstance(tree, int) else frozenset(unordered(side) for side in tree)


def random_hypergraph(random: Random, n: int, extra: int) -> JoinGraph:
    """An edge for each join of some tree, between random parts of its inputs, and some simple edges; so that tree can be made."""
    parts = [1 << i for i in range(n)]
    wide = []
    while len(parts) > 1:
        a, b = (parts.pop(random.randrange(len(parts))) for _ in range(2))
        wide.append((random_part(random, a), random_part(random, b)))
        parts.append(a | b)
    return JoinGraph(n, [tuple(random.sample(range(n), 2)) for _ in range(extra)], wide)


def random_part(random: Random, s: Relations) -> Relations:
    members = list(bits(s))
    return sum(random.sample(members, min(len(members), random.choice([1, 1, 2, 3]))))


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
