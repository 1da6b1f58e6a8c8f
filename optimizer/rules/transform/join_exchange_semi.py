"""A semi or anti join changes places with another join on the same left input: it moves below that join, or above it.

    (A ⋈p B) ⋉q C  ≡  (A ⋉q C) ⋈p B        likewise ▷ for ⋉, and ⟕, ⋉ or ▷ for ⋈        p over A and B, q over A and C

Each of the two joins decides for a row of A alone: how often it appears, and with what. A semi or anti join that reads the
right input of an inner join goes there by way of join_commute; the right input of a left join is no place for it.

Kinds   at least one SEMI or ANTI, the other also INNER or LEFT; a full join adds rows without A, which are nobody's to filter
NULLs   safe: q does not read B, so NULL-extension of B does not matter to it; UNKNOWN is no match, below as above
Rows    same bag: a row of A that the semi or anti join keeps comes with all its matches in B; same column set
Guards  q reads no column of B; q links A and C, so no cross product appears (setting cross_products lifts this); nothing
        volatile; no conjunct of q may raise: it would see rows of A that the other join had removed
Source  Rao et al., TODS 2004 (antijoins); Moerkotte, Fender and Eich, SIGMOD 2013 (table of l-asscom)
"""

from optimizer.algebra.kinds import JoinKind
from optimizer.rules.interface import join_over_join
from optimizer.rules.transform.join_exchange_left import JoinExchangeLeft

_MOVABLE = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


class JoinExchangeSemi(JoinExchangeLeft):
    name = "join_exchange_semi"
    pattern = join_over_join(*((a, b) for a in _MOVABLE for b in _MOVABLE if a.left_only or b.left_only))
