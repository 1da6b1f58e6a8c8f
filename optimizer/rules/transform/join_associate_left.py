"""Associativity of left joins, in both directions.

    (A ⟕p B) ⟕q C  ≡  A ⟕p (B ⟕q C)        p over A and B, q over B and C, q rejects NULLs on B

The right-hand form is bound as its mirror image (B ⟕q C) ⟖p A, which join_commute puts into the group. Associativity of an inner
or a full with a left join is join_commute with join_exchange_left or join_exchange_full.

Kinds   LEFT and LEFT
NULLs   a row of A without a match has a NULL row for B: q must not be TRUE of it, or it would find partners in C on the left-hand
        side only
Rows    same bag: a row of A without a match comes once, with NULLs for B and C on either side; same column set
Guards  q rejects NULLs on B and reads no column of A, p none of C; p links A and B, q links B and C, so no cross product appears
        (setting cross_products lifts this); nothing volatile; no conjunct of q may raise: either side shows it pairs that the
        other does not. p sees the same pairs
Source  Galindo-Legaria and Rosenthal, Outerjoin Simplification and Reordering, TODS 1997
"""

from collections.abc import Sequence

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.nulls import rejects_nulls
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import RuleContext, TransformationRule, join_over_join
from optimizer.rules.transform.regrouping import in_order, links, may_go_down

_LEFT, _RIGHT = JoinKind.LEFT, JoinKind.RIGHT


class JoinAssociateLeft(TransformationRule):
    name = "join_associate_left"
    pattern = join_over_join((_LEFT, _LEFT), (_LEFT, JoinKind.RIGHT))
    expands = "never"  # no inner join is looked for

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Join(JoinKind.LEFT, q), (Tree(Join(JoinKind.LEFT, p), (a, b)), c)):
                if any(s.volatile for s in p) or not may_go_down(q, b, c, context) or not rejects_nulls(q, b.columns):
                    return ()
                return (Tree(Join(_LEFT, p), (a, Tree(Join(_LEFT, q), (b, c)))),)
            case Tree(Join(JoinKind.RIGHT, p), (Tree(Join(JoinKind.LEFT, q), (b, c)), a)):
                if any(s.volatile or s.columns & c.columns for s in p) or any(s.volatile or s.raises for s in q):
                    return ()
                if not rejects_nulls(q, b.columns) or not in_order(a.columns | b.columns, context):
                    return ()
                if not (context.settings.cross_products or links(p, a, b)):
                    return ()
                return (Tree(Join(_LEFT, q), (Tree(Join(_LEFT, p), (a, b)), c)),)
        return ()
