"""Conjuncts of a join predicate over one input move below the join.

    A ⋈(p ∧ p_B) B  ≡  A ⋈p σp_B(B)

Kinds   to the right input: inner, left, semi, anti, single (a right row that fails p_B can match nothing); mark, where p_B is
        never NULL: a row that makes it FALSE adds nothing to the mark. To the left input: inner, right, semi. A left or single
        join keeps a left row that fails p_A, an anti join returns it, a mark join marks it, a full join keeps both sides
NULLs   but for mark, FALSE and UNKNOWN both mean no match; for mark, UNKNOWN decides between FALSE and UNKNOWN, so a conjunct
        that can be NULL stays
Rows    the same pairs match, so a single join still fails on a second one
Guards  volatile conjuncts and conjuncts that may raise stay
"""

from optimizer.algebra.building import filtered
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import IndependentJoin
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import over
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(IndependentJoin, ANY, ANY))
def join_push_condition(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(IndependentJoin(kind=kind, predicate=(_, *_) as here) as join, (left, right)):
            on_left: Predicate = ()
            on_right: Predicate = ()
            if kind is JoinKind.MARK:
                here, on_right = over(here, right.columns, right.props.not_null)
            elif kind.drops_right:
                here, on_right = over(here, right.columns)
            if kind.drops_left:
                here, on_left = over(here, left.columns)
            if on_left or on_right:
                return Tree(join.with_predicate(here), (filtered(on_left, left), filtered(on_right, right)))
    return None
