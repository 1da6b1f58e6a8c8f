"""A limit moves below a join that gives each row of its left input exactly once.

    λo;i,n(A ⟕p B)  ≡  λo;i,n(A) ⟕p B        o over columns of A, or none

Kinds   MARK and SINGLE, which are such joins; left (right, as its mirror image) where no row of A matches two of B: p binds a
        key of B to columns of A, or B has at most one row; likewise of an Apply. Inner without a condition, where B has exactly
        one row
NULLs   safe: NULL-extended columns of B and the mark take no part in o
Rows    row by row the same: the join adds columns to the rows that the limit would let pass. An offset moves along. The error
        of a single join comes up for fewer rows
Guards  o reads nothing but columns of A; neither p nor B is volatile (other rows would be drawn for them)
"""

from optimizer.algebra.columns import column_set
from optimizer.algebra.logical import Limit, LogicalOperator
from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.row_bounds import kept_once
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Limit, node(LogicalOperator, ANY, ANY)))
def limit_push_one_match(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Limit(order) as limit, (Tree() as joined,)):
            side = kept_once(joined)
            if side is None:
                return None
            kept, other = joined.inputs[side], joined.inputs[1 - side]
            if column_set(key.column for key in order) & ~kept.columns or other.volatile:
                return None
            limited: Node = Tree(limit, (kept,))
            return Tree(joined.op, (limited, other) if side == 0 else (other, limited))
    return None
