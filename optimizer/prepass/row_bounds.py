"""How many rows a tree can have, as far as its operators say so."""

from __future__ import annotations

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate, Filter, Join, Limit, Project, Scan, Values, Window
from optimizer.algebra.scalars import Literal, Predicate
from optimizer.algebra.trees import Node, Tree


def most_rows(node: Node) -> int | None:
    """A number of rows that the tree never exceeds; None where none is known."""
    most = 1 if node.props.at_most_one_row else None
    while isinstance(node, Tree):
        own: int | None = None
        match node.op:
            case Limit(count=count):
                own = count
            case Scan(limit=limit):
                own = limit
            case Values(rows=rows):
                own = len(rows)
        if own is not None and (most is None or own < most):
            most = own
        if not isinstance(node.op, Limit | Filter | Project | Aggregate) or (isinstance(node.op, Aggregate) and not node.op.keys):
            break
        node = node.inputs[0]
    return most


def is_empty(node: Node) -> bool:
    """Whether the tree is seen to have no rows: a predicate that is FALSE or NULL, a limit of 0 or no VALUES below operators
    that make nothing of nothing."""
    stack: list[Node] = [node]
    while stack:
        tree = stack.pop()
        if not isinstance(tree, Tree):
            continue
        match tree.op:
            case Values(_, _, ()) | Limit(_, _, 0) | Scan(limit=0):
                return True
            case Filter(predicate) | Scan(predicate=predicate) if _never(predicate):
                return True
            case Filter() | Project() | Limit() | Aggregate(keys=(_, *_)):
                stack.append(tree.inputs[0])
            case Join(kind, predicate):
                if kind in (JoinKind.INNER, JoinKind.SEMI) and _never(predicate):
                    return True
                stack += tree.inputs[:1] if kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI) else ()
                stack += tree.inputs[1:] if kind in (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI) else ()
    return False


def _never(predicate: Predicate) -> bool:
    return any(isinstance(conjunct, Literal) and conjunct.value is not True for conjunct in predicate)


def has_one_row(node: Node) -> bool:
    """Whether the tree has exactly one row, whatever the tables hold: an aggregate without keys, or a VALUES list of one row,
    below operators that keep every row."""
    while isinstance(node, Tree):
        match node.op:
            case Values(rows=(_,)) | Aggregate(keys=()):
                return True
            case Project() | Window() | Limit(offset=0, count=None):
                node = node.inputs[0]
            case Limit(offset=0, count=int() as count) if count > 0:
                node = node.inputs[0]
            case _:
                return False
    return False
