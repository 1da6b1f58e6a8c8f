"""DPsub: for every set of relations, in increasing order of the number that represents it, every split into two.

Source: Vance and Maier, Rapid Bushy Join-Order Optimization with Cartesian Products, SIGMOD 1996; without cross products as in
Moerkotte and Neumann, VLDB 2006.
"""

from collections.abc import Sequence

from experiments.enumerators.plan_table import Counted, PlanTable
from optimizer.joins.costing import JoinCosting
from optimizer.joins.graph import JoinGraph, subsets
from optimizer.joins.partition.hypergraph import connected


def dp_sub(graph: JoinGraph, costing: JoinCosting, *, cross_products: bool = False) -> Counted:
    """The cheapest bushy order; O(3^n). Without cross products the graph is connected; edges and hyperedges."""
    table = PlanTable(graph, costing)
    planned = table.cost
    join = costing.join
    inner = 0
    for s in range(1, graph.all + 1):
        if not s & (s - 1) or not (cross_products or connected(graph, s)):
            continue
        inner += (1 << s.bit_count()) - 2
        for a in subsets(s):
            b = s ^ a
            if b and a in planned and b in planned and (cross_products or graph.joined(a, b)):
                table.costed += 1
                table.keep(planned[a] + planned[b] + join(a, b), a, b)
    return table.counted(graph.all, inner)


def inner_of_dp_sub(sizes: Sequence[int]) -> int:
    """The inner counter for a graph with `sizes[k]` connected sets of k relations (`sizes[0]` is 0)."""
    return sum(number * ((1 << size) - 2) for size, number in enumerate(sizes) if size)
