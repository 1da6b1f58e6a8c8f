"""Two adjacent limits become one.

    λo;i,n(λp;j,m(A))  ≡  λq;i+j,min(n, m-i)(A)        q the longer of o and p, one being the beginning of the other

Rows    the upper limit counts within the rows that the lower one lets pass; where o or p leaves a choice, q makes it
Guards  an upper limit without an order over one with an order is merged too: it may take any rows, so it takes the first; not
        the other way round, which would choose the best rows of all in place of some rows, nor with orders that differ
"""

from optimizer.algebra.logical import Limit
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Limit, node(Limit, ANY)))
def limit_merge(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Limit(upper, skip, most), (Tree(Limit(lower, skip_below, most_below), (below,)),)):
            shared = min(len(upper), len(lower))
            if upper[:shared] != lower[:shared] or (upper and not lower):
                return None
            count = most
            if most_below is not None:
                left = max(0, most_below - skip)
                count = left if most is None else min(most, left)
            order = upper if len(upper) > len(lower) else lower
            return Tree(Limit(order, skip + skip_below, count), (below,))
    return None
