"""A limit that lets all rows pass, or none, is no limit.

    λ0,all(A) ≡ A        λo;0,n(A) ≡ λo(A), A has at most n rows        λo;i,n(A) ≡ ∅, A has at most i rows
    λo(A) ≡ A, A has at most one row

Rows    the same. The order stays, as a limit above may count in it (limit_merge); sort_remove takes it away where nothing does
Guards  how many rows A has at most is seen (row_bounds.py, or a key without columns); a scan's limit has its own rule
"""

from optimizer.algebra.logical import Limit
from optimizer.algebra.trees import Tree
from optimizer.prepass.row_bounds import most_rows
from optimizer.prepass.rules.empty_propagate import nothing
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Limit, ANY))
def limit_remove(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Limit(order, offset, count), (Tree() as below,)):
            most = most_rows(below)
            if most is not None and offset and most <= offset:
                return nothing(bound.columns, context)
            if most is not None and count is not None and most <= offset + count:
                count = None
            if most is not None and most <= 1:
                order = ()
            if not order and not offset and count is None:
                return below
            limited = Limit(order, offset, count)
            return None if limited == bound.op else Tree(limited, (below,))
    return None
