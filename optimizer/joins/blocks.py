"""Part of a join problem as one of its own: some join trees, found before, are its relations."""

from collections.abc import Sequence

from optimizer.algebra.columns import union
from optimizer.joins.costing import JoinCosting
from optimizer.joins.cross_products import Part
from optimizer.joins.graph import JoinGraph, JoinTree, Relations, bits, parts_of, rebuilt


class BlockProblem:
    """`blocks`: disjoint trees, numbered as they come. The costing of the problem whose relations they are; `graph`: theirs."""

    def __init__(self, graph: JoinGraph, costing: JoinCosting, blocks: Sequence[Part]) -> None:
        self._costing, self.blocks = costing, blocks
        self._known: dict[Relations, Relations] = {}
        self.graph = graph_of_blocks(graph, [block.relations for block in blocks])

    def relations(self, s: Relations) -> Relations:
        """The relations of the whole graph in a set of blocks."""
        known = self._known.get(s)
        if known is None:
            known = self._known[s] = union(self.blocks[low.bit_length() - 1].relations for low in bits(s))
        return known

    def rows(self, s: Relations) -> float:
        return self._costing.rows(self.relations(s))

    def leaf(self, relation: int) -> float:
        return self.blocks[relation].cost

    def join(self, left: Relations, right: Relations) -> float:
        return self._costing.join(self.relations(left), self.relations(right))

    def expand(self, tree: JoinTree) -> JoinTree:
        """A tree over the blocks as one over their relations."""
        return rebuilt(tree, parts_of, lambda block: self.blocks[block].tree)


def graph_of_blocks(graph: JoinGraph, blocks: Sequence[Relations]) -> JoinGraph:
    """The edges between disjoint sets, the relations of the result. Simple edges only."""
    home = {low: 1 << number for number, block in enumerate(blocks) for low in bits(block)}
    edges = []
    for number, block in enumerate(blocks):
        near = {home[low] for low in bits(graph.neighbours(block)) if low in home}
        edges += [(1 << number, other) for other in near if other > 1 << number]
    return JoinGraph(len(blocks), (), edges)
