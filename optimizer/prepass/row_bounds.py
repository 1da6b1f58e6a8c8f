"""How many rows a tree can have, as far as its operators say so."""

from optimizer.algebra.derive_props import matching_props
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate, Choice, Filter, Limit, Project, Scan, Values, Window
from optimizer.algebra.logical_joins import AnyJoin, Apply, Join, MarkJoin, SingleJoin
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.traits import Collation
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
        side = _bounding(node)
        if side is None:
            break
        node = node.inputs[side]
    return most


def first_rows(node: Node, order: Collation, rows: int) -> Node:
    """So many rows of the tree, the first in an order; the same object where there are no more, as far as can be seen."""
    most = most_rows(node)
    return Tree(Limit(order, 0, rows), (node,)) if most is None or most > rows else node


def _bounding(tree: Tree) -> int | None:
    """An input that the tree never has more rows than; None where there is none."""
    match tree.op:
        case Limit() | Filter() | Project() | Window() | Choice():
            return 0
        case Aggregate(keys):
            return 0 if keys else None
        case Join(kind) | Apply(kind) if kind.left_only:
            return 0
    return kept_once(tree)


def kept_once(joined: Tree) -> int | None:
    """Which input of a join has each of its rows come out exactly once; None where neither is known to."""
    match joined:
        case Tree(AnyJoin(kind=JoinKind.MARK | JoinKind.SINGLE, predicate=predicate)):
            return None if any(s.volatile for s in predicate) else 0
        case Tree(Join(JoinKind.LEFT, predicate) | Apply(JoinKind.LEFT, predicate), (left, right)):
            side, kept, other = 0, left, right
        case Tree(Join(JoinKind.RIGHT, predicate), (left, right)):
            side, kept, other = 1, right, left
        case Tree(Join(JoinKind.INNER, ()) | Apply(JoinKind.INNER, ()), (_, right)) if has_one_row(right):
            return 0
        case Tree(Join(JoinKind.INNER, ()), (left, _)) if has_one_row(left):
            return 1
        case _:
            return None
    if any(s.volatile for s in predicate) or not at_most_one_match(predicate, kept, other):
        return None
    return side


def at_most_one_match(predicate: Predicate, kept: Node, other: Node) -> bool:
    """Whether no row of `kept` satisfies the predicate with two rows of `other`."""
    left, right = kept.props, other.props
    return matching_props(predicate, left, right).unique_on(left.columns, right.keys)


def has_one_row(node: Node) -> bool:
    """Whether the tree has exactly one row, whatever the tables hold."""
    return at_least_one_row(node) and node.props.at_most_one_row  # properties of the tree are seldom asked for this way


def at_least_one_row(node: Node) -> bool:
    """Whether the tree is never empty: a scalar aggregate or a list of values below what keeps their rows; not complete."""
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
