"""A region of inner joins as a graph: which relations each conjunct touches, and which conjuncts link or key a split."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from optimizer.algebra.columns import ColumnSet, column_ids
from optimizer.algebra.scalars import Predicate, Scalar, is_key, key_sides, walk
from optimizer.joins.graph import JoinGraph, Relations, bits


class Conjunct(NamedTuple):
    """`relations`: those whose columns it reads. `key`: an equality of one relation's value and another's, so a hash key of
    every split that parts the two. `calls`: calls made to test it on one row."""

    relations: Relations
    scalar: Scalar
    key: bool
    calls: int


class InnerRegion:
    """`graph`: conjuncts over two relations are its edges; complete where cross products are allowed, or where those
    conjuncts leave the relations unconnected. Conjuncts over more relations link nothing: they are tested where all their
    relations have met.

    `keys`: the edges that are hash keys. `plain`: every conjunct is one, and every edge has one. `decided`: whether a
    conjunct is a key can be told from the relations alone.
    """

    def __init__(self, columns: tuple[ColumnSet, ...], predicate: Predicate, cross: bool = False) -> None:
        n = len(columns)
        home = {column: 1 << i for i, own in enumerate(columns) for column in column_ids(own)}
        self.n, self.predicate = n, predicate
        self.conjuncts = tuple(_placed(scalar, columns, home) for scalar in predicate)
        edges = [_ends(c.relations) for c in self.conjuncts if c.relations.bit_count() == 2]
        self.keys = JoinGraph(n, [_ends(c.relations) for c in self.conjuncts if c.key])
        graph = JoinGraph(n, edges)
        self.cross = cross or not graph.connected(graph.all)
        if self.cross:
            graph = JoinGraph(n, [(i, j) for i in range(n) for j in range(i + 1, n)])
        self.graph = graph
        self.plain = not self.cross and all(c.key for c in self.conjuncts)
        self.decided = not any(c.relations.bit_count() > 2 and is_key(c.scalar) for c in self.conjuncts)

    def within(self, s: Relations) -> Predicate:
        """Conjuncts whose relations all lie in `s`, in canonical order; those without any relation only for the whole."""
        return tuple(c.scalar for c in self.conjuncts if not c.relations & ~s and (c.relations or s == self.graph.all))

    def across(self, a: Relations, b: Relations) -> Predicate:
        """Conjuncts that the join of two disjoint sets tests: within both together, and within neither."""
        s = a | b
        return tuple(
            c.scalar
            for c in self.conjuncts
            if not c.relations & ~s and ((c.relations & ~a and c.relations & ~b) or (not c.relations and s == self.graph.all))
        )


@lru_cache(maxsize=1024)
def inner_region(columns: tuple[ColumnSet, ...], predicate: Predicate, cross: bool) -> InnerRegion:
    """The region of leaves with these columns; the same object for the same question."""
    return InnerRegion(columns, predicate, cross)


def _placed(scalar: Scalar, columns: Sequence[ColumnSet], home: dict[int, Relations]) -> Conjunct:
    relations = 0
    for column in column_ids(scalar.columns):
        relations |= home[column]
    key = False
    if relations.bit_count() == 2:
        left, right = (columns[r.bit_length() - 1] for r in bits(relations))
        key = key_sides(scalar, left, right) is not None
    return Conjunct(relations, scalar, key, sum(1 for s in walk(scalar) if s.children))


def _ends(pair: Relations) -> tuple[int, int]:
    low = pair & -pair
    return low.bit_length() - 1, (pair ^ low).bit_length() - 1
