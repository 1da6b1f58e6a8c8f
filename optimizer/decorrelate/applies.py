"""The topmost Applies of a tree, replaced."""

from __future__ import annotations

from collections.abc import Callable

from optimizer.algebra.building import tree_of
from optimizer.algebra.logical_joins import Apply
from optimizer.algebra.rebuild import map_down
from optimizer.algebra.trees import Node, Tree


def replace_applies(root: Tree, replacement: Callable[[Tree], Tree]) -> Tree:
    """The tree with each Apply that is not inside another one replaced; what is below an Apply is the caller's."""

    def visit(node: Node, _: None) -> Node | tuple[Tree, list[None]]:
        if not isinstance(node, Tree):
            return node
        return replacement(node) if isinstance(node.op, Apply) else (node, [None for _ in node.inputs])

    return tree_of(map_down(root, None, visit))
