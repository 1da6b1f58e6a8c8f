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

from optimizer.algebra.kinds import JoinKind
from optimizer.rules.interface import join_over_join
from optimizer.rules.transform.join_exchange_left import JoinExchangeLeft

_LEFT, _FULL = JoinKind.LEFT, JoinKind.FULL


class JoinExchangeFull(JoinExchangeLeft):
    name = "join_exchange_full"
    pattern = join_over_join((_LEFT, _FULL), (_FULL, _LEFT), (_FULL, _FULL))
    expands = "never"  # no inner join is looked for
