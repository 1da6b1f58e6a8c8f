"""Conjuncts of the predicate of a dependent join move into its inputs.

    A ⋈̃(p ∧ p_AB) B(a)  ≡  A ⋈̃p σp_AB(B(a))        in p_AB, columns of A are references to the row B is evaluated for

There they reach scans of B, where an index, or a part of B that is kept between rows, can serve them.

Kinds   to the right: inner, left, semi, anti, single (a pair that fails p_AB is no match); mark, where p_AB is never NULL: a
        pair that makes it FALSE adds nothing to the mark. Of inner and semi ones conjuncts over A alone go to the left
NULLs   but for mark, FALSE and UNKNOWN both mean no match; for mark, UNKNOWN decides between FALSE and UNKNOWN, so a conjunct
        that can be NULL stays
Rows    the same pairs match; a single one still fails on a second pair that satisfies everything
Guards  volatile conjuncts and conjuncts that may raise stay
"""

from optimizer.algebra.building import filtered
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Apply
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import for_row, over
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Apply, ANY, ANY))
def apply_push_condition(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Apply(kind, here, mark), (left, right)) if here:
            on_left: Predicate = ()
            if kind in (JoinKind.INNER, JoinKind.SEMI):
                here, on_left = over(here, left.columns)
            known = left.props.not_null | right.props.not_null if kind is JoinKind.MARK else None
            here, on_right = over(here, left.columns | right.columns, known)
            if on_left or on_right:
                inputs = filtered(on_left, left), filtered(for_row(on_right, left.columns), right)
                return Tree(Apply(kind, here, mark), inputs)
    return None
