"""Random figures for join graphs, and costings that are quick on a hundred relations."""

from math import exp, log
from random import Random

import numpy

from optimizer.joins.costing import COutCosting, JoinCosting
from optimizer.joins.graph import JoinGraph, JoinTree, Relations, joins_of, relations_of


def random_c_out(graph: JoinGraph, random: Random, degenerate: bool = False) -> COutCosting:
    """1 to 100,000 rows, selectivities 1e-5 to 1; `degenerate`: also empty relations, single rows, selectivities 0 and 1."""

    def pick(usual: float, unusual: list[float]) -> float:
        return random.choice(unusual) if degenerate and random.random() < 0.3 else usual

    rows = [pick(float(round(10 ** random.uniform(0, 5))), [0.0, 1.0, 1.0]) for _ in range(graph.n)]
    return COutCosting(rows, {edge: pick(10 ** random.uniform(-5, 0), [0.0, 1.0, 1.0]) for edge in graph.edges()})


class FastCOut:
    """C_out with independent selectivities, as COutCosting up to rounding; microseconds for a set of a hundred relations."""

    def __init__(self, model: COutCosting) -> None:
        n = len(model.cardinalities)
        self.logs = numpy.log(model.cardinalities)
        self.shares = numpy.zeros((n, n))
        for (i, j), share in model.selectivity.items():
            self.shares[i, j] = log(share)
        self.n, self.known = n, dict[Relations, float]()

    def rows(self, s: Relations) -> float:
        known = self.known.get(s)
        if known is None:
            packed = numpy.frombuffer(s.to_bytes((self.n + 7) // 8, "little"), dtype=numpy.uint8)
            mask = numpy.unpackbits(packed, count=self.n, bitorder="little").astype(float)
            known = self.known[s] = exp(min(700.0, float(mask @ (self.logs + self.shares @ mask))))
        return known

    def leaf(self, relation: int) -> float:
        return 0.0

    def join(self, left: Relations, right: Relations) -> float:
        return self.rows(left | right)


class HashJoinCosting:
    """A costing with two orientations: the right input is built and costs more than the left. Reading a leaf costs its rows."""

    def __init__(self, model: JoinCosting) -> None:
        self.rows = model.rows

    def leaf(self, relation: int) -> float:
        return self.rows(1 << relation)

    def join(self, left: Relations, right: Relations) -> float:
        return self.rows(left) + 3 * self.rows(right) + self.rows(left | right)


def check_tree(tree: JoinTree, graph: JoinGraph, crossed: int = 0) -> None:
    """Every relation once, and no more than `crossed` joins without an edge."""
    joins = joins_of(tree)
    assert len(joins) == graph.n - 1 and relations_of(tree) == graph.all
    assert all(not left & right for left, right in joins)
    assert sum(not graph.joined(left, right) for left, right in joins) == crossed
