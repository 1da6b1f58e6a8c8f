"""Trees as text, one operator a line, inputs indented below it; and figures for people."""

import re

from optimizer.algebra.columns import Columns
from optimizer.algebra.logical import LogicalOperator, Scan
from optimizer.algebra.physical import PhysicalOperator, TableScan
from optimizer.algebra.subqueries import subqueries_of
from optimizer.algebra.trees import Leaf, Node


def described(op: LogicalOperator | PhysicalOperator, columns: Columns, reads: bool = True) -> str:
    """What an operator does; with `reads` a scan says which columns it reads."""
    return op.describe(columns.label, reads) if isinstance(op, Scan | TableScan) else op.describe(columns.label)


def show_tree(root: Node, columns: Columns, reads: bool = False) -> str:
    """A logical tree as indented text, subqueries in an operator's scalars before its inputs. Iterative, so any depth prints."""
    lines: list[str] = []
    followed: set[int] = set()  # the depths at which a sibling comes below
    for depth, op, detail in reversed(_lines(root, columns, reads)):
        followed = {d for d in followed if d <= depth}
        indent = "".join("│  " if d in followed else "   " for d in range(1, depth))
        branch = ("├─ " if depth in followed else "└─ ") if depth else ""
        lines.append(f"{indent}{branch}{op}{'  ' + detail if detail else ''}")
        followed.add(depth)
    return "\n".join(reversed(lines))


def operators(root: Node, columns: Columns) -> list[list[int | str]]:
    """The same as a list of [depth, op, detail], parents first; the op of a subquery's root begins with "subquery: "."""
    return [[*line] for line in _lines(root, columns)]


def _lines(root: Node, columns: Columns, reads: bool = True) -> list[tuple[int, str, str]]:
    found: list[tuple[int, str, str]] = []
    stack: list[tuple[Node, int, str]] = [(root, 0, "")]
    while stack:
        node, depth, role = stack.pop()
        if isinstance(node, Leaf):
            found.append((depth, f"{role}group {node.gid}", ""))
            continue
        found.append((depth, role + node.op.name, described(node.op, columns, reads)))
        below = [*((part.tree, "subquery: ") for part in subqueries_of(node.op.scalars())), *((i, "") for i in node.inputs)]
        stack += [(child, depth + 1, word) for child, word in reversed(below)]
    return found


def scan_alias(text: str) -> str:
    """The alias that a scan of this description reads."""
    return re.split(r" \[| limit \d| after \d", text)[0].rpartition(" as ")[2]


def number(value: float) -> str:
    """A figure for people: whole below a billion, three digits beyond, one decimal when small."""
    if value != value or value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else str(value)
    if abs(value) < 10 and value != int(value):
        return f"{value:.2g}" if abs(value) < 1 else f"{value:.1f}"
    if abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def ratio(value: float) -> str:
    """A factor or a percentage for people: three digits, whole from 1,000."""
    return f"{value:.3g}" if abs(value) < 999.5 else number(value)
