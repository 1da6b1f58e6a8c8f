"""Join graphs of n relations by the names of their shapes, and how much there is to enumerate in them."""

from collections.abc import Callable
from itertools import combinations

from optimizer.joins.graph import JoinGraph

EDGES: dict[str, Callable[[int], list[tuple[int, int]]]] = {
    "chain": lambda n: [(i, i + 1) for i in range(n - 1)],
    "cycle": lambda n: EDGES["chain"](n) + ([(0, n - 1)] if n > 2 else []),
    "star": lambda n: [(0, i) for i in range(1, n)],
    "clique": lambda n: list(combinations(range(n), 2)),
}
SETS: dict[str, Callable[[int], int]] = {  # connected sets
    "chain": lambda n: n * (n + 1) // 2, "cycle": lambda n: n * n - n + 1, "star": lambda n: 2 ** (n - 1) + n - 1,
    "clique": lambda n: 2**n - 1,
}  # fmt: skip
PAIRS: dict[str, Callable[[int], int]] = {  # of connected sets that together are connected, unordered
    "chain": lambda n: (n**3 - n) // 6, "cycle": lambda n: (n**3 - 2 * n * n + n) // 2, "star": lambda n: (n - 1) * 2**n // 4,
    "clique": lambda n: (3**n - 2 ** (n + 1) + 1) // 2,
}  # fmt: skip


def chain(n: int) -> JoinGraph:
    return JoinGraph(n, EDGES["chain"](n))


def cycle(n: int) -> JoinGraph:
    """A ring; of two relations, one edge."""
    return JoinGraph(n, EDGES["cycle"](n))


def star(n: int) -> JoinGraph:
    """Relation 0 joined to each of the others."""
    return JoinGraph(n, EDGES["star"](n))


def clique(n: int) -> JoinGraph:
    return JoinGraph(n, EDGES["clique"](n))


SHAPES = {"chain": chain, "cycle": cycle, "star": star, "clique": clique}
