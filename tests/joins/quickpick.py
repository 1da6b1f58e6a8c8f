"""The cheapest of many random join trees (`experiments.random_orders`)."""

from __future__ import annotations

from random import Random

from experiments.random_orders import random_joins
from optimizer.joins.costing import JoinCosting, Ordered
from optimizer.joins.cross_products import Part, join_parts, leaf_part
from optimizer.joins.graph import JoinGraph


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
        for a, b in random_joins(graph, random):
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
