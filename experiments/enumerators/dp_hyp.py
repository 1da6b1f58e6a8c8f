"""DPhyp: DPccp for graphs with hyperedges.

Source: Moerkotte and Neumann, Dynamic Programming Strikes Back, SIGMOD 2008. A hyperedge whose one end lies in a set makes the
lowest relation of its other end a neighbour, which stands for that whole end. What grows from neighbours need not be connected:
it counts once it has a plan, which the order of enumeration makes sure of. While the complement grows from one neighbour, the
lower neighbours are excluded.
"""

from collections.abc import Iterator

from experiments.enumerators.plan_table import PlanTable
from optimizer.joins.costing import JoinCosting, Ordered
from optimizer.joins.graph import JoinGraph, Relations, subsets


def dp_hyp(graph: JoinGraph, costing: JoinCosting) -> Ordered:
    """The cheapest bushy order without cross products. The graph is connected, by edges or hyperedges."""
    table = PlanTable(graph, costing)
    for a, b in hyper_pairs(graph):
        table.consider(a, b)
    return table.ordered(graph.all)


def hyper_pairs(graph: JoinGraph) -> Iterator[tuple[Relations, Relations]]:
    """Every unordered pair of disjoint, connected sets joined by an edge or hyperedge, once.

    A pair comes after the pairs that make its two sets.
    """
    return _Enumeration(graph).pairs()


class _Enumeration:
    """`planned`: the sets that are a relation or the union of a pair given out."""

    def __init__(self, graph: JoinGraph) -> None:
        self.graph = graph
        self.hyperedges = [*graph.hyperedges, *((v, u) for u, v in graph.hyperedges)]
        self.planned = {1 << i for i in range(graph.n)}

    def pairs(self) -> Iterator[tuple[Relations, Relations]]:
        for i in reversed(range(self.graph.n)):
            for s in self._planned_supersets(1 << i, (1 << i) - 1):
                for complement in self._complements(s):
                    self.planned.add(s | complement)
                    yield s, complement

    def _complements(self, s: Relations) -> Iterator[Relations]:
        """Planned sets above the lowest relation of `s` that are joined with `s`."""
        below = (s & -s) * 2 - 1
        rest = self._neighbours(s, below)
        while rest:
            v = 1 << rest.bit_length() - 1  # highest first
            rest ^= v
            for complement in self._planned_supersets(v, below | s | rest):
                if self.graph.joined(s, complement):
                    yield complement

    def _planned_supersets(self, start: Relations, excluded: Relations) -> Iterator[Relations]:
        """`start`, and the sets with a plan that grow from it by neighbours not `excluded`. Subsets first; does not recurse."""
        yield start
        pending = []
        s = start
        while True:
            near = self._neighbours(s, excluded)
            if near:
                for more in subsets(near):
                    if s | more in self.planned:
                        yield s | more
                pending.append((s, near, excluded | near, 0))
            while pending:
                grown, near, excluded, last = pending.pop()
                more = (last - near) & near
                if more:
                    pending.append((grown, near, excluded, more))
                    s = grown | more
                    break
            else:
                return

    def _neighbours(self, s: Relations, excluded: Relations) -> Relations:
        """Relations next to `s`, and the lowest of each end that a hyperedge leads to; ends that contain another are left out."""
        excluded |= s
        near = self.graph.neighbours(s) & ~excluded
        ends = {v for u, v in self.hyperedges if not u & ~s and not v & (excluded | near)}
        for end in ends:
            if not any(other != end and not other & ~end for other in ends):
                near |= end & -end
        return near
