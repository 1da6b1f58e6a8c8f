"""The plan as a directed acyclic graph: a vertex is an operator over vertices, and no two vertices are equal.

A vertex is a `Tree` that stands for all equal ones, so structural equality is identity, and a common subexpression is one vertex
with several parents. Trees are immutable: a rewritten vertex is another vertex, over which its parents are made anew. What a
rewriting left behind is no part of the graph, since passes go from the root; `keep` forgets it.

Where no two leaves are equal, no two vertices can be: that is so for most queries, since each reading of a table has columns of
its own. Then nothing is interned (which would take a fifth of the pre-pass's time) until leaves are found to be equal.
"""

from collections.abc import Iterable, Sequence

from optimizer.algebra.building import tree_of
from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.trees import Leaf, Node, Tree, postorder


class Dag:
    """Interns trees, once `interning` is on. Ids of vertices are stable keys as long as the vertex is kept. Nothing recurses."""

    def __init__(self, interning: bool = False) -> None:
        self.interning = interning
        self._operators: dict[LogicalOperator, int] = {}  # operator -> its number; equal ones have the same
        self._numbers: dict[int, int] = {}  # likewise by id: to hash an operator takes as long as all the rest
        self._next = 0
        self._vertices: dict[tuple[int, ...], Tree] = {}  # number of the operator and ids of the inputs -> vertex
        self._known: dict[int, Node] = {}  # id -> vertex or leaf
        self._alive: list[Tree | LogicalOperator] = []  # others whose ids are in use

    def __len__(self) -> int:
        return len(self._vertices)

    def begin_pass(self, root: Tree) -> Tree:
        """The vertex to pass over the graph from."""
        if not self.interning:
            if self._alive and root is self._alive[-1]:
                return root
            if not _some_leaves_are_equal(root):
                self._alive.append(root)
                return root
            self.interning = True
        return self.intern(root)

    def same(self, one: Tree, other: Tree) -> bool:
        """Whether two trees over vertices are equal."""
        if one is other:
            return True
        return not self.interning and one.op == other.op and all(a is b for a, b in zip(one.inputs, other.inputs, strict=True))

    def intern(self, root: Tree) -> Tree:
        """The vertex equal to `root`; looks only at the part of it that is new."""
        if not self.interning:
            return root
        known = self._known
        if id(root) in known:
            return root
        for below in root.inputs:
            if id(below) not in known:
                break
        else:
            return self._vertex(root, root.inputs)
        made: dict[int, Node] = {}  # ids of nodes of `root`, which it keeps alive
        stack: list[Node] = [root]
        while stack:
            node = stack[-1]
            if id(node) in made:
                stack.pop()
                continue
            waiting = [below for below in node.inputs if id(below) not in known and id(below) not in made]
            if waiting:
                stack += reversed(waiting)
                continue
            stack.pop()
            if isinstance(node, Leaf):
                made[id(node)] = known[id(node)] = node
                continue
            made[id(node)] = self._vertex(
                node, tuple([below if id(below) in known else made[id(below)] for below in node.inputs])
            )
        return tree_of(made[id(root)])

    def with_inputs(self, vertex: Tree, inputs: Sequence[Node]) -> Tree:
        """The vertex with the same operator over other vertices; itself when they are the same."""
        for before, now in zip(vertex.inputs, inputs, strict=True):
            if before is not now:
                return self._vertex(vertex, tuple(inputs)) if self.interning else Tree(vertex.op, tuple(inputs))
        return vertex

    def replaced(self, root: Tree, old: Tree, new: Tree) -> Tree:
        """The graph below `root` with `new` where `old` was: every parent sees it."""
        made: dict[int, Node] = {id(old): new}
        for node in postorder(root):
            if isinstance(node, Tree) and id(node) not in made:
                made[id(node)] = self.with_inputs(node, [made[id(below)] for below in node.inputs])
            else:
                made.setdefault(id(node), node)
        return tree_of(made[id(root)])

    def keep(self, roots: Iterable[Tree]) -> set[int]:
        """Forget all vertices that no root reaches; the ids of the others."""
        roots = list(roots)
        live = {id(node): node for root in roots for node in postorder(root)}
        self._alive = list(roots)
        if self.interning:
            self._known = live
            self._vertices = {key: vertex for key, vertex in self._vertices.items() if id(vertex) in live}
            self._numbers = {id(vertex.op): key[0] for key, vertex in self._vertices.items()}
            self._operators = {vertex.op: key[0] for key, vertex in self._vertices.items()}
        return set(live)

    def _vertex(self, like: Tree, inputs: tuple[Node, ...]) -> Tree:
        op = like.op
        number = self._numbers.get(id(op))
        if number is None:
            number = self._numbers[id(op)] = self._operators.setdefault(op, self._next)
            self._next += 1
            self._alive.append(op)
        key = (number, *map(id, inputs))
        vertex = self._vertices.get(key)
        if vertex is None:
            vertex = self._vertices[key] = like.with_inputs(inputs)
            self._known[id(vertex)] = vertex
        return vertex


def _some_leaves_are_equal(root: Tree) -> bool:
    """Whether two leaves may be equal, or one is there twice: they have columns in common, or none."""
    seen = 0
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if node.inputs:
            stack.extend(node.inputs)
        else:
            columns = node.columns
            if seen & columns or not columns:
                return True
            seen |= columns
    return False


def inputs_first(root: Tree) -> list[Tree]:
    """The vertices below and including `root`, each once, after its inputs."""
    return [node for node in postorder(root) if isinstance(node, Tree)]


def parents_first(root: Tree) -> list[Tree]:
    """The vertices below and including `root`, each once, after all its parents, and otherwise from left to right."""
    order: list[Tree] = []
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in seen or not isinstance(node, Tree):
            continue
        if ready:
            seen.add(id(node))
            order.append(node)
        else:
            stack.append((node, True))
            stack.extend([(below, False) for below in node.inputs])  # the last input is finished first, so it comes last
    order.reverse()
    return order
