"""Correlated conjuncts go from the right input of an Apply into its predicate, and values that read both sides above it.

    L A⊗q π_v(σ_p(E))  ≡  π_{L,v}(L ⊗_{q ∧ p} E)        E, without p and v, reads no column of L

Kinds   inner, left, semi, anti, mark, single; v only where the right columns are put out, else it is put into the predicate
NULLs   left, single: v is NULL where there was no match, whatever it makes of NULLs: a column that is TRUE in E tells. Mark: a
        row of which p is UNKNOWN is no row of the subquery, so p is asked as p IS TRUE
Guards  volatile scalars stay. All of R's correlation must be in what moves (`pull_up` says through which operators)
"""

from optimizer.algebra.logical_joins import Apply
from optimizer.algebra.scalar_trees import bound_to
from optimizer.algebra.trees import Tree
from optimizer.decorrelate.pull_up import pull_up, pulled_join
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class ApplyPullConjuncts(RewriteRule):
    name = "apply_pull_conjuncts"
    pattern = node(Apply, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Apply() as op, (Tree() as left, Tree() as right)):
                free = right.outer & left.columns
                if not free or right.volatile:
                    return None
                pulled = pull_up(right, free, context.columns)
                if pulled is None:
                    return None
                predicate = tuple(bound_to(s, left.columns) for s in op.predicate)
                return pulled_join(op, predicate, left, pulled, context.columns)
        return None
