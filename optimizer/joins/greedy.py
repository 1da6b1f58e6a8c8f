"""Greedy operator ordering: join the two trees whose result is smallest, until one tree is left.

Fegaras, A New Heuristic for Optimizing Large Queries, DEXA 1998. Gives bushy trees without cross products. Equal results go to
the pair with the smaller inputs, then to the pair with the lowest relations, so the order depends on nothing but figures
and numbers of relations.

A join changes the candidates of the joined tree only. They go to a heap, those they replace are dropped when they come up. That
makes at most n² calls of `rows` on a clique, n²/2 on a star, fewer than 3n on a chain, and as many heap operations.
"""

from heapq import heappop, heappush

from optimizer.joins.costing import JoinCosting, Ordered
from optimizer.joins.cross_products import Part, cross_join, join_parts, leaf_part
from optimizer.joins.graph import JoinGraph, Relations, bits


def greedy(graph: JoinGraph, costing: JoinCosting) -> Ordered:
    """GOO's join order of the whole graph; of each join the cheaper orientation.

    Parts of the graph that nothing links are joined last, as in `cross_join`. Simple edges only.
    """
    assert graph.n, "a join order of no relations"
    found = _Forest(graph, costing).grow()
    return Ordered(found.cost, found.tree, 2 * (graph.n - 1))


class _Forest:
    """The trees built so far, each in the slot of its lowest relation.

    `near`: slots that an edge leads to, by slot. `heap`: candidates as (rows, rows of the inputs, slot, slot, relations); one is
    out of date when its slots do not hold just its relations.
    """

    def __init__(self, graph: JoinGraph, costing: JoinCosting) -> None:
        self.costing = costing
        self.parts: dict[int, Part] = {i: leaf_part(costing, i) for i in range(graph.n)}
        self.near: list[Relations] = list(graph.adjacency)
        self.heap: list[tuple[float, float, int, int, Relations]] = []
        for i in range(graph.n):
            self._offer(i, self.near[i] >> i + 1 << i + 1)

    def grow(self) -> Part:
        """Join all into one tree."""
        heap, parts = self.heap, self.parts
        while heap:
            _, _, a, b, union = heappop(heap)
            if a in parts and b in parts and parts[a].relations | parts[b].relations == union:
                self._join(a, b)
        return cross_join(self.costing, parts.values())

    def _join(self, a: int, b: int) -> None:
        """Put the join of the trees in slots a < b into slot a, with its candidates."""
        near = self.near
        self.parts[a] = join_parts(self.costing, self.parts[a], self.parts.pop(b))
        here, gone = 1 << a, 1 << b
        for low in bits(near[b]):
            c = low.bit_length() - 1
            near[c] = near[c] & ~gone | here
        near[a] = (near[a] | near[b]) & ~(here | gone)
        near[b] = 0
        self._offer(a, near[a])

    def _offer(self, a: int, others: Relations) -> None:
        """Make candidates of the tree in slot a and those in the slots `others`."""
        rows, heap, parts = self.costing.rows, self.heap, self.parts
        part = parts[a]
        relations, size = part.relations, part.rows
        while others:
            low = others & -others
            others ^= low
            c = low.bit_length() - 1
            other = parts[c]
            union = relations | other.relations
            heappush(heap, (rows(union), size + other.rows, *((a, c) if a < c else (c, a)), union))
