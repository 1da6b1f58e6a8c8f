"""IKKBZ: the best left-deep order of an acyclic join graph, in O(n² log n).

Ibaraki and Kameda, TODS 1984; Krishnamurthy, Boral and Zaniolo, VLDB 1986.

With its first relation given, the edges of a tree say which relation has to come before which. A relation multiplies the rows
before it by T (its selectivity to its parent times its rows), and C_out makes its cost C = T times those rows; for a
sequence, C(UV) = C(U) + T(U)·C(V) and T(UV) = T(U)·T(V). Then UV costs no more than VU exactly if
rank(U) = (T(U) - 1) / C(U) is not above rank(V) (the adjacent sequence interchange property), and sorting by rank is optimal
wherever the tree allows it; where a relation ranks above one that must follow it, the two are glued into one module.

Logarithms hold C and T, so that no product of a hundred selectivities overflows or vanishes, and a rank is a sign with a
logarithm: empty relations and T = 1 need no cases of their own.

A cyclic graph is ordered along a spanning tree of its most selective edges. C_out with all its edges then decides between the n
orders, one for each first relation. That is a heuristic, as is the order for a costing other than C_out.
"""

from __future__ import annotations

from math import exp, expm1, inf, log, log1p
from operator import attrgetter
from sys import float_info
from typing import NamedTuple

import numpy

from optimizer.joins.costing import JoinCosting
from optimizer.joins.graph import JoinGraph, Relations, bits

Rank = tuple[int, float]


class _Module(NamedTuple):
    """Relations that stay together. `log_c`, `log_t`: logarithms of its C and T, -inf for zero."""

    rank: Rank
    log_c: float
    log_t: float
    relations: tuple[int, ...]


def component_orders(graph: JoinGraph, costing: JoinCosting) -> list[list[int]]:
    """One order for each component, by lowest relation. Every prefix of an order is connected."""
    assert graph.n, "a join order of no relations"
    assert not graph.hyperedges, f"IKKBZ orders simple edges only, the graph has {len(graph.hyperedges)} hyperedges"
    rows = [_log(costing.rows(1 << i)) for i in range(graph.n)]
    selectivity = {}
    for u, v in graph.edges():
        both = rows[u] + rows[v]
        selectivity[u, v] = _log(costing.rows(1 << u | 1 << v)) - both if both > -inf else 0.0
    tree = _spanning_tree(graph.n, selectivity)
    full = numpy.zeros((graph.n, graph.n))
    for (u, v), share in selectivity.items():
        full[u, v] = full[v, u] = share
    sizes = numpy.array(rows)
    chains = _chains(tree, rows, selectivity)
    found = []
    for component in graph.components(graph.all):
        roots = [low.bit_length() - 1 for low in bits(component)]
        orders = [[root, *_flat(_merged([chains[child, root] for child in tree[root]]))] for root in roots]
        found.append(min(orders, key=lambda order: _log_c_out(order, sizes, full)))
    return found


def _spanning_tree(n: int, selectivity: dict[tuple[int, int], float]) -> list[list[int]]:
    """Neighbours in a spanning forest of the most selective edges (Kruskal); ties go to the lower relations."""
    group: list[Relations] = [1 << i for i in range(n)]
    tree: list[list[int]] = [[] for _ in range(n)]
    for u, v in sorted(selectivity, key=lambda edge: (selectivity[edge], edge)):
        if not group[u] >> v & 1:
            union = group[u] | group[v]
            for low in bits(union):
                group[low.bit_length() - 1] = union
            tree[u].append(v)
            tree[v].append(u)
    return tree


def _chains(
    tree: list[list[int]], rows: list[float], selectivity: dict[tuple[int, int], float]
) -> dict[tuple[int, int], tuple[_Module, ...]]:
    """By (v, parent): the modules of the subtree of v seen from that neighbour, by ascending rank, v in the first.

    There are 2(n - 1) of them, and the n possible first relations share them. Those towards the lowest relation of a component
    are made from the leaves up, the others then from there down.
    """
    chains: dict[tuple[int, int], tuple[_Module, ...]] = {}

    def make(v: int, parent: int) -> None:
        log_t = selectivity[min(v, parent), max(v, parent)] + rows[v]
        current = _Module(_rank(log_t, log_t), log_t, log_t, (v,))
        following = _merged([chains[child, v] for child in tree[v] if child != parent])
        glued = 0
        while glued < len(following) and current.rank > following[glued].rank:
            current = _glue(current, following[glued])
            glued += 1
        chains[v, parent] = (current, *following[glued:])

    down = [(child, parent) for parent, child in _parents_first(tree)]
    for v, parent in reversed(down):
        make(v, parent)
    for v, parent in down:
        make(parent, v)
    return chains


def _parents_first(tree: list[list[int]]) -> list[tuple[int, int]]:
    """(parent, child) pairs of a forest, parents first, each tree from its lowest relation."""
    pairs: list[tuple[int, int]] = []
    seen = [False] * len(tree)
    for root in range(len(tree)):
        stack = [] if seen[root] else [root]
        seen[root] = True
        while stack:
            parent = stack.pop()
            for child in tree[parent]:
                if not seen[child]:
                    seen[child] = True
                    pairs.append((parent, child))
                    stack.append(child)
    return pairs


def _merged(chains: list[tuple[_Module, ...]]) -> list[_Module]:
    """Chains of ascending rank as one; the sort is stable, so equal ranks keep the order within their chain."""
    return sorted((module for chain in chains for module in chain), key=attrgetter("rank"))


def _flat(modules: list[_Module]) -> list[int]:
    return [relation for module in modules for relation in module.relations]


def _glue(first: _Module, second: _Module) -> _Module:
    later = first.log_t + second.log_c
    high, low = (first.log_c, later) if first.log_c > later else (later, first.log_c)
    log_c = high + log1p(exp(low - high)) if high > -inf else -inf
    log_t = first.log_t + second.log_t
    return _Module(_rank(log_c, log_t), log_c, log_t, first.relations + second.relations)


def _rank(log_c: float, log_t: float) -> Rank:
    """(T - 1) / C as its sign and the logarithm of its size, negated where the sign is, so that pairs compare as ranks do.

    C = 0 only if T = 0 (nothing comes out, and for nothing): the lowest rank.
    """
    if log_t > 0:
        return 1, log_t + log(-expm1(-log_t)) - log_c
    if log_t == 0:
        return 0, 0.0
    return -1, log_c - log(-expm1(log_t))


def _log_c_out(order: list[int], rows: numpy.ndarray, selectivity: numpy.ndarray) -> float:
    """log C_out of a left-deep order, all edges counted. `rows` and `selectivity` are logarithms, 0 where there is no edge."""
    if len(order) == 1:
        return -inf
    placed = selectivity[numpy.ix_(order, order)]
    steps = rows[order] + numpy.tril(placed, -1).sum(axis=1)
    return float(numpy.logaddexp.reduce(numpy.cumsum(steps)[1:]))


def _log(rows: float) -> float:
    return log(min(rows, float_info.max)) if rows > 0 else -inf
