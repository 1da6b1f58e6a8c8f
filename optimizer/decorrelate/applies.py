"""The topmost Applies of a tree, replaced."""

from __future__ import annotations

from collections.abc import Callable

from optimizer.algebra.logical import Apply
from optimizer.algebra.trees import Node, Tree


def replace_applies(root: Tree, replacement: Callable[[Tree], Tree]) -> Tree:
    """The tree with each Apply that is not inside another one replaced. Iterative; what is below an Apply is the caller's."""
    built: list[Node] = []
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if not isinstance(node, Tree):
            built.append(node)
        elif ready:
            below = len(built) - len(node.inputs)
            inputs = tuple(built[below:])
            del built[below:]
            built.append(node.with_inputs(inputs))
        elif isinstance(node.op, Apply):
            built.append(replacement(node))
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.inputs))
    result = built[0]
    assert isinstance(result, Tree)
    return result
