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

from __future__ import annotations

from optimizer.algebra.building import filtered
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import IndependentJoin
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class JoinPushCondition(RewriteRule):
    name = "join_push_condition"
    pattern = node(IndependentJoin, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(IndependentJoin(kind=kind, predicate=predicate) as join, (left, right)):
                to_right = kind not in (JoinKind.RIGHT, JoinKind.FULL)
                to_left = kind in (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI)
                here: list[Scalar] = []
                on_left: list[Scalar] = []
                on_right: list[Scalar] = []
                not_left, not_right = ~left.columns, ~right.columns
                for conjunct in predicate:
                    if conjunct.volatile or conjunct.raises:
                        here.append(conjunct)
                    elif to_right and not conjunct.columns & not_right:
                        stays = kind is JoinKind.MARK and not is_not_null(conjunct, right.props.not_null)
                        (here if stays else on_right).append(conjunct)
                    elif to_left and not conjunct.columns & not_left:
                        on_left.append(conjunct)
                    else:
                        here.append(conjunct)
                if on_left or on_right:  # parts of a predicate are predicates: in canonical order, without duplicates
                    inputs = filtered(tuple(on_left), left), filtered(tuple(on_right), right)
                    return Tree(join.with_predicate(tuple(here)), inputs)
        return None
