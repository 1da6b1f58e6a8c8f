"""Trees as text, one operator a line, inputs indented below it; and figures for people."""

from __future__ import annotations

from optimizer.algebra.columns import Columns
from optimizer.algebra.trees import Leaf, Node


def show_tree(root: Node, columns: Columns) -> str:
    """A logical tree as indented text. Iterative, so any depth prints."""
    lines: list[str] = []
    stack: list[tuple[Node, str, str]] = [(root, "", "")]
    while stack:
        node, first, rest = stack.pop()
        if isinstance(node, Leaf):
            lines.append(f"{first}group {node.gid}")
        else:
            detail = node.op.describe(columns.label)
            lines.append(f"{first}{node.op.name}{'  ' + detail if detail else ''}")
        children = node.inputs
        for i in range(len(children) - 1, -1, -1):
            last = i == len(children) - 1
            stack.append((children[i], rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")))
    return "\n".join(lines)


def number(value: float) -> str:
    """A figure for people: whole below a million, three digits beyond, one decimal when small."""
    if value != value or value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else str(value)
    if abs(value) < 10 and value != int(value):
        return f"{value:.2g}" if abs(value) < 1 else f"{value:.1f}"
    if abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value:.3g}"
