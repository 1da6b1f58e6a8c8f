"""MinCutConservative: partitions by growing a connected set so that the rest stays connected.

Source: Fender, Moerkotte, Neumann and Leis, Effective and Robust Pruning for Top-Down Join Enumeration Algorithms, ICDE 2012.

A connected set grows from the lowest relation t. Where adding a neighbour v splits the rest into several regions, all of
them but one join the set at once, for each region that may remain; so every set that is reached is a part, and nothing is
tried in vain. A neighbour already dealt with is barred from what grows later: it has to stay in the rest.
"""

from optimizer.joins.graph import JoinGraph, Relations
from optimizer.joins.partition.blocks import by_blocks


def min_cut_conservative(graph: JoinGraph, s: Relations) -> list[Relations]:
    """The partitions of `s`, as `by_blocks` gives them. Simple edges only (`hypergraph` for hyperedges)."""
    return by_blocks(graph, s, conservative)


def conservative(adjacency: tuple[Relations, ...], s: Relations) -> list[Relations]:
    """The partitions of `s`, connected by `adjacency`, without regard to blocks. Does not recurse."""
    t = s & -s
    if s == t:
        return []
    parts: list[Relations] = []
    touched = adjacency[t.bit_length() - 1]
    pending = [(s ^ region, touched, 0) for region in _regions(adjacency, s ^ t, touched & s)]
    while pending:
        part, touched, barred = pending.pop()
        parts.append(part)
        rest = s ^ part
        if not rest & (rest - 1):
            continue
        free = touched & rest & ~barred
        while free:
            v = free & -free
            free ^= v
            beyond = adjacency[v.bit_length() - 1]
            left = rest ^ v
            near = beyond & left
            missing = near & (near - 1)  # of `near`, what is not known to be in the region of its lowest relation
            if missing:
                low = near ^ missing
                frontier = adjacency[low.bit_length() - 1] & left
                region = low | frontier
                while (missing := near & ~region) and frontier:
                    low = frontier & -frontier
                    found = adjacency[low.bit_length() - 1] & left & ~region
                    region |= found
                    frontier ^= low | found
            if not missing:  # one region
                pending.append((part | v, touched | beyond, barred))
            else:
                for alone in (region, *_regions(adjacency, left, missing)):
                    if not barred & ~alone:
                        pending.append((s ^ alone, touched | beyond, barred))
            barred |= v
    return parts


def _regions(adjacency: tuple[Relations, ...], rest: Relations, near: Relations) -> list[Relations]:
    """The connected regions of `rest`, each of which has a relation in `near`."""
    regions = []
    while near:
        region = frontier = near & -near
        while frontier:
            neighbours = 0
            while frontier:
                low = frontier & -frontier
                neighbours |= adjacency[low.bit_length() - 1]
                frontier ^= low
            frontier = neighbours & rest & ~region
            region |= frontier
        regions.append(region)
        near &= ~region
    return regions
