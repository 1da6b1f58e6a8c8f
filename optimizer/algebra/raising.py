"""Whether an expression may raise an error."""

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Apply, SingleJoin
from optimizer.algebra.trees import Node, Tree, postorder


def may_raise(root: Node) -> bool:
    """Whether something in the tree may raise for some row or binding, so that leaving the tree out could hide an error and
    evaluating it for other bindings could bring one up. What a group may raise is not known here: False."""
    for node in postorder(root):
        if isinstance(node, Tree):
            op = node.op
            if any(s.raises for s in op.scalars()) or isinstance(op, SingleJoin):
                return True
            if isinstance(op, Apply) and op.kind is JoinKind.SINGLE:
                return True
    return False
