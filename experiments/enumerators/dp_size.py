"""DPsize: plans of s relations from plans of s1 and s - s1 relations, for s = 2, 3, …

Source: Selinger et al., SIGMOD 1979, for bushy trees as in Moerkotte and Neumann, Analysis of Two Existing and One New Dynamic
Programming Algorithm for the Generation of Optimal Bushy Join Trees without Cross Products, VLDB 2006. Every two sets of fitting
sizes are looked at, most of which overlap or are not joined.
"""

from collections.abc import Sequence

from experiments.enumerators.plan_table import Counted, PlanTable
from optimizer.joins.costing import JoinCosting
from optimizer.joins.graph import JoinGraph, Relations


def dp_size(graph: JoinGraph, costing: JoinCosting) -> Counted:
    """The cheapest bushy order without cross products. The graph is connected; edges and hyperedges."""
    table = PlanTable(graph, costing)
    by_size: list[list[Relations]] = [[], [1 << i for i in range(graph.n)]]
    inner = 0
    for size in range(2, graph.n + 1):
        found: dict[Relations, None] = {}
        for small in range(1, size // 2 + 1):
            others = by_size[size - small]
            for i, a in enumerate(by_size[small]):
                near = graph.neighbours(a)
                partners = others[i + 1 :] if 2 * small == size else others
                inner += len(partners)
                for b in partners:
                    if not a & b and (near & b or (graph.hyperedges and graph.joined(a, b))):
                        table.consider(a, b)
                        found[a | b] = None
        by_size.append(list(found))
    return table.counted(graph.all, inner)


def inner_of_dp_size(sizes: Sequence[int]) -> int:
    """The inner counter for a graph with `sizes[k]` connected sets of k relations (`sizes[0]` is 0)."""
    total = 0
    for size in range(2, len(sizes)):
        for small in range(1, size // 2 + 1):
            total += sizes[small] * (sizes[small] - 1) // 2 if 2 * small == size else sizes[small] * sizes[size - small]
    return total
