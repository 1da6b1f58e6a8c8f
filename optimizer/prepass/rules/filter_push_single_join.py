"""A filter moves below a single join, to the left.

    σp(A ⟕1,q B)  ≡  σ_rest(σp_A(A) ⟕1,q B)        p_A: the conjuncts over A alone

Kinds   SINGLE. A conjunct over B stays: below, it would take away second matches, and with them the error, and it would turn
        rows with a match that fails it into NULL-extended ones
NULLs   safe: p_A sees the same values below as above
Rows    the error for a second match comes up for fewer rows of A: those that the filter keeps
Guards  volatile conjuncts and conjuncts that may raise stay
"""

from __future__ import annotations

from optimizer.algebra.logical import Filter, SingleJoin
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import over
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class FilterPushSingleJoin(RewriteRule):
    name = "filter_push_single_join"
    pattern = node(Filter, node(SingleJoin, ANY, ANY))

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Filter(predicate), (Tree(SingleJoin() as join, (left, right)),)):
                above, below = over(predicate, left.columns)
                if below:
                    lower = Tree(join, (Tree(Filter(below), (left,)), right))
                    return Tree(Filter(above), (lower,)) if above else lower
        return None
