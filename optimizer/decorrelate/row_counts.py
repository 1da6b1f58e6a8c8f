"""Trees that have exactly one row, whatever the tables hold: scalar aggregates and what keeps their row."""

from __future__ import annotations

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate, Apply, Join, Limit, MarkJoin, Project, SingleJoin, Values, Window
from optimizer.algebra.trees import Node, Tree


def at_least_one_row(root: Node) -> bool:
    """Whether the tree is never empty; sound, not complete."""
    node = root
    while isinstance(node, Tree):
        match node.op:
            case Aggregate(keys=()):
                return True
            case Values(rows=rows):
                return bool(rows)
            case Project() | Window() | MarkJoin() | SingleJoin():
                node = node.inputs[0]
            case Limit(offset=0, count=count) if count is None or count > 0:
                node = node.inputs[0]
            case Join(kind=JoinKind.LEFT) | Apply(kind=JoinKind.LEFT | JoinKind.MARK | JoinKind.SINGLE):
                node = node.inputs[0]
            case _:
                return False
    return False


def exactly_one_row(root: Tree) -> bool:
    return root.props.at_most_one_row and at_least_one_row(root)
