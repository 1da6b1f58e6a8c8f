"""Conjuncts of a join predicate over one input move below the join.

    A ⋈(p ∧ p_B) B  ≡  A ⋈p σp_B(B)

Kinds   to the right input: inner, left, semi, anti (a right row that fails p_B can match nothing); to the left input: inner,
        right, semi. A left join keeps a left row that fails p_A, an anti join returns it, a full join keeps both sides
NULLs   safe: FALSE and UNKNOWN both mean no match
Guards  volatile conjuncts and conjuncts that may raise stay
"""

from __future__ import annotations

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter, Join
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class JoinPushCondition(RewriteRule):
    name = "join_push_condition"
    pattern = node(Join, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Join(kind, predicate), (left, right)):
                to_right = kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
                to_left = kind in (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI)
                here, on_left, on_right = [], [], []
                not_left, not_right = ~left.columns, ~right.columns
                for conjunct in predicate:
                    if conjunct.volatile or conjunct.raises:
                        here.append(conjunct)
                    elif to_right and not conjunct.columns & not_right:
                        on_right.append(conjunct)
                    elif to_left and not conjunct.columns & not_left:
                        on_left.append(conjunct)
                    else:
                        here.append(conjunct)
                if on_left or on_right:  # parts of a predicate are predicates: in canonical order, without duplicates
                    if on_left:
                        left = Tree(Filter(tuple(on_left)), (left,))
                    if on_right:
                        right = Tree(Filter(tuple(on_right)), (right,))
                    return Tree(Join(kind, tuple(here)), (left, right))
        return None
