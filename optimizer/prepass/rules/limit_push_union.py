"""A limit is also put on every branch of a union.

    λo;i,n(A ∪ B)  ≡  λo;i,n(λo;0,i+n(A) ∪ λo;0,i+n(B))        ∪ with ALL

Rows    the first i + n rows of the union are among the first i + n of each branch, in an order that breaks ties the same way
Guards  there is a count; a branch that has so few rows anyway is left as it is
"""

from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Limit, SetOp
from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.row_bounds import first_rows
from optimizer.rules.interface import RuleContext, node, rewrite


@rewrite(node(Limit, node(SetOp)))
def limit_push_union(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(
            Limit(order, offset, int() as count), (Tree(SetOp(SetOpKind.UNION, True, columns, sources), branches) as union,)
        ):
            limited: list[Node] = []
            for branch, source in zip(branches, sources, strict=True):
                own = tuple(key._replace(column=source[columns.index(key.column)]) for key in order)
                limited.append(first_rows(branch, own, offset + count))
            below = union.with_inputs(tuple(limited))
            return None if below is union else Tree(bound.op, (below,))
    return None
