"""Conjuncts of a single join's predicate over the right input move below it.

    A ⟕1,(p ∧ p_B) B  ≡  A ⟕1,p σp_B(B)

Kinds   SINGLE; a conjunct over A alone stays, since rows of A that fail it are kept
NULLs   safe: FALSE and UNKNOWN both mean no match
Rows    the same matches, so also the same rows with a second one
Guards  volatile conjuncts and conjuncts that may raise stay
"""

from __future__ import annotations

from optimizer.algebra.logical import Filter, SingleJoin
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import over
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class SingleJoinPushCondition(RewriteRule):
    name = "single_join_push_condition"
    pattern = node(SingleJoin, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(SingleJoin(predicate), (left, right)):
                here, moved = over(predicate, right.columns)
                if moved:
                    return Tree(SingleJoin(here), (left, Tree(Filter(moved), (right,))))
        return None
