"""A filter moves into a join: conjuncts over one input go below it, those over both become join predicates.

    σp(A ⋈q B)  ≡  A' ⋈(q ∧ p_AB) B'        A' = σp_A(A), B' = σp_B(B)

Kinds   inner: all three. To the left input also for left, semi and anti joins, to the right one also for right joins: rows
        of a kept side reach the output unchanged. Nothing passes to a NULL-extended side, and nothing through a full join
NULLs   safe: a conjunct over a kept side sees the same values above and below
Guards  volatile conjuncts stay; conjuncts that may raise do not go below the join, where they would see rows without
        a match, nor into a join predicate that may raise itself, which had sheltered them
"""

from __future__ import annotations

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter, Join
from optimizer.algebra.scalars import conjunction
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class FilterPushJoin(RewriteRule):
    name = "filter_push_join"
    pattern = node(Filter, node(Join, ANY, ANY))

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Filter(predicate), (Tree(Join(kind, on), (left, right)),)):
                to_left = kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
                to_right = kind in (JoinKind.INNER, JoinKind.RIGHT)
                above, here, on_left, on_right = [], list(on), [], []
                for conjunct in predicate:
                    if conjunct.volatile:
                        above.append(conjunct)
                    elif to_left and not conjunct.columns & ~left.columns and not conjunct.raises:
                        on_left.append(conjunct)
                    elif to_right and not conjunct.columns & ~right.columns and not conjunct.raises:
                        on_right.append(conjunct)
                    elif kind is JoinKind.INNER and not (conjunct.raises and any(s.raises for s in on)):
                        here.append(conjunct)
                    else:
                        above.append(conjunct)
                if len(above) == len(predicate):
                    return None
                if on_left:
                    left = Tree(Filter(conjunction(on_left)), (left,))
                if on_right:
                    right = Tree(Filter(conjunction(on_right)), (right,))
                joined = Tree(Join(kind, conjunction(here)), (left, right))
                return Tree(Filter(conjunction(above)), (joined,)) if above else joined
        return None
