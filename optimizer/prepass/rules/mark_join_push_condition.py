"""Conjuncts of a mark join's predicate over the right input move below it, where they cannot be NULL.

    A ⋈mark,(p ∧ p_B) B  ≡  A ⋈mark,p σp_B(B)        p_B is never NULL

Kinds   MARK
NULLs   where p_B is FALSE, so is p ∧ p_B, and the row of B adds nothing to the mark. Where it were NULL, the row could make the
        mark UNKNOWN, so a conjunct that can be NULL stays
Rows    untouched: a mark join keeps every row of A once
Guards  volatile conjuncts and conjuncts that may raise stay, and all over the left input: a row of A that fails one has a
        mark, too
"""

from __future__ import annotations

from optimizer.algebra.logical import Filter, MarkJoin
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import over
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class MarkJoinPushCondition(RewriteRule):
    name = "mark_join_push_condition"
    pattern = node(MarkJoin, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(MarkJoin(predicate, mark), (left, right)):
                _, within = over(predicate, right.columns)
                moved = tuple(s for s in within if is_not_null(s, right.props.not_null))
                if moved:
                    here = tuple(s for s in predicate if s not in moved)
                    return Tree(MarkJoin(here, mark), (left, Tree(Filter(moved), (right,))))
        return None
