"""Connected sets and partitions of graphs with hyperedges.

A set is connected if it is one relation, or if two connected parts of it are joined: by an edge, or by a hyperedge that has
one end in one part and the other end in the other. It is found out by merging connected sets as long as two of them
are joined. The order does not matter: let S = A ∪ B be a smallest connected set left in pieces. A and B, being smaller, each lie
in one piece, and what joins them joins these two pieces, which therefore are one.

Partitions: every hyperedge that lies in S stands for a simple edge between the lowest relations of its ends. What is connected
with the hyperedge is connected with the simple edge, so the partitions of this simple graph, the skeleton of S, include those
of S. Those with a part that is not connected are dropped. Two connected parts of a connected set are always joined: merging
within them first leaves two pieces, and these are merged.

Source of the idea: Fender and Moerkotte, Top Down Plan Generation: From Theory to Practice, ICDE 2013.
"""

from collections.abc import Sequence

from optimizer.joins.graph import JoinGraph, Relations
from optimizer.joins.partition.blocks import by_blocks
from optimizer.joins.partition.min_cut_conservative import conservative


def connected(graph: JoinGraph, s: Relations) -> bool:
    """Whether `s` can be joined without a cross product, by edges and hyperedges."""
    if not graph.hyperedges:
        return graph.connected(s)
    known = graph.connectivity.get(s)
    if known is None:
        known = graph.connectivity[s] = _merged(graph, s)
    return known


def hypergraph(graph: JoinGraph, s: Relations) -> list[Relations]:
    """The partitions of the connected set `s` into two connected, joined parts, each once, as the part with the lowest relation.

    The other part is `s ^ part`. A single relation has no partition. Where many hyperedges have ends of several relations,
    candidates may outnumber partitions.
    """
    if not graph.hyperedges:
        return by_blocks(graph, s, conservative)
    active = tuple([(u, v) for u, v in graph.hyperedges if not (u | v) & ~s])
    simple = graph.skeletons.get(active)
    if simple is None:
        simple = graph.skeletons[active] = skeleton(graph, active)
    candidates = by_blocks(simple, s, conservative)
    known = graph.connectivity
    parts = []
    for part in candidates:
        if (found := known.get(part)) is None:
            found = connected(graph, part)
        if found:
            if (found := known.get(s ^ part)) is None:
                found = connected(graph, s ^ part)
            if found:
                parts.append(part)
    return parts


def skeleton(graph: JoinGraph, hyperedges: Sequence[tuple[Relations, Relations]]) -> JoinGraph:
    """The simple graph of its edges and of those that stand for some of its hyperedges."""
    return JoinGraph(graph.n, graph.edges(), [(u & -u, v & -v) for u, v in hyperedges])


def _merged(graph: JoinGraph, s: Relations) -> bool:
    """Whether merging along edges, then along hyperedges, leaves one piece of `s`."""
    pieces = graph.components(s)
    waiting = [(u, v) for u, v in graph.hyperedges if not (u | v) & ~s]
    progress = True
    while progress and len(pieces) > 1:
        progress = False
        for u, v in waiting:
            left = next((piece for piece in pieces if not u & ~piece), 0)
            right = next((piece for piece in pieces if not v & ~piece), 0)
            if left and right and left != right:
                pieces = [piece for piece in pieces if piece not in (left, right)]
                pieces.append(left | right)
                progress = True
    return len(pieces) == 1
