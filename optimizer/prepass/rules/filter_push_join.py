"""A filter moves into a join: conjuncts over one input go below it, those over both become join predicates.

    σp(A ⋈q B)  ≡  A' ⋈(q ∧ p_AB) B'        A' = σp_A(A), B' = σp_B(B)

The filters that this makes move on at once, through all joins below, so that a predicate over many relations is split once.

Kinds   inner: all three. To the left input for all but right and full joins, to the right one also for right joins: rows of a
        kept side reach the output unchanged, or not at all, and whether they do depends on no other row of that side. Nothing
        passes to a NULL-extended side, and nothing through a full join. What reads the mark of a mark join stays above. So does
        what reads the right side of a single join: below, it would take away second matches, and with them the error
Apply   as the join of its kind; p_AB goes no further here (`apply_push_condition` takes it on): before decorrelation the right
        input is not to read more of the left one than it does
NULLs   safe: a conjunct over a kept side sees the same values above and below
Rows    a single join's error for a second match comes up for fewer rows of A: those that the filter keeps
Guards  volatile conjuncts stay; conjuncts that may raise do not go below the join, where they would see rows without
        a match, nor into the predicate of an Apply or into one that may raise itself, which had sheltered them, nor away from
        a conjunct that stays
"""

from typing import NamedTuple

from optimizer.algebra.building import filtered, tree_of
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter
from optimizer.algebra.logical_joins import AnyJoin, Apply
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Filter, node(AnyJoin, ANY, ANY)))
def filter_push_join(bound: Tree, context: RuleContext) -> Tree | None:
    return _pushed(bound.op.scalars(), tree_of(bound.inputs[0]))


class _Split(NamedTuple):
    """Where the conjuncts over a join go: the join with its own, what stays above, what goes to its inputs."""

    join: AnyJoin
    above: Predicate
    left: Predicate
    right: Predicate


def _pushed(predicate: Predicate, root: Tree) -> Tree | None:
    """`root`, a join, under `predicate`, whose conjuncts have moved through as many joins as they can; None if none moves."""
    if _split(predicate, root) is None:
        return None
    built: list[Node] = []
    stack: list[tuple[Predicate, Node, _Split | None]] = [(predicate, root, None)]
    while stack:
        waiting, node, split = stack.pop()
        if split is not None:
            right, left = built.pop(), built.pop()
            built.append(filtered(split.above, Tree(split.join, (left, right))))
            continue
        split = _split(waiting, node) if waiting else None
        if split is None:
            built.append(filtered(waiting, node))
        else:
            left, right = node.inputs
            stack += ((waiting, node, split), (split.right, right, None), (split.left, left, None))
    return tree_of(built[0])


def _split(predicate: Predicate, node: Node) -> _Split | None:
    """None when `node` is no join, or all conjuncts stay above it."""
    if not isinstance(node, Tree) or not isinstance(node.op, AnyJoin):
        return None
    kind, on = node.op.kind, node.op.predicate
    to_left = kind not in (JoinKind.RIGHT, JoinKind.FULL)
    to_right = kind in (JoinKind.INNER, JoinKind.RIGHT)
    not_left, not_right = (~below.columns for below in node.inputs)
    above, here, on_left, on_right = [], [], [], []
    sheltered = isinstance(node.op, Apply) or any(s.volatile for s in predicate)
    for conjunct in predicate:
        if conjunct.volatile:
            above.append(conjunct)
        elif to_left and not conjunct.columns & not_left and not conjunct.raises:
            on_left.append(conjunct)
        elif to_right and not conjunct.columns & not_right and not conjunct.raises:
            on_right.append(conjunct)
        elif kind is JoinKind.INNER and not (conjunct.raises and (sheltered or any(s.raises for s in on))):
            here.append(conjunct)
        else:
            above.append(conjunct)
    if len(above) == len(predicate):
        return None
    # a part of a predicate is a predicate: in canonical order, without duplicates
    join = node.op if not here else node.op.with_predicate(conjunction((*on, *here)) if on else tuple(here))
    return _Split(join, tuple(above), tuple(on_left), tuple(on_right))
