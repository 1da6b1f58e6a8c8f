"""Duplicates need not be removed below an aggregate that they do not change.

    γK;f(δ(A))  ≡  γK;f(A)        γK;f(δ(A) ∪ B)  ≡  γK;f(A ∪ B)        ∪ with ALL

f are minimum, maximum and DISTINCT aggregates, or none: then the outer aggregate is itself a removal of duplicates, as in
UNION of UNION. Where removing them early pays, aggregate_split_union brings it back.

NULLs   safe: both removals take NULL for a value
Rows    the same groups, each with the same set of rows
Guards  only projections, whose items are not volatile, and unions with ALL lie between the two; no volatile aggregate
"""

from __future__ import annotations

from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Aggregate, Project, SetOp
from optimizer.algebra.scalars import AggregateCall
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class DistinctRemoveBelow(RewriteRule):
    name = "distinct_remove_below"
    pattern = node(Aggregate, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Aggregate(_, items), (below,)) if all(_ignores_duplicates(item.call) for item in items):
                if isinstance(below, Tree):
                    without = without_distinct(below)
                    return None if without is below else Tree(bound.op, (without,))
        return None


def _ignores_duplicates(call: AggregateCall) -> bool:
    return not call.volatile and (call.distinct or AGGREGATE_FUNCTIONS[call.function].duplicate_insensitive)


def without_distinct(root: Tree) -> Node:
    """The tree without removals of duplicates under projections and unions; itself where there are none. Iterative."""
    built: list[Node] = []
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        tree, ready = stack.pop()
        if ready:
            assert isinstance(tree, Tree)
            inputs = tuple(built[len(built) - len(tree.inputs) :])
            del built[len(built) - len(inputs) :]
            built.append(tree.with_inputs(inputs))
        elif isinstance(tree, Tree) and isinstance(tree.op, Aggregate) and not tree.op.aggregates and tree.op.keys:
            stack.append((tree.inputs[0], False))
        elif isinstance(tree, Tree) and _keeps_sets(tree):
            stack.append((tree, True))
            stack.extend((child, False) for child in reversed(tree.inputs))
        else:
            built.append(tree)
    return built[0]


def _keeps_sets(tree: Tree) -> bool:
    """Whether the set of the operator's rows depends on the sets of its inputs' rows alone."""
    match tree.op:
        case Project(items):
            return not any(item.value.volatile for item in items)
        case SetOp(SetOpKind.UNION, True):
            return True
    return False
