"""Linearized DP: the best bushy tree whose inputs are neighbours in the order of IKKBZ, in O(n³).

Neumann and Radke, Adaptive Optimization of Very Large Join Queries, SIGMOD 2018. A tree is found if each of its subtrees takes an
interval of the order. The left-deep tree of the order is among these, so the result is never dearer than IKKBZ's.
"""

from __future__ import annotations

from optimizer.joins.costing import JoinCosting, Ordered
from optimizer.joins.cross_products import Part, cross_join
from optimizer.joins.graph import JoinGraph, JoinTree, Relations, rebuilt
from optimizer.joins.ikkbz import component_orders


def linearized(graph: JoinGraph, costing: JoinCosting) -> Ordered:
    """Bushy join order without cross products, both orientations of each join costed with `costing`.

    Simple edges only. Each component is ordered by itself; cross products of the components come last. Costs of joins must
    not be negative: a split is not costed if its inputs alone cost as much as the best split so far.
    """
    parts = []
    pairs = 0
    for order in component_orders(graph, costing):
        part, costed = best_of_intervals(graph, costing, order)
        parts.append(part)
        pairs += costed
    found = cross_join(costing, parts)
    return Ordered(found.cost, found.tree, pairs + 2 * (len(parts) - 1))


def best_of_intervals(graph: JoinGraph, costing: JoinCosting, order: list[int]) -> tuple[Part, int]:
    """The cheapest tree over intervals of an order, every prefix of which is connected; and how many joins were costed.

    An interval gets a plan if it splits into two that have one and an edge between them. Then it is connected, and an edge
    leads across its other splits too; if the first split in question has none, the interval is not connected. So
    one look for an edge is enough for all splits of an interval.
    """
    n = len(order)
    join = costing.join
    cost = [[0.0] * n for _ in range(n)]
    sets: list[list[Relations]] = [[0] * n for _ in range(n)]
    splits = [[0] * n for _ in range(n)]  # last position of the left part; its complement where the parts are swapped
    starts = [0] * n  # by last position: where the planned intervals start, as bits
    pairs = 0
    for i in range(n - 1, -1, -1):
        near = graph.adjacency[order[i]]
        relations = 1 << order[i]
        row, row_sets, row_splits = cost[i], sets[i], splits[i]
        row[i], row_sets[i] = costing.leaf(order[i]), relations
        starts[i] |= 1 << i
        near_of = {i: near}
        ends = 1 << i  # last positions of the planned intervals that start at i
        for j in range(i + 1, n):
            near |= graph.adjacency[order[j]]
            relations |= 1 << order[j]
            rest = ends & starts[j] >> 1
            if not rest:
                continue
            k = (rest & -rest).bit_length() - 1
            if not near_of[k] & sets[k + 1][j]:
                continue
            best, split = -1.0, 0
            while rest:
                low = rest & -rest
                rest ^= low
                k = low.bit_length() - 1
                inputs = row[k] + cost[k + 1][j]
                if inputs >= best >= 0:
                    continue
                left, right = row_sets[k], sets[k + 1][j]
                pairs += 2
                total = inputs + join(left, right)
                if total < best or best < 0:
                    best, split = total, k
                total = inputs + join(right, left)
                if total < best:
                    best, split = total, ~k
            row[j], row_sets[j], row_splits[j] = best, relations, split
            near_of[j] = near
            ends |= 1 << j
            starts[j] |= 1 << i
    assert starts[-1] & 1, f"the order {order} is not one of connected prefixes"
    return Part(sets[0][-1], costing.rows(sets[0][-1]), cost[0][-1], _tree(order, splits)), pairs


def _tree(order: list[int], splits: list[list[int]]) -> JoinTree:
    """The tree of the whole order, inputs made before the joins that use them."""

    def parts(interval: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]] | None:
        i, j = interval
        if i == j:
            return None
        split = splits[i][j]
        k = split if split >= 0 else ~split
        return ((i, k), (k + 1, j)) if split >= 0 else ((k + 1, j), (i, k))

    return rebuilt((0, len(order) - 1), parts, lambda one: order[one[0]])
