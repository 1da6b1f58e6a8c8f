"""A filter moves below a mark join, to the left.

    σp(A ⋈mark,q B)  ≡  σ_rest(σp_A(A) ⋈mark,q B)        p_A: the conjuncts over A alone

Kinds   MARK. Every row of A comes out once with its own columns unchanged; what reads the mark stays above, and no column of B
        comes out
NULLs   safe: p_A sees the same values below as above
Rows    the mark of a row depends on that row and B, not on other rows of A
Guards  volatile conjuncts and conjuncts that may raise stay
"""

from __future__ import annotations

from optimizer.algebra.logical import Filter, MarkJoin
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import over
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class FilterPushMarkJoin(RewriteRule):
    name = "filter_push_mark_join"
    pattern = node(Filter, node(MarkJoin, ANY, ANY))

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Filter(predicate), (Tree(MarkJoin() as join, (left, right)),)):
                above, below = over(predicate, left.columns)
                if below:
                    lower = Tree(join, (Tree(Filter(below), (left,)), right))
                    return Tree(Filter(above), (lower,)) if above else lower
        return None
