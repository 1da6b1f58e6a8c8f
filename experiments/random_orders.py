"""QuickPick: join trees made by drawing edges at random.

Edges are drawn uniformly and without replacement, and each that links two trees joins them. Every tree without cross
products can come up, but not all equally often: for that count and unrank the plan space.

Source: Waas and Pellenkoft, Join Order Selection (Good Enough Is Easy), BNCOD 2000.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from optimizer.joins.graph import JoinGraph, JoinTree, Relations, bits
from optimizer.joins.join_order import JoinOrder


def random_order(graph: JoinGraph, aliases: Sequence[str], random: Random) -> JoinOrder:
    """One tree over named relations, as `join_order` takes it."""

    def named(tree: JoinTree) -> JoinOrder:
        return aliases[tree] if isinstance(tree, int) else (named(tree[0]), named(tree[1]))

    return named(random_tree(graph, random))


def random_left_deep(graph: JoinGraph, aliases: Sequence[str], random: Random) -> JoinOrder:
    """One order in which each relation is joined to all before it: the first at random, each next one among their neighbours."""
    first = random.randrange(graph.n)
    order: JoinOrder = aliases[first]
    s = 1 << first
    while s != graph.all:
        near = list(bits(graph.neighbours(s))) or list(bits(graph.all & ~s))
        low = random.choice(near)
        order = (order, aliases[low.bit_length() - 1])
        s |= low
    return order


def random_tree(graph: JoinGraph, random: Random) -> JoinTree:
    """One tree of QuickPick, every join in either orientation with equal chance."""
    assert graph.n, "a join tree of no relations"
    trees: dict[int, JoinTree] = dict(enumerate(range(graph.n)))
    for a, b in random_joins(graph, random):
        left, right = trees[a], trees.pop(b)
        trees[a] = (left, right) if random.random() < 0.5 else (right, left)
    (tree,) = trees.values()
    return tree


def random_joins(graph: JoinGraph, random: Random) -> Iterator[tuple[int, int]]:
    """Joins of a random tree, inputs first: trees are named by their lowest relations a < b, the result is again a.

    A hyperedge whose sides have not been joined waits for the next round. Where no edge helps any more, two trees drawn at
    random give a cross product.
    """
    sets: dict[int, Relations] = {i: 1 << i for i in range(graph.n)}
    slot = list(range(graph.n))
    waiting = [(1 << u, 1 << v) for u, v in graph.edges()] + list(graph.hyperedges)
    while len(sets) > 1:
        random.shuffle(waiting)
        later = []
        before = len(sets)
        for left, right in waiting:
            a, b = slot[left.bit_length() - 1], slot[right.bit_length() - 1]
            if left & ~sets[a] or right & ~sets[b]:
                later.append((left, right))
                continue
            if a != b:
                a, b = min(a, b), max(a, b)
                yield a, b
                _unite(sets, slot, a, b)
        waiting = later
        if len(sets) == before:
            a, b = sorted(random.sample(list(sets), 2))
            yield a, b
            _unite(sets, slot, a, b)


def _unite(sets: dict[int, Relations], slot: list[int], a: int, b: int) -> None:
    for low in bits(sets[b]):
        slot[low.bit_length() - 1] = a
    sets[a] |= sets.pop(b)
