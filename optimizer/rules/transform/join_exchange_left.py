"""Two joins on the same left input change places, where one is a left join and the other a left or an inner join.

    (A ⋈p B) ⟕q C  ≡  (A ⟕q C) ⋈p B        (A ⟕p B) ⋈q C  ≡  (A ⋈q C) ⟕p B
    (A ⟕p B) ⟕q C  ≡  (A ⟕q C) ⟕p B        p over A and B, q over A and C

Either join gives, for a row of A, its matches (a left join at least a NULL row); which of the two is taken first does not matter.
With join_commute this is also the associativity of an inner with a left join, and it serves right joins, their mirror
images: (B ⋈p A) ⟕q C ≡ B ⋈p (A ⟕q C).

Kinds   one LEFT, the other LEFT or INNER; two inner joins: join_associate; with a full join, of which the
        guards here too: join_exchange_full
NULLs   safe: neither predicate reads what the other join extends with NULLs
Rows    same bag: for each row of A the product of its matches in B and in C; same column set
Guards  q reads no column of B; q links A and C, so no cross product appears (setting cross_products lifts this); nothing
        volatile; no conjunct of q may raise: it would see rows of A that the other join had removed
Source  Galindo-Legaria and Rosenthal, TODS 1997; Moerkotte, Fender and Eich, SIGMOD 2013 (table of l-asscom)
"""

from collections.abc import Sequence

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.nulls import rejects_nulls
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import RuleContext, TransformationRule, join_over_join
from optimizer.rules.transform.regrouping import may_go_down


class JoinExchangeLeft(TransformationRule):
    name = "join_exchange_left"
    pattern = join_over_join((JoinKind.INNER, JoinKind.LEFT), (JoinKind.LEFT, JoinKind.INNER), (JoinKind.LEFT, JoinKind.LEFT))
    expands = "small"

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Join(upper, q), (Tree(Join(lower, p), (a, b)), c)):
                full = [tested for kind, tested in ((upper, p), (lower, q)) if kind is JoinKind.FULL]
                stays = any(s.volatile or (full and s.raises) for s in p) or not all(rejects_nulls(t, a.columns) for t in full)
                if not stays and may_go_down(q, a, c, context):
                    return (Tree(Join(lower, p), (Tree(Join(upper, q), (a, c)), b)),)
        return ()
