"""Sets of relations that a join order must have: what a forced order is, as far as splits go.

A plan has the order when each of its sets is compatible with each forced set X: disjoint from it, part of it, or all of it and
more. For the smallest set of a plan that holds X must then be X itself: a join of two compatible sets, none of which holds X,
brings no more of X together than one of them has, or is X. Forced sets are compatible with one another, so between a
forced set and those next below it lies a join problem of its own, whose relations are these.
"""

from collections.abc import Callable, Iterable

from optimizer.joins.blocks import BlockProblem, graph_of_blocks
from optimizer.joins.costing import JoinCosting, Ordered
from optimizer.joins.cross_products import Part, leaf_part
from optimizer.joins.graph import JoinGraph, Relations, bits


class Forced:
    """`sets`: the forced ones, small ones first, each of two relations or more."""

    def __init__(self, sets: Iterable[Relations]) -> None:
        self.sets = tuple(sorted({s for s in sets if s & (s - 1)}, key=lambda s: (s.bit_count(), s)))

    def allows(self, s: Relations) -> bool:
        """Whether a plan may have a set."""
        return all(not s & x or not x & ~s or not s & ~x for x in self.sets)

    def blocks(self, s: Relations) -> list[Relations]:
        """The largest forced sets within a set that is more than they, and its other relations; by lowest relation."""
        found, rest = [], s
        for x in reversed(self.sets):
            if x != s and not x & ~rest:
                found.append(x)
                rest ^= x
        return sorted([*found, *bits(rest)], key=lambda block: block & -block)


class Problems:
    """The join problems of a graph without hyperedges under a forced order, each with blocks for relations."""

    def __init__(self, graph: JoinGraph, forced: Forced) -> None:
        self._forced = forced
        self._all = graph.all
        self._blocks: dict[Relations, list[Relations]] = {}
        self._graphs: dict[Relations, JoinGraph] = {}
        for s in (*forced.sets, graph.all):
            self._blocks[s] = forced.blocks(s)
            self._graphs[s] = graph_of_blocks(graph, self._blocks[s])

    @property
    def graphs(self) -> list[JoinGraph]:
        """Those of the problems."""
        return list(self._graphs.values())

    def splits(self, s: Relations, partition: Callable[[JoinGraph, Relations], list[Relations]]) -> list[Relations]:
        """The splits of an allowed set into allowed ones, as the part with the lowest relation."""
        whole = next((x for x in self._forced.sets if not s & ~x), self._all)
        blocks = self._blocks[whole]
        numbers = sum(1 << number for number, block in enumerate(blocks) if block & s)
        return [
            sum(block for number, block in enumerate(blocks) if part >> number & 1)
            for part in partition(self._graphs[whole], numbers)
        ]

    def order(
        self, graph: JoinGraph, costing: JoinCosting, orderer: Callable[[JoinGraph, JoinCosting], Ordered], s: Relations
    ) -> Ordered:
        """A join order of an allowed set: `orderer` orders the blocks of each forced set, and those of `s`."""
        known: dict[Relations, Part] = {}
        pairs = 0
        for x in (*(x for x in self._forced.sets if x != s and not x & ~s), s):
            blocks = [known.get(b) or leaf_part(costing, b.bit_length() - 1) for b in self._forced.blocks(x)]
            problem = BlockProblem(graph, costing, blocks)
            found = orderer(problem.graph, problem)
            pairs += found.pairs
            known[x] = Part(x, costing.rows(x), found.cost, problem.expand(found.tree))
        return Ordered(known[s].cost, known[s].tree, pairs)
