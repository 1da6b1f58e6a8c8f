"""Sort keys that the ones before them determine do nothing.

    λo,k,q;i,n(A)  ≡  λo,q;i,n(A)        o determines k: k is constant, equal to a column of o, or depends on o

NULLs   safe: a dependency takes NULL for a value, and rows that agree on it are peers
Rows    peers by o are peers by o, k
Guards  none: where k takes part in no decision, leaving it out changes none
Source  Simmen, Shekita and Malkemus, Fundamental Techniques for Order Optimization, SIGMOD 1996 (§4.1, reduce order)
"""

from optimizer.algebra.logical import Limit
from optimizer.algebra.traits import SortKey
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Limit, ANY))
def limit_reduce_order(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Limit((_, *_) as order, offset, count), (below,)):
            props = below.props
            kept: list[SortKey] = []
            known = 0
            for key in order:
                if not props.closure(known) >> key.column & 1:
                    kept.append(key)
                    known |= 1 << key.column
            if len(kept) < len(order):
                return Tree(Limit(tuple(kept), offset, count), (below,))
    return None
