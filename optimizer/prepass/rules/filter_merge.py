"""Two adjacent filters become one; a filter on TRUE disappears.

    σp(σq(A))  ≡  σ(p ∧ q)(A)        σTRUE(A)  ≡  A

NULLs   safe: a row survives both filters exactly when both predicates are TRUE
Guards  not when conjuncts of both may raise: the upper ones must only see rows that passed the lower ones, and within one
        predicate only conjuncts that cannot raise are sure to be tested first
"""

from optimizer.algebra.logical import Filter
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Filter, ANY))
def filter_merge(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Filter(()), (Tree() as below,)):
            return below
        case Tree(Filter(p), (Tree(Filter(q), (below,)),)):
            if not (any(s.raises for s in p) and any(s.raises for s in q)):
                return Tree(Filter(conjunction((*p, *q))), (below,))
    return None
