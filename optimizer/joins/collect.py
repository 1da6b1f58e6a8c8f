"""Regions of inner joins become join graphs, for the search to order.

    (A ⋈p B) ⋈q C  ≡  JoinGraph[p ∧ q](A, B, C)

Guards  a join with a conjunct that is volatile or may raise stays as it is, and bounds the regions below it
"""

from __future__ import annotations

from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Join
from optimizer.algebra.scalars import Scalar, conjunction
from optimizer.algebra.trees import Node, Tree, postorder


def collect_join_graphs(root: Tree) -> Tree:
    """The tree with every maximal region of reorderable inner joins as one JoinGraph. Iterative."""
    built: dict[int, Node] = {}
    above: set[int] = set()  # joins whose parent is in the same region
    for node in postorder(root):
        if isinstance(node, Tree) and _reorderable(node):
            above.update(id(child) for child in node.inputs if _reorderable(child))
    for node in postorder(root):
        if not isinstance(node, Tree):
            built[id(node)] = node
        elif not _reorderable(node):
            built[id(node)] = node.with_inputs(tuple(built[id(child)] for child in node.inputs))
        elif id(node) not in above:
            leaves, conjuncts = _region(node)
            built[id(node)] = Tree(JoinGraph(conjunction(conjuncts)), tuple(built[id(leaf)] for leaf in leaves))
    result = built[id(root)]
    assert isinstance(result, Tree)
    return result


def _reorderable(node: Node) -> bool:
    return (
        isinstance(node, Tree)
        and isinstance(node.op, Join)
        and node.op.kind is JoinKind.INNER
        and not any(s.volatile or s.raises for s in node.op.predicate)
    )


def _region(root: Tree) -> tuple[list[Node], list[Scalar]]:
    leaves: list[Node] = []
    conjuncts: list[Scalar] = []
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Tree) and isinstance(node.op, Join) and _reorderable(node):
            conjuncts += node.op.predicate
            stack.extend(reversed(node.inputs))
        else:
            leaves.append(node)
    return leaves, conjuncts
