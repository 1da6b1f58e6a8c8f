"""A limit is also put on the side that an outer join keeps, and on both sides of a join without a condition.

    λo;i,n(A ⟕p B)  ≡  λo;i,n(λo;0,i+n(A) ⟕p B)        o over columns of A, or none
    λo;i,n(A × B)   ≡  λo;i,n(λo;0,i+n(A) × λ0,i+n(B))

Every row of A comes out at least once, or none does because B is empty, so the first i + n rows of the join come from the first
i + n rows of A. Without a condition a row of A meets all rows of B: i + n of them, any, are enough.

Kinds   left, also of an Apply; right, with the right input. Where no row of A comes twice the limit itself moves
        (limit_push_one_match). Inner: without a condition; else it may drop all of the first rows of A, even one that keeps
        A's key: only a foreign key from A to B, with columns that are not NULL, would forbid that. A full join adds rows of B.
        The other side, B: of a join, not of an Apply, whose right input decorrelation would find harder with a limit
NULLs   safe: NULL-extended columns of B take no part in o
Rows    the same, in an order that breaks ties by the rows of A
Guards  there is a count; A has more rows than that, as far as can be seen
"""

from optimizer.algebra.columns import column_set
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Limit, LogicalOperator
from optimizer.algebra.logical_joins import Apply, Join
from optimizer.algebra.trees import Tree
from optimizer.prepass.row_bounds import first_rows
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Limit, node(LogicalOperator, ANY, ANY)))
def limit_push_join(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Limit(order, offset, int() as count), (Tree((Join(kind) | Apply(kind)) as join, (left, right)),)):
            crossed = isinstance(join, Join) and not join.predicate
            if not (kind in (JoinKind.LEFT, JoinKind.RIGHT) or (kind is JoinKind.INNER and crossed)):
                return None
            ordered, rows = column_set(key.column for key in order), offset + count
            from_right = kind is JoinKind.RIGHT or (kind is JoinKind.INNER and bool(ordered & right.columns))
            if ordered & ~(right if from_right else left).columns:
                return None
            on_left, on_right = left, right
            if crossed or not from_right:
                on_left = first_rows(left, () if from_right else order, rows)
            if crossed or from_right:
                on_right = first_rows(right, order if from_right else (), rows)
            if on_left is not left or on_right is not right:
                return Tree(bound.op, (Tree(join, (on_left, on_right)),))
    return None
