"""QuickPick: join trees made by drawing edges at random, and the cheapest of many.

Waas and Pellenkoft, Join Order Selection (Good Enough Is Easy), BNCOD 2000. Edges are drawn uniformly and without
replacement, and each that links two trees joins them. Every tree without cross products can come up, but not all equally
often: for that count and unrank the plan space.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from optimizer.joins.costing import JoinCosting, Ordered
from optimizer.joins.cross_products import Part, join_parts, leaf_part
from optimizer.joins.graph import JoinGraph, JoinTree, Relations, bits


def quickpick(graph: JoinGraph, costing: JoinCosting, samples: int = 1000, seed: int = 0) -> Ordered:
    """The cheapest of `samples` (at least 1) random trees, each join in its cheaper orientation.

    A tree is given up once it costs more than the best one. Costs of joins must not be negative.
    """
    assert graph.n and samples > 0, f"{samples} trees of {graph.n} relations"
    random = Random(seed)
    leaves = [leaf_part(costing, i) for i in range(graph.n)]
    reading = sum(leaf.cost for leaf in leaves)
    best: Part | None = None
    pairs = 0
    for _ in range(samples):
        parts = dict(enumerate(leaves))
        spent = reading
        last = leaves[0]
        for a, b in _random_joins(graph, random):
            inputs = parts[a].cost + parts[b].cost
            parts[a] = last = join_parts(costing, parts[a], parts.pop(b))
            pairs += 2
            spent += last.cost - inputs
            if best is not None and spent > best.cost * (1 + 1e-9):
                break
        if len(parts) == 1 and (best is None or last.cost < best.cost):
            best = last
    assert best is not None
    return Ordered(best.cost, best.tree, pairs)


def random_tree(graph: JoinGraph, random: Random) -> JoinTree:
    """One tree of QuickPick, every join in either orientation with equal chance."""
    assert graph.n, "a join tree of no relations"
    trees: dict[int, JoinTree] = dict(enumerate(range(graph.n)))
    for a, b in _random_joins(graph, random):
        left, right = trees[a], trees.pop(b)
        trees[a] = (left, right) if random.random() < 0.5 else (right, left)
    (tree,) = trees.values()
    return tree


def _random_joins(graph: JoinGraph, random: Random) -> Iterator[tuple[int, int]]:
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
