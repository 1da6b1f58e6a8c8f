"""Left-deep orders by dynamic programming: the right input of every join is a single relation.

Source: Selinger et al., Access Path Selection in a Relational Database Management System, SIGMOD 1979.
"""

from experiments.enumerators.plan_table import PlanTable
from optimizer.joins.costing import JoinCosting, Ordered
from optimizer.joins.graph import JoinGraph, Relations, bits


def dp_left_deep(graph: JoinGraph, costing: JoinCosting, *, cross_products: bool = False) -> Ordered:
    """The cheapest left-deep order. Without cross products some left-deep order has to join all relations of the graph.

    One step for each connected set and relation next to it; with cross products n·2^(n-1) steps. Hyperedges can make a graph
    connected that no left-deep order joins.
    """
    table = PlanTable(graph, costing)
    layer: dict[Relations, None] = {1 << i: None for i in range(graph.n)}
    for _ in range(graph.n - 1):
        larger: dict[Relations, None] = {}
        for s in layer:
            for v in bits(graph.all ^ s if cross_products else _next_to(graph, s)):
                table.costed += 1
                table.keep(table.cost[s] + table.cost[v] + costing.join(s, v), s, v)
                larger[s | v] = None
        layer = larger
    return table.ordered(graph.all)


def _next_to(graph: JoinGraph, s: Relations) -> Relations:
    """The single relations joined with `s`."""
    near = graph.neighbours(s)
    for u, v in graph.hyperedges:
        if not u & ~s and not v & (v - 1):
            near |= v
        if not v & ~s and not u & (u - 1):
            near |= u
    return near & ~s
