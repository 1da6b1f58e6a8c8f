"""An outer join under a filter that rejects its NULL-extended rows becomes the join without them.

    σp(A ⟕q B)  ≡  σp(A ⋈q B)        where p is never TRUE when all columns of B are NULL

Kinds   left and right become inner; full becomes left, right or inner, depending on the side whose NULLs p rejects
NULLs   p rejects NULL in a column of B when the column stands in it under strict functions and comparisons only
Source  Galindo-Legaria and Rosenthal, Outerjoin Simplification and Reordering, TODS 1997
"""

from __future__ import annotations

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter, Join
from optimizer.algebra.nulls import null_rejected
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class OuterJoinSimplify(RewriteRule):
    name = "outer_join_simplify"
    pattern = node(Filter, node(Join, ANY, ANY))

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Filter(predicate) as above, (Tree(Join(kind, on), (left, right)),)):
                rejected = null_rejected(predicate)
                keeps_left = kind.keeps_left and not rejected & right.columns
                keeps_right = kind.keeps_right and not rejected & left.columns
                if (keeps_left, keeps_right) != (kind.keeps_left, kind.keeps_right):
                    simpler = {
                        (True, True): JoinKind.FULL,
                        (True, False): JoinKind.LEFT,
                        (False, True): JoinKind.RIGHT,
                        (False, False): JoinKind.INNER,
                    }[keeps_left, keeps_right]
                    return Tree(above, (Tree(Join(simpler, on), (left, right)),))
        return None
