"""DPccp: the pairs of connected, joined sets themselves, in an order in which both have plans already.

Source: Moerkotte and Neumann, VLDB 2006. For every connected set, growing from its lowest relation, the connected complements
that are next to it and lie above that relation.
"""

from collections.abc import Iterator

from experiments.enumerators.plan_table import PlanTable
from optimizer.joins.costing import JoinCosting, Ordered
from optimizer.joins.csg import supersets
from optimizer.joins.graph import JoinGraph, Relations


def dp_ccp(graph: JoinGraph, costing: JoinCosting) -> Ordered:
    """The cheapest bushy order without cross products. The graph is connected and has simple edges only."""
    table = PlanTable(graph, costing)
    for a, b in pairs(graph):
        table.consider(a, b)
    return table.ordered(graph.all)


def pairs(graph: JoinGraph) -> Iterator[tuple[Relations, Relations]]:
    """Every unordered pair of disjoint, connected sets with an edge between them, once. Simple edges only.

    A pair comes after the pairs that make its two sets.
    """
    assert not graph.hyperedges, "DPccp knows simple edges only: DPhyp is for hyperedges"
    for i in reversed(range(graph.n)):
        yield from _with_complements(graph, 1 << i)
        for s in supersets(graph, 1 << i, (1 << i) - 1):
            yield from _with_complements(graph, s)


def _with_complements(graph: JoinGraph, s: Relations) -> Iterator[tuple[Relations, Relations]]:
    below = (s & -s) * 2 - 1
    near = graph.neighbours(s) & ~below
    rest = near
    while rest:
        v = 1 << rest.bit_length() - 1  # highest first
        rest ^= v
        yield s, v
        excluded = below | s | rest  # `rest`: the lower neighbours grow on their own
        if graph.adjacency[v.bit_length() - 1] & ~excluded:
            for complement in supersets(graph, v, excluded):
                yield s, complement
