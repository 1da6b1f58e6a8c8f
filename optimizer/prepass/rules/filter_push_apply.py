"""A filter moves into a dependent join: conjuncts over one input go below it, of an inner one those over both become its own.

    σp(A ⋈̃q B(a))  ≡  σp_A(A) ⋈̃(q ∧ p_AB) σp_B(B(a))

Those over both go no further here (`apply_push_condition` takes them on): before decorrelation the right input is not to read
more of the left one than it does.

Kinds   to the left: inner, left, semi, anti, mark, single. Every row of A reaches the output as it is, or not at all, and whether
        it does depends on no other row. To the right and into the predicate: inner only; a conjunct over B above a left or
        single one also decides about NULL-extended rows, and above a mark, semi or anti one there is no column of B
NULLs   safe: a conjunct sees the same values below as above
Rows    of an inner one, a pair of rows comes out where q and p are TRUE, whichever is asked first
Guards  volatile conjuncts stay. So do conjuncts that may raise: on the left they would see rows of A without a match, on the
        right rows that fail q
"""

from __future__ import annotations

from dataclasses import replace

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Apply, Filter
from optimizer.algebra.scalars import Predicate, conjunction
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import over
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class FilterPushApply(RewriteRule):
    name = "filter_push_apply"
    pattern = node(Filter, node(Apply, ANY, ANY))

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Filter(predicate), (Tree(Apply(kind) as apply, (left, right)),)):
                above, on_left = over(predicate, left.columns)
                on_right: Predicate = ()
                if kind is JoinKind.INNER:
                    above, on_right = over(above, right.columns)
                    above, here = over(above, left.columns | right.columns)
                    if here:
                        apply = replace(apply, predicate=conjunction((*apply.predicate, *here)))
                if len(above) == len(predicate):
                    return None
                inputs = (
                    Tree(Filter(on_left), (left,)) if on_left else left,
                    Tree(Filter(on_right), (right,)) if on_right else right,
                )
                lower = Tree(apply, inputs)
                return Tree(Filter(above), (lower,)) if above else lower
        return None
