"""Connected sets, pairs and best trees straight from their definitions, and random graphs and costings to try them on.

Nothing here is fast, and nothing of `optimizer.joins` is used but the graph's own data.
"""

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from random import Random

from optimizer.joins.costing import JoinCosting
from optimizer.joins.graph import JoinGraph, JoinTree, Relations


def parts(s: Relations) -> Iterator[Relations]:
    """What is in `s`, but not all of it, ascending."""
    part = s & -s
    while part != s:
        yield part
        part = (part - s) & s


class Definition:
    """A set is connected if it is one relation, or two disjoint connected sets that an edge joins."""

    def __init__(self, graph: JoinGraph) -> None:
        self.n = graph.n
        self.edges = [(1 << i, 1 << j) for i in range(graph.n) for j in range(graph.n) if graph.adjacency[i] >> j & 1]
        self.edges += [*graph.hyperedges, *((v, u) for u, v in graph.hyperedges)]
        self.connected: set[Relations] = set()
        for s in range(1, 1 << graph.n):
            if s & (s - 1) == 0 or self.pairs(s):
                self.connected.add(s)

    def joined(self, a: Relations, b: Relations) -> bool:
        return any(u & a == u and v & b == v for u, v in self.edges)

    def pairs(self, s: Relations) -> list[Relations]:
        """The partitions of `s`, as the part with the lowest relation, ascending."""
        lowest = s & -s
        return [a for a in parts(s) if a & lowest and a in self.connected and s ^ a in self.connected and self.joined(a, s ^ a)]

    def best(self, costing: JoinCosting, left_deep: bool = False, cross_products: bool = False) -> float:
        """The cost of the cheapest order of all relations."""

        @cache
        def of(s: Relations) -> float:
            if s & (s - 1) == 0:
                return costing.leaf(s.bit_length() - 1)
            allowed = (
                a
                for a in parts(s)
                if not (left_deep and (s ^ a) & ((s ^ a) - 1))
                and (cross_products or (self.joined(a, s ^ a) and a in possible and s ^ a in possible))
            )
            return min(of(a) + of(s ^ a) + costing.join(a, s ^ a) for a in allowed)

        possible = self._left_deep() if left_deep else self.connected
        return of((1 << self.n) - 1)

    def _left_deep(self) -> set[Relations]:
        """The sets that some left-deep order without cross products joins."""
        found = {1 << i for i in range(self.n)}
        for s in range(1, 1 << self.n):
            if any(s >> i & 1 and s ^ 1 << i in found and self.joined(s ^ 1 << i, 1 << i) for i in range(self.n)):
                found.add(s)
        return found


class RandomCosting:
    """Any figure for any join: the order of the inputs matters, and no plan is cheap for a reason."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def rows(self, s: Relations) -> float:
        return 1 + 1e6 * Random(f"{self.seed} rows {s}").random()

    def leaf(self, relation: int) -> float:
        return Random(f"{self.seed} leaf {relation}").random()

    def join(self, left: Relations, right: Relations) -> float:
        return Random(f"{self.seed} {left} {right}").random()


def connected_graphs(n: int) -> Iterator[JoinGraph]:
    """Every connected graph of the relations 0 … n - 1."""
    pairs = list(combinations(range(n), 2))
    for chosen in range(1 << len(pairs)):
        if chosen.bit_count() >= n - 1:
            graph = JoinGraph(n, [pair for i, pair in enumerate(pairs) if chosen >> i & 1])
            if graph.connected(graph.all):
                yield graph


def random_hypergraph(n: int, random: Random) -> JoinGraph:
    """Some simple edges and some hyperedges; connected or not."""
    share = random.choice((0.1, 0.3))
    simple = [pair for pair in combinations(range(n), 2) if random.random() < share]
    wide = []
    for _ in range(random.randint(1, 8)):
        members = random.sample(range(n), random.randint(2, random.choice((3, n)) if n > 2 else 2))
        cut = random.randint(1, len(members) - 1)
        wide.append((sum(1 << i for i in members[:cut]), sum(1 << i for i in members[cut:])))
    return JoinGraph(n, simple, wide)


def cost_of(tree: JoinTree, costing: JoinCosting) -> tuple[float, Relations]:
    """The cost of a tree, added up from below, and its relations."""
    if isinstance(tree, int):
        return costing.leaf(tree), 1 << tree
    (left, a), (right, b) = (cost_of(part, costing) for part in tree)
    assert not a & b, f"a relation occurs twice in {tree}"
    return left + right + costing.join(a, b), a | b


def grid(rows: int, columns: int) -> JoinGraph:
    right = [(r * columns + c, r * columns + c + 1) for r in range(rows) for c in range(columns - 1)]
    down = [(r * columns + c, (r + 1) * columns + c) for r in range(rows - 1) for c in range(columns)]
    return JoinGraph(rows * columns, right + down)


def random_graph(n: int, extra_edges: int, seed: int) -> JoinGraph:
    """A random tree with up to `extra_edges` more edges: connected."""
    random = Random(seed)
    edges = {(random.randrange(i), i) for i in range(1, n)}
    missing = [(i, j) for i in range(n) for j in range(i + 1, n) if (i, j) not in edges]
    edges.update(random.sample(missing, min(extra_edges, len(missing))))
    return JoinGraph(n, sorted(edges))
