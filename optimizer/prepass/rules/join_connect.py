"""Inner joins are regrouped so that no cross product is left that the predicates can avoid.

    (A × B) ⋈p(A,C) ∧ q(B,C) C  ≡  (A ⋈p C) ⋈q B

A FROM list with commas gives cross products in the order of the text; reordering by associativity never passes through a
cross product, so the search has to start from a tree without one. The relations stay in the order of the text as far
as their predicates connect them; parts that no predicate connects are joined last.

What may raise connects what nothing else connects: the others are tested first, and may keep rows from it. The order among
conjuncts that may raise is anybody's, so each is tested as soon as it can be.

    (A × B × C) ⋈p(A,B) ∧ q(B,C) ∧ r(C,D) D  ≡  ((A ⋈p B) ⋈q C) ⋈r D        p, q, r may raise

Kinds   a region of inner joins; other joins are leaves of it, and so are joins that may raise below another that does: their
        order was asked for
NULLs   safe: an inner join drops FALSE and UNKNOWN alike
Rows    a relation without rows keeps no pair of others from what may raise, as in JOIN ... ON in the order of the text
Guards  no volatile conjunct
"""

from typing import TypeGuard

from optimizer.algebra.connect import connect
from optimizer.algebra.flags import CROSS_PRODUCT
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Join, ANY, ANY), openings=CROSS_PRODUCT)
def join_connect(bound: Tree, context: RuleContext) -> Tree | None:
    if not _is_inner(bound):
        return None
    leaves, predicate, crosses = _region(bound)
    if not crosses or len(leaves) < 3 or any(s.volatile for s in predicate):
        return None
    joined = connect(leaves, predicate)
    return joined if _region(joined)[2] < crosses else None


def _is_inner(node: Node) -> TypeGuard[Tree]:
    return isinstance(node, Tree) and isinstance(node.op, Join) and node.op.kind is JoinKind.INNER


def _raises(node: Tree) -> bool:
    return any(conjunct.raises for conjunct in node.op.scalars())


def _region(root: Tree) -> tuple[list[Node], list[Scalar], int]:
    """Leaves of the inner joins at `root` in the order of the text, their conjuncts, and how bad its cross products are:
    each counts the leaves that are still joined above it and one, so that fewer and later ones are better."""
    leaves: list[Node] = []
    predicate: list[Scalar] = []
    spans: list[tuple[int, int]] = []  # of every cross product: its leaves by number, first and end
    stack: list[tuple[Node, int]] = [(root, -1)]
    raising = False  # whether a join whose conjuncts may raise was met
    while stack:
        node, first = stack.pop()
        if first >= 0:
            spans.append((first, len(leaves)))
        elif _is_inner(node) and not (raising and _raises(node)):
            raising = raising or _raises(node)
            predicate += node.op.scalars()
            if not node.op.scalars():
                stack.append((node, len(leaves)))
            stack.extend((child, -1) for child in reversed(node.inputs))
        else:
            leaves.append(node)
    return leaves, predicate, sum(len(leaves) - (end - first) + 1 for first, end in spans)
