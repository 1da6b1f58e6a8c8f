"""Connected sets of relations: all of them, or how many there are.

Source: the enumeration of connected subgraphs of Moerkotte and Neumann, VLDB 2006: a set grows by every non-empty subset of its
neighbours, which are then left out of what grows from there, and it only ever grows by relations above its lowest one.
"""

from collections.abc import Iterator
from functools import partial
from itertools import islice

from optimizer.joins.graph import JoinGraph, Relations, subsets
from optimizer.joins.partition.hypergraph import connected, skeleton

TESTED_FOR_EACH = 4  # sets of a hypergraph that may be tested for each connected set of the budget


def connected_sets(graph: JoinGraph) -> Iterator[Relations]:
    """Every connected set once; its connected subsets with the same lowest relation come before it. Edges and hyperedges."""
    return (
        filter(partial(connected, graph), _by_growing(skeleton(graph, graph.hyperedges)))
        if graph.hyperedges
        else _by_growing(graph)
    )


def count_connected_sets(graph: JoinGraph, budget: int | None = None) -> int:
    """How many connected sets there are, or budget + 1 as soon as it is known that there are more than `budget`.

    With hyperedges also when they have not been found among `TESTED_FOR_EACH` times as many sets: that would cost as much.
    """
    if budget is None:
        return sum(1 for _ in connected_sets(graph))
    if any(1 << graph.neighbours(1 << i).bit_count() > budget for i in range(graph.n)):
        return budget + 1  # one relation, with any of its neighbours
    if not graph.hyperedges:
        return sum(1 for _ in islice(_by_growing(graph), budget + 1))
    number = 0
    for tested, s in enumerate(_by_growing(skeleton(graph, graph.hyperedges))):
        number += connected(graph, s)
        if number > budget or tested >= TESTED_FOR_EACH * budget:
            return budget + 1
    return number


def supersets(graph: JoinGraph, start: Relations, excluded: Relations) -> Iterator[Relations]:
    """The connected sets that add relations to the connected set `start`, none of them `excluded`. By simple edges.

    Every one once, its subsets that contain `start` before it. Does not recurse.
    """
    excluded |= start
    touched = graph.neighbours(start)
    near = touched & ~excluded
    yield from (start | more for more in subsets(near))
    pending = [(start, touched, near, excluded | near, 0)]
    while pending:
        s, touched, near, excluded, last = pending.pop()
        more = (last - near) & near  # the subset of `near` after `last`; none after `near` itself
        if not more:
            continue
        pending.append((s, touched, near, excluded, more))
        further = touched | graph.neighbours(more)
        beyond = further & ~excluded
        if beyond:
            s |= more
            yield from (s | more for more in subsets(beyond))
            pending.append((s, further, beyond, excluded | beyond, 0))


def _by_growing(graph: JoinGraph) -> Iterator[Relations]:
    """By simple edges: highest lowest relation first."""
    for i in reversed(range(graph.n)):
        yield 1 << i
        yield from supersets(graph, 1 << i, (1 << i) - 1)
