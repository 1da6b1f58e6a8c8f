"""Two joins on the same left input change places, where one is a full join and the other a full or a left join.

    (A ⟕p B) ⟗q C  ≡  (A ⟗q C) ⟕p B        if p rejects NULLs on A
    (A ⟗p B) ⟕q C  ≡  (A ⟕q C) ⟗p B        if q rejects NULLs on A
    (A ⟗p B) ⟗q C  ≡  (A ⟗q C) ⟗p B        if p and q reject NULLs on A        p over A and B, q over A and C

A full join adds rows in which A is all NULL. The predicate of the other join must not be TRUE of them: then they find no
match there. A predicate that only rejects NULLs on its other side is not enough. With join_commute this is also the
associativity of full joins, A ⟗ (B ⟗ C) ≡ (A ⟗ B) ⟗ C, and of a full with a left join.

Kinds   LEFT below FULL, FULL below LEFT, FULL below FULL; an inner, semi or anti join does not change places with a full join
NULLs   "rejects NULLs on A": never TRUE when all columns of A are NULL, whatever the others are
Rows    same bag: matches of rows of A as for left joins, and each row of B or C without a match once; same column set
Guards  q reads no column of B; q links A and C (setting cross_products lifts this); nothing volatile; nothing that may raise
        in p or q, since both see other NULL-extended rows than before
Source  Moerkotte, Fender and Eich, On the Correct and Complete Enumeration of the Core Search Space, SIGMOD 2013 (conditions of
        l-asscom). The condition for a full below a left join is on A; that it must be was found by exhaustive evaluation
"""

from collections.abc import Sequence

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.nulls import rejects_nulls
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import RuleContext, TransformationRule, join_over_join
from optimizer.rules.transform.regrouping import may_go_down

_LEFT, _FULL = JoinKind.LEFT, JoinKind.FULL


class JoinExchangeFull(TransformationRule):
    name = "join_exchange_full"
    pattern = join_over_join((_LEFT, _FULL), (_FULL, _LEFT), (_FULL, _FULL))
    expands = "never"  # no inner join is looked for

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Join(upper, q), (Tree(Join(lower, p), (a, b)), c)):
                if not may_go_down(q, a, c, context) or any(s.volatile or s.raises for s in p):
                    return ()
                if upper is _FULL and not rejects_nulls(p, a.columns):
                    return ()
                if lower is _FULL and not rejects_nulls(q, a.columns):
                    return ()
                return (Tree(Join(lower, p), (Tree(Join(upper, q), (a, c)), b)),)
        return ()
