"""Duplicates need not be removed below an aggregate that they do not change.

    γK;f(δ(A))  ≡  γK;f(A)        γK;f(δ(A) ∪ B)  ≡  γK;f(A ∪ B)        ∪ with ALL

f are minimum, maximum and DISTINCT aggregates, or none: then the outer aggregate is itself a removal of duplicates, as in
UNION of UNION. Where removing them early pays, aggregate_split_union brings it back.

NULLs   safe: both removals take NULL for a value
Rows    the same groups, each with the same set of rows
Guards  only projections, whose items are not volatile, and unions with ALL lie between the two; no volatile aggregate
"""

from __future__ import annotations

from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Aggregate, Project, SetOp
from optimizer.algebra.rebuild import map_down
from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.demand import ignores_duplicates
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Aggregate, ANY))
def distinct_remove_below(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Aggregate(_, items), (below,)) if all(ignores_duplicates(item.call) for item in items):
            if isinstance(below, Tree):
                without = without_distinct(below)
                return None if without is below else Tree(bound.op, (without,))
    return None


def without_distinct(root: Tree) -> Node:
    """The tree without removals of duplicates under projections and unions; itself where there are none."""

    def visit(node: Node, _: None) -> Node | tuple[Tree, list[None]]:
        while isinstance(node, Tree) and isinstance(node.op, Aggregate) and not node.op.aggregates and node.op.keys:
            node = node.inputs[0]
        return (node, [None for _ in node.inputs]) if isinstance(node, Tree) and _keeps_sets(node) else node

    return map_down(root, None, visit)


def _keeps_sets(tree: Tree) -> bool:
    """Whether the set of the operator's rows depends on the sets of its inputs' rows alone."""
    match tree.op:
        case Project(items):
            return not any(item.value.volatile for item in items)
        case SetOp(SetOpKind.UNION, True):
            return True
    return False
