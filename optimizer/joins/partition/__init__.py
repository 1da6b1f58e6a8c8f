"""Partitioning: the ways to split a connected set of relations into two connected, joined parts.

In: a `JoinGraph` and a set. Out: every unordered split once, as the part with the lowest relation of the set; the other part
is the rest. Read `naive` for what is meant, `blocks` for what makes it fast, then `min_cut_conservative` and `min_cut_branch`.
"""

from collections.abc import Callable

from optimizer.joins.graph import JoinGraph, Relations
from optimizer.joins.partition.hypergraph import hypergraph
from optimizer.joins.partition.min_cut_branch import min_cut_branch
from optimizer.joins.partition.min_cut_conservative import min_cut_conservative

PARTITIONERS: dict[str, Callable[[JoinGraph, Relations], list[Relations]]] = {
    "branch": min_cut_branch,  # simple edges only
    "conservative": min_cut_conservative,  # simple edges only
    "hypergraph": hypergraph,
}
