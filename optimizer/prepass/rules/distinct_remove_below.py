"""Duplicates need not be removed where it does not matter how often a row comes.

    γK;f(δ(A))  ≡  γK;f(A)        A ⋉p δ(B)  ≡  A ⋉p B        also below projections and ∪ with ALL

f are minimum, maximum and DISTINCT aggregates, or none: then the outer aggregate is itself a removal of duplicates, as in
UNION of UNION. Where removing them early pays, aggregate_split_union and semi_join_to_inner_on_distinct bring it back.

Kinds   of a join and of an Apply, the right side of SEMI, ANTI and MARK: whether there is a match does not depend on how often
NULLs   δ takes NULL for a value, as the grouping does; some row of B has the same values, so p has the same outcomes
Rows    the same groups, each with the same set of rows; the same rows of A
Guards  only projections and unions with ALL lie between the two; items of projections, arguments of aggregates and conjuncts of
        p are not volatile, and give equal results for equal values (floats: of 0.0 and -0.0, δ keeps one)
"""

from __future__ import annotations

from optimizer.algebra.congruence import is_congruent
from optimizer.algebra.flags import GROUPED
from optimizer.algebra.kinds import JoinKind, SetOpKind
from optimizer.algebra.logical import Aggregate, Project, SetOp
from optimizer.algebra.logical_joins import AnyJoin
from optimizer.algebra.rebuild import map_down
from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.demand import ignores_duplicates
from optimizer.rules.interface import RuleContext, node, rewrite

_ASK_ONCE = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK)


@rewrite(node((Aggregate, AnyJoin)), openings=GROUPED)
def distinct_remove_below(bound: Tree, context: RuleContext) -> Tree | None:
    match bound.op:
        case Aggregate(_, items):
            once = all(ignores_duplicates(item.call) and all(map(is_congruent, item.call.children)) for item in items)
        case AnyJoin(kind=kind, predicate=predicate):
            once = kind in _ASK_ONCE and all(map(is_congruent, predicate))
        case _:
            return None
    without = bound.with_inputs((*bound.inputs[:-1], _without_distinct(bound.inputs[-1]))) if once else bound
    return None if without is bound else without


def _without_distinct(root: Node) -> Node:
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
            return all(is_congruent(item.value) for item in items)
        case SetOp(SetOpKind.UNION, True):
            return True
    return False
