"""Rows need no order below an operator that does not keep it.

    γ(λo(A))  ≡  γ(A)        likewise below joins, set operations, windows and grouping sets

Between the two there may be filters and projections, which hand an order on.

NULLs, rows   untouched: an order of all rows says nothing of which rows there are. No aggregate depends on the order of its rows,
              and a window sorts them itself
Guards        neither a count nor an offset: these choose rows by the order
"""

from __future__ import annotations

from optimizer.algebra.logical import (
    Aggregate,
    Apply,
    Filter,
    GroupingSets,
    Join,
    Limit,
    LogicalOperator,
    MarkJoin,
    Project,
    SetOp,
    SingleJoin,
    Window,
)
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import RewriteRule, RuleContext, node

FORGETS_ORDER = (Aggregate, GroupingSets, Window, SetOp, Join, MarkJoin, SingleJoin, Apply)


class OrderRemove(RewriteRule):
    name = "order_remove"
    pattern = node(LogicalOperator)

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        if not isinstance(bound.op, FORGETS_ORDER):
            return None
        changed = bound.with_inputs(tuple(map(_unordered, bound.inputs)))
        return None if changed is bound else changed


def _unordered(root: Node) -> Node:
    """The tree without orders of all rows under filters and projections; itself where there are none."""
    above: list[Tree] = []
    found = False
    at = root
    while isinstance(at, Tree):
        if isinstance(at.op, Filter | Project):
            above.append(at)
        elif isinstance(at.op, Limit) and at.op.count is None and not at.op.offset:
            found = True
        else:
            break
        at = at.inputs[0]
    if not found:
        return root
    for each in reversed(above):
        at = each.with_inputs((at,))
    return at
