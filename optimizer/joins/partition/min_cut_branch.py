"""MinCutBranch: partitions by branching, with reachability as a by-product.

Source: Fender and Moerkotte, A New, Highly Efficient, and Easy to Implement Top-Down Join Enumeration Algorithm, ICDE 2011;
Reassessing Top-Down Join Enumeration, TKDE 2012. The bookkeeping of neighbours differs from the printed one.

A connected set grows from the lowest relation t, one relation at a time. The relations outside it form regions; each
call returns the regions next to the relation added last, and thereby tells its caller which part is a connected rest. So
connectivity is searched for only where a neighbour must not be added, having been dealt with before (`barred`).
"""

from optimizer.joins.graph import JoinGraph, Relations
from optimizer.joins.partition.blocks import by_blocks
from optimizer.joins.partition.min_cut_conservative import conservative

MAX_DEPTH = 200  # relations of one block; beyond, MinCutConservative, which does not recurse


def min_cut_branch(graph: JoinGraph, s: Relations) -> list[Relations]:
    """The partitions of `s`, as `by_blocks` gives them. Simple edges only (`hypergraph` for hyperedges)."""
    return by_blocks(graph, s, branch)


def branch(adjacency: tuple[Relations, ...], s: Relations) -> list[Relations]:
    """The partitions of `s`, connected by `adjacency`, without regard to blocks."""
    if s.bit_count() > MAX_DEPTH:
        return conservative(adjacency, s)
    parts: list[Relations] = []
    t = s & -s
    near = adjacency[t.bit_length() - 1]
    _grow(adjacency, s, parts, s ^ t, near, near, 0)
    return parts


def _grow(
    adjacency: tuple[Relations, ...], s: Relations, parts: list[Relations], rest: Relations, near: Relations, touched: Relations,
    barred: Relations,
) -> Relations:  # fmt: skip
    """Grow the set `s` - `rest` by relations that are not `barred`; the regions of `rest` next to the relation added last.

    `near`, `touched`: neighbours of that relation and of the whole set; both may hold relations outside `rest`.
    """
    near &= rest
    shut = near & barred  # only how far their region reaches matters
    near ^= shut
    far = touched & rest & ~(near | barred)  # to be added once the region found is known to be next to the last one
    reached = region = 0
    newly_barred = barred
    while True:
        if inside := (near | far) & region:
            v = inside & -inside
            beyond = adjacency[v.bit_length() - 1]
            _grow(adjacency, s, parts, rest ^ v, beyond, touched | beyond, newly_barred)
            if v & near:
                near ^= v
            else:
                far ^= v
            newly_barred |= v
            continue
        if near:
            v = near & -near
            beyond = adjacency[v.bit_length() - 1]
            region = v | _grow(adjacency, s, parts, rest ^ v, beyond, touched | beyond, barred)
            near ^= v
        elif shut:
            v = region = frontier = shut & -shut
            while frontier:
                low = frontier & -frontier
                found = adjacency[low.bit_length() - 1] & rest & ~region
                region |= found
                frontier ^= low | found
        else:
            return reached
        reached |= region
        newly_barred = barred | v
        if barred:
            shut &= ~region
            if region & barred:  # barred relations stay in the part left over, so no other region can be that part
                shut |= near & ~region
                near &= region
                far &= region
            if barred & ~region:  # and this region can be neither that part nor grown into
                near &= ~region
                far &= ~region
                continue
        parts.append(s ^ region)
