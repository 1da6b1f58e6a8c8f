"""DPsub with NumPy: all sets of one size at once.

The sets of k relations are split in lock-step: the i-th subset of each, of what is left without its lowest relation, against the
rest, for i = 1 … 2^(k-1) - 1; every step is a few operations on arrays with an entry for each set. An oracle up to about 18
relations, whatever the shape of the graph.

Memory: a few arrays of 2^n entries of 8 bytes.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from optimizer.joins.costing import COutCosting, JoinCosting, Ordered
from optimizer.joins.graph import JoinGraph, JoinTree, Relations, bits
from optimizer.joins.partition.hypergraph import connected

Sets: TypeAlias = npt.NDArray[np.int64]
Costs: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

MAX_RELATIONS = 24


def dp_vectorized(graph: JoinGraph, costing: JoinCosting, *, cross_products: bool = False) -> Ordered:
    """The cheapest bushy order. Without cross products the graph is connected; edges and hyperedges; at most 24 relations.

    Fastest for C_out, where a join costs the same however its relations are split; other costings are asked for both orders of
    every split that is joined, and the oracle is as slow as they are.
    """
    assert 1 <= graph.n <= MAX_RELATIONS, f"{graph.n} relations: the table has 2^n entries, n from 1 to {MAX_RELATIONS}"
    search = _Search(graph, costing, cross_products)
    assert search.planned[graph.all], f"relations {graph.all:b} cannot be joined without a cross product"
    for size in range(2, graph.n + 1):
        search.plan_sets_of(size)
    return Ordered(float(search.best[graph.all]), search.tree(graph.all), search.costed)


class _Search:
    """`planned`: which sets have an order; `best`: the cost of the cheapest, infinite for sets that have none."""

    def __init__(self, graph: JoinGraph, costing: JoinCosting, cross_products: bool) -> None:
        self.costing = costing
        self.hyperedges = () if cross_products else graph.hyperedges
        sets: Sets = np.arange(1 << graph.n, dtype=np.int64)
        self.neighbours = _neighbours(graph, sets)
        self.planned = sets > 0 if cross_products else _connected(graph, sets, self.neighbours)
        self.best: Costs = np.full(len(sets), np.inf)
        self.best[1 << np.arange(graph.n)] = [costing.leaf(i) for i in range(graph.n)]
        self.results = _rows(costing, sets) if type(costing) is COutCosting else None  # a subclass may cost otherwise
        self.costed = 0
        self.by_size = [sets[self.planned & (np.bitwise_count(sets) == size)] for size in range(graph.n + 1)]

    def plan_sets_of(self, size: int) -> None:
        """Fill in `best` for the sets of `size` relations, those of fewer being done."""
        sets = self.by_size[size]
        if not len(sets):
            return
        lower = sets & sets - 1  # without the lowest relation, which stays on the right
        found: Costs = np.full(len(sets), np.inf)
        left = np.zeros_like(sets)
        for _ in range((1 << size - 1) - 1):
            left = left - lower & lower
            np.minimum(found, self._split(left, sets ^ left), out=found)
        self.best[sets] = found if self.results is None else found + self.results[sets]

    def _split(self, left: Sets, right: Sets) -> Costs:
        """The cost of the cheaper order of left[i] and right[i], infinite where one has no order or they are not joined; without
        the last join if that depends on the result alone."""
        costs: Costs = self.best[left] + self.best[right]
        if self.hyperedges:  # without them two connected sets that make a connected set are joined
            costs[~self._joined(left, right)] = np.inf
        joined = np.isfinite(costs)
        self.costed += 2 * int(np.count_nonzero(joined))
        if self.results is None:
            a, b = left[joined], right[joined]
            costs[joined] += np.minimum(self._join(a, b), self._join(b, a))
        return costs

    def _joined(self, left: Sets, right: Sets) -> Flags:
        joined: Flags = self.neighbours[left] & right != 0
        for u, v in self.hyperedges:
            joined |= (left & u == u) & (right & v == v) | (left & v == v) & (right & u == u)
        return joined

    def _join(self, left: Sets, right: Sets) -> Costs:
        return np.fromiter(map(self.costing.join, left.tolist(), right.tolist()), np.float64, len(left))

    def tree(self, s: Relations) -> JoinTree:
        """A tree of cost `best[s]`. Its splits are searched for once more, which saves keeping one for each set."""
        if not s & (s - 1):
            return s.bit_length() - 1
        left, right = self._cheapest_split(s)
        return self.tree(left), self.tree(right)

    def _cheapest_split(self, s: Relations) -> tuple[Relations, Relations]:
        parts: Sets = np.zeros(1, np.int64)
        for relation in bits(s & s - 1):
            parts = np.concatenate([parts, parts | relation])
        parts = parts[1:]
        parts = parts[self.planned[parts] & self.planned[s ^ parts]]
        if self.hyperedges:
            parts = parts[self._joined(parts, s ^ parts)]
        costed = self.costed
        left = int(parts[np.argmin(self._split(parts, s ^ parts))])
        self.costed = costed
        right = s ^ left
        if self.results is None and self._join(*_pair(right, left))[0] < self._join(*_pair(left, right))[0]:
            return right, left
        return left, right


def _pair(left: Relations, right: Relations) -> tuple[Sets, Sets]:
    return np.array([left], np.int64), np.array([right], np.int64)


def _neighbours(graph: JoinGraph, sets: Sets) -> Sets:
    """Of each set the relations with a simple edge to it, of which some may be its own."""
    neighbours = np.zeros_like(sets)
    for i in range(graph.n):
        neighbours[1 << i : 2 << i] = neighbours[: 1 << i] | graph.adjacency[i]
    return neighbours


def _connected(graph: JoinGraph, sets: Sets, neighbours: Sets) -> Flags:
    """Which sets are connected: by simple edges, those where some relation is next to the rest, and the rest is connected."""
    if graph.hyperedges:
        return np.fromiter((bool(s) and connected(graph, s) for s in range(len(sets))), np.bool_, len(sets))
    found: Flags = np.zeros(len(sets), np.bool_)
    found[1 << np.arange(graph.n)] = True
    sizes = np.bitwise_count(sets)
    for size in range(2, graph.n + 1):
        layer = sets[sizes == size]
        for i in range(graph.n):
            rest = layer & ~(1 << i)
            found[layer] |= (rest != layer) & found[rest] & (neighbours[rest] >> i & 1 == 1)
    return found


def _rows(costing: COutCosting, sets: Sets) -> Costs:
    """`costing.rows` of each set, multiplied in the same order, so that the figures are the same to the last bit."""
    rows = np.ones(len(sets))
    with np.errstate(over="ignore"):
        for i, cardinality in enumerate(costing.cardinalities):
            with_i = sets >> i & 1 == 1
            rows[with_i] *= cardinality
            for lower, share in costing.to_lower[i]:
                rows[with_i & (sets & lower != 0)] *= share
    return rows
