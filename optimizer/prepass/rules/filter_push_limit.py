"""A filter moves below an operator that only orders rows.

    σp(λo(A))  ≡  λo(σp(A))

NULLs, rows   untouched: all rows pass, in an order that a filter keeps; fewer rows are left to be sorted
Guards        neither a count nor an offset: which rows these let through depends on all that come; no volatile conjunct, which
              might see the rows in another order
"""

from optimizer.algebra.logical import Filter, Limit
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Filter, node(Limit, ANY)))
def filter_push_limit(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Filter(predicate) as filter, (Tree(Limit(_, 0, None) as order, (below,)),)):
            if not any(s.volatile for s in predicate):
                return Tree(order, (Tree(filter, (below,)),))
    return None
