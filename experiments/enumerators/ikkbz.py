"""IKKBZ: the best left-deep order of acyclic graphs under C_out. `optimizer.joins.ikkbz` orders the relations."""

from optimizer.joins.costing import JoinCosting, Ordered
from optimizer.joins.cross_products import Part, cross_join
from optimizer.joins.graph import JoinGraph, JoinTree, Relations
from optimizer.joins.ikkbz import component_orders


def ikkbz(graph: JoinGraph, costing: JoinCosting) -> Ordered:
    """Left-deep join order (so far on the left, the next relation on the right), costed by `costing`.

    Optimal among left-deep orders without cross products for acyclic graphs under C_out with independent selectivities.
    Simple edges only. Each component is ordered by itself; cross products of the components come last.
    """
    parts = [left_deep(costing, order) for order in component_orders(graph, costing)]
    found = cross_join(costing, parts)
    return Ordered(found.cost, found.tree, graph.n + len(parts) - 2)


def left_deep(costing: JoinCosting, order: list[int]) -> Part:
    """The left-deep tree of an order, the first relation leftmost."""
    relations: Relations = 1 << order[0]
    cost, tree = costing.leaf(order[0]), order[0]
    joined: JoinTree = tree
    for relation in order[1:]:
        cost = cost + costing.leaf(relation) + costing.join(relations, 1 << relation)
        joined = (joined, relation)
        relations |= 1 << relation
    return Part(relations, costing.rows(relations), cost, joined)
