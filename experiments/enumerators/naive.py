"""Generate and test: every subset with the lowest relation, kept if both sides are connected and joined. An oracle."""

from optimizer.joins.graph import JoinGraph, Relations, subsets
from optimizer.joins.partition.hypergraph import connected


def naive(graph: JoinGraph, s: Relations) -> list[Relations]:
    """The partitions of `s` into two connected, joined parts, as the part with the lowest relation. O(2^|s|) tests.

    For simple graphs and hypergraphs.
    """
    lowest = s & -s
    parts = [lowest, *(lowest | more for more in subsets(s ^ lowest))][:-1]
    return [part for part in parts if connected(graph, part) and connected(graph, s ^ part) and graph.joined(part, s ^ part)]
