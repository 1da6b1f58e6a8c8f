"""A join tree whose subtrees become leaves one after the other, with costs kept up to date."""

from __future__ import annotations

from optimizer.joins.costing import JoinCosting
from optimizer.joins.cross_products import Part
from optimizer.joins.graph import JoinGraph, JoinTree, Relations, folded, parts_of


class ShrinkingTree:
    """The joins of a tree are numbered, inputs first, after its leaves; the root is the last number.

    `leaves`: how many leaves a node has, where a contracted node is one itself. `open`: joins that have no cross product in
    them, are not contracted, and not below one that is.
    """

    def __init__(self, graph: JoinGraph, costing: JoinCosting, tree: JoinTree) -> None:
        self._costing = costing
        self.open: set[int] = set()
        self.relations: list[Relations] = []
        self.trees: list[JoinTree] = []
        self.cost: list[float] = []
        self.leaves: list[int] = []
        self._local: list[float] = []
        self._children: list[tuple[int, int] | None] = []
        self._parent: list[int] = []

        def join(left: int, right: int) -> int:
            a, b = self.relations[left], self.relations[right]
            number = self._add(a | b, (self.trees[left], self.trees[right]), costing.join(a, b), (left, right))
            if graph.joined(a, b) and all(isinstance(self.trees[i], int) or i in self.open for i in (left, right)):
                self.open.add(number)
            return number

        self.root = folded(
            tree, parts_of, lambda relation: self._add(1 << relation, relation, costing.leaf(relation), None), join
        )

    def _add(self, relations: Relations, tree: JoinTree, local: float, children: tuple[int, int] | None) -> int:
        number = len(self.trees)
        self.relations.append(relations)
        self.trees.append(tree)
        self._local.append(local)
        self._children.append(children)
        self._parent.append(-1)
        self.cost.append(local)
        self.leaves.append(1)
        if children is not None:
            for child in children:
                self._parent[child] = number
            self._sum(number, children)
        return number

    def _sum(self, number: int, children: tuple[int, int]) -> None:
        left, right = children
        self.cost[number] = self.cost[left] + self.cost[right] + self._local[number]
        self.leaves[number] = self.leaves[left] + self.leaves[right]

    def part(self, number: int) -> Part:
        relations = self.relations[number]
        return Part(relations, self._costing.rows(relations), self.cost[number], self.trees[number])

    def dearest(self, k: int) -> int | None:
        """The open join of the highest cost with at most `k` leaves; of equal ones that with most leaves, then with the lowest
        relation. None if there is no such join."""

        def key(number: int) -> tuple[float, int, Relations]:
            relations = self.relations[number]
            return self.cost[number], self.leaves[number], -(relations & -relations)

        return max((number for number in self.open if self.leaves[number] <= k), key=key, default=None)

    def blocks(self, number: int) -> list[Part]:
        """The leaves below a join, by lowest relation."""
        found = []
        stack = [number]
        while stack:
            node = stack.pop()
            children = self._children[node]
            if children is not None and node in self.open:
                stack += children
            else:
                found.append(self.part(node))
        return sorted(found, key=lambda part: part.relations & -part.relations)

    def contract(self, number: int, cost: float, tree: JoinTree) -> None:
        """Make an open join a leaf, with the cost and tree that it has from now on."""
        self.cost[number], self.trees[number], self.leaves[number] = cost, tree, 1
        below = [number]
        while below:
            node = below.pop()
            children = self._children[node]
            if children is not None and node in self.open:
                self.open.remove(node)
                below += children
        node = self._parent[number]
        while node >= 0:
            children = self._children[node]
            assert children is not None
            self._sum(node, children)
            self.trees[node] = (self.trees[children[0]], self.trees[children[1]])
            node = self._parent[node]
