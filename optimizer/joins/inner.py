"""A region of inner joins as a graph: which relations each conjunct touches, and which conjuncts link or key a split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from optimizer.algebra.columns import ColumnSet, column_ids, union
from optimizer.algebra.predicates import is_key, key_sides
from optimizer.algebra.scalar_trees import walk
from optimizer.algebra.scalars import Predicate, Scalar
from optimizer.joins.costing import JoinCosting, Ordered
from optimizer.joins.forced import Forced, Problems
from optimizer.joins.graph import JoinGraph, Relations, bits, one_by_one_splits


class Conjunct(NamedTuple):
    """`relations`: those whose columns it reads; all, where it reads none, so that the last join tests it. `key`: an equality of
    one relation's value and another's, so a hash key of every split that parts the two. `calls`: calls
    made to test it on one row."""

    relations: Relations
    scalar: Scalar
    key: bool
    calls: int


class InnerRegion:
    """`graph`: conjuncts over two relations are its edges; complete where cross products are allowed, or where those
    conjuncts leave the relations unconnected. Then `links` has the edges alone, and a set that these connect is split into
    parts that they connect: so the splits of a set do not depend on the region. Conjuncts over more relations link nothing: they
    are tested where all their relations have met.

    `forced`: sets that each join order has to have. `graphs`: the join problems that they leave; where nothing is forced the
    region's graph is the only one.

    `keys`: the edges that are hash keys. `plain`: every conjunct is one, and every edge has one. `decided`: whether a
    conjunct is a key can be told from the relations alone.
    """

    def __init__(
        self, columns: tuple[ColumnSet, ...], predicate: Predicate, cross: bool = False, forced: tuple[ColumnSet, ...] = ()
    ) -> None:
        n = len(columns)
        home = {column: 1 << i for i, own in enumerate(columns) for column in column_ids(own)}
        self.n, self.predicate = n, predicate
        self.conjuncts = tuple(_placed(scalar, columns, home) for scalar in predicate)
        edges = [_ends(c.relations) for c in self.conjuncts if c.relations.bit_count() == 2 and c.scalar.columns]
        self.keys = JoinGraph(n, [_ends(c.relations) for c in self.conjuncts if c.key])
        graph = JoinGraph(n, edges)
        self.cross = cross or not graph.connected(graph.all)
        self.links = graph
        if self.cross:
            graph = JoinGraph(n, [(i, j) for i in range(n) for j in range(i + 1, n)])
            self.links = graph if cross else self.links
        self.graph = graph
        self.plain = not self.cross and all(c.key for c in self.conjuncts)
        self.forced = Forced(sum(1 << i for i, own in enumerate(columns) if own & x) for x in forced)
        self._problems = Problems(graph, self.forced) if self.forced.sets else None
        self.graphs = [graph] if self._problems is None else self._problems.graphs
        self.decided = not any(c.relations.bit_count() > 2 and is_key(c.scalar) for c in self.conjuncts)

    def splits(self, s: Relations, partition: Callable[[JoinGraph, Relations], list[Relations]]) -> list[Relations]:
        """The splits of a set that the forced order leaves, as the part with the lowest relation."""
        if self._problems is not None:
            return self._problems.splits(s, partition)
        return partition(self.links if self.links.connected(s) else self.graph, s)

    def ordered(
        self, costing: JoinCosting, orderer: Callable[[JoinGraph, JoinCosting], Ordered], s: Relations | None = None
    ) -> Ordered:
        """What a heuristic makes of the region, or of the set `s` of a forced order."""
        if self._problems is None:
            return orderer(self.links, costing)  # products come last
        return self._problems.order(self.graph, costing, orderer, self.graph.all if s is None else s)

    def within(self, s: Relations) -> Predicate:
        """Conjuncts whose relations all lie in `s`, in canonical order."""
        return tuple(c.scalar for c in self.conjuncts if not c.relations & ~s)

    def across(self, a: Relations, b: Relations) -> Predicate:
        """Conjuncts that the join of two disjoint sets tests: within both together, and within neither."""
        s = a | b
        return tuple(c.scalar for c in self.conjuncts if not c.relations & ~s and c.relations & ~a and c.relations & ~b)


@lru_cache(maxsize=1024)
def inner_region(
    columns: tuple[ColumnSet, ...], predicate: Predicate, cross: bool, forced: tuple[ColumnSet, ...] = ()
) -> InnerRegion:
    """The region of leaves with these columns; the same object for the same question. `forced`: the columns of sets of leaves
    that each order has to have."""
    return InnerRegion(columns, predicate, cross, forced)


def splitter(
    region: InnerRegion, partition: Callable[[JoinGraph, Relations], list[Relations]], left_deep: bool, in_order: bool
) -> Callable[[Relations], list[Relations]]:
    """The splits of a set that the enumeration and the forced order allow, each as the part with the lowest relation;
    `in_order`: of the parts, since no bounds will put them in order."""

    def splits(s: Relations) -> list[Relations]:
        parts = region.splits(s, partition)
        if in_order:
            parts.sort()
        return one_by_one_splits(s, parts) if left_deep else parts

    return splits


def _placed(scalar: Scalar, columns: Sequence[ColumnSet], home: dict[int, Relations]) -> Conjunct:
    relations = union(home[column] for column in column_ids(scalar.columns)) or (1 << len(columns)) - 1
    key = False
    if relations.bit_count() == 2:
        left, right = (columns[r.bit_length() - 1] for r in bits(relations))
        key = key_sides(scalar, left, right) is not None
    return Conjunct(relations, scalar, key, sum(1 for s in walk(scalar) if s.children))


def _ends(pair: Relations) -> tuple[int, int]:
    low = pair & -pair
    return low.bit_length() - 1, (pair ^ low).bit_length() - 1
