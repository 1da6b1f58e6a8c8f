"""A filter moves below a dependent join: conjuncts over the left columns to the left, of an inner one all others to the right.

    σp(A ⋈̃q B(a))  ≡  σp_A(A) ⋈̃q σp_AB(B(a))        in p_AB, columns of A are references to the row B is evaluated for

Kinds   to the left: inner, left, semi, anti, mark, single. Every row of A reaches the output as it is, or not at all, and whether
        it does depends on no other row. To the right: inner only; a conjunct over B above a left or single one also decides
        about NULL-extended rows, and above a mark, semi or anti one there is no column of B
NULLs   safe: a conjunct sees the same values below as above
Rows    of an inner one, a pair of rows comes out where q and p are TRUE, whichever is asked first
Guards  volatile conjuncts stay. So do conjuncts that may raise: on the left they would see rows of A without a match, on the
        right rows that fail q
"""

from __future__ import annotations

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Apply, Filter
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import for_row, over
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class FilterPushApply(RewriteRule):
    name = "filter_push_apply"
    pattern = node(Filter, node(Apply, ANY, ANY))

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Filter(predicate), (Tree(Apply(kind) as apply, (left, right)),)):
                above, on_left = over(predicate, left.columns)
                on_right: tuple[Scalar, ...] = ()
                if kind is JoinKind.INNER:
                    above, on_right = over(above, left.columns | right.columns)
                if not on_left and not on_right:
                    return None
                inputs = (
                    Tree(Filter(on_left), (left,)) if on_left else left,
                    Tree(Filter(for_row(on_right, left.columns)), (right,)) if on_right else right,
                )
                lower = Tree(apply, inputs)
                return Tree(Filter(above), (lower,)) if above else lower
        return None
