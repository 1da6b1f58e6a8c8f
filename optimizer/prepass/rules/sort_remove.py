"""Rows need not be sorted below an operator that makes nothing of their order.

    A ⋈ λo(B) ≡ A ⋈ B        γ(λo(A)) ≡ γ(A)        λo(A) ∪ B ≡ A ∪ B        λp;i,n(λo(A)) ≡ λp;i,n(A)        λo: sorted, all rows

Also with filters and projections between the two, which pass the order on.

NULLs, rows   untouched: the rows of an operator are a bag
Guards        not below a limit without an order, which takes the first rows: it takes over the order instead (limit_merge)
"""

from optimizer.algebra.flags import LIMITED
from optimizer.algebra.logical import Aggregate, Filter, GroupingSets, Limit, Project, SetOp, Window
from optimizer.algebra.logical_joins import AnyJoin
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import RuleContext, node, rewrite


@rewrite(
    node((AnyJoin, Aggregate, SetOp, Window, GroupingSets, Limit), where=lambda op: not isinstance(op, Limit) or bool(op.order)),
    openings=LIMITED,
)
def sort_remove(bound: Tree, context: RuleContext) -> Tree | None:
    unsorted = bound.with_inputs(tuple(map(_unsorted, bound.inputs)))
    return None if unsorted is bound else unsorted


def _unsorted(node: Node) -> Node:
    """The rows without a sort that is passed on to the operator above; the same tree where there is none."""
    above: list[Tree] = []
    while isinstance(node, Tree) and isinstance(node.op, Filter | Project):
        above.append(node)
        node = node.inputs[0]
    while isinstance(node, Tree) and isinstance(node.op, Limit) and node.op.count is None and not node.op.offset:
        node = node.inputs[0]
    for tree in reversed(above):
        node = tree.with_inputs((node,))
    return node
