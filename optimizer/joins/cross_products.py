"""Join orders of parts that no edge links: cross products come last, the smallest first.

The heuristics order the components of a graph apart and then call `cross_join`, so on graphs in several components they differ
only inside these.
"""

from collections.abc import Iterable
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

from optimizer.joins.costing import JoinCosting
from optimizer.joins.graph import JoinTree, Relations


class Part(NamedTuple):
    """A join order of some relations, with what the next join has to know of it."""

    relations: Relations
    rows: float
    cost: float
    tree: JoinTree


def leaf_part(costing: JoinCosting, relation: int) -> Part:
    return Part(1 << relation, costing.rows(1 << relation), costing.leaf(relation), relation)


def join_parts(costing: JoinCosting, a: Part, b: Part) -> Part:
    """The cheaper of a ⋈ b and b ⋈ a (the first, if equal): two joins costed."""
    union = a.relations | b.relations
    forward, backward = costing.join(a.relations, b.relations), costing.join(b.relations, a.relations)
    if backward < forward:
        return Part(union, costing.rows(union), a.cost + b.cost + backward, (b.tree, a.tree))
    return Part(union, costing.rows(union), a.cost + b.cost + forward, (a.tree, b.tree))


def cross_join(costing: JoinCosting, parts: Iterable[Part]) -> Part:
    """One join order of all parts (at least one): always the two with the fewest rows, whose product is the smallest.

    Ties go to the part with the lowest relation. Costs 2 · (parts - 1) joins.
    """
    waiting = [(part.rows, part.relations & -part.relations, part) for part in parts]
    heapify(waiting)
    while len(waiting) > 1:
        left = heappop(waiting)[2]
        joined = join_parts(costing, left, waiting[0][2])
        heapreplace(waiting, (joined.rows, joined.relations & -joined.relations, joined))
    return waiting[0][2]
