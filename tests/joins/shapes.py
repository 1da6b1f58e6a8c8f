"""Join graphs of n relations by the names of their shapes."""

from optimizer.joins.graph import JoinGraph


def chain(n: int) -> JoinGraph:
    return JoinGraph(n, [(i, i + 1) for i in range(n - 1)])


def cycle(n: int) -> JoinGraph:
    """A ring; of two relations, one edge."""
    return JoinGraph(n, [(i, (i + 1) % n) for i in range(n)] if n > 2 else [(i, i + 1) for i in range(n - 1)])


def star(n: int) -> JoinGraph:
    """Relation 0 joined to each of the others."""
    return JoinGraph(n, [(0, i) for i in range(1, n)])


def clique(n: int) -> JoinGraph:
    return JoinGraph(n, [(i, j) for i in range(n) for j in range(i + 1, n)])


SHAPES = {"chain": chain, "cycle": cycle, "star": star, "clique": clique}
