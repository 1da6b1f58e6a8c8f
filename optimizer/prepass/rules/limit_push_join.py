"""A limit is also put on the side that an outer join keeps.

    λo;i,n(A ⟕p B)  ≡  λo;i,n(λo;0,i+n(A) ⟕p B)        o over columns of A, or none

Every row of A comes out at least once, so the first i + n rows of the join come from the first i + n rows of A.

Kinds   left, also of an Apply; right, with the right input. Where no row of A comes twice the limit itself moves
        (limit_push_one_match). An inner join may drop all of the first rows of A, even one that keeps A's key: only
        a foreign key from A to B, with columns that are not NULL, would forbid that. A full join adds rows of B
NULLs   safe: NULL-extended columns of B take no part in o
Rows    the same, in an order that breaks ties by the rows of A
Guards  there is a count; A has more rows than that, as far as can be seen
"""

from __future__ import annotations

from optimizer.algebra.columns import column_set
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Apply, Join, Limit, LogicalOperator
from optimizer.algebra.trees import Tree
from optimizer.prepass.row_bounds import most_rows
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class LimitPushJoin(RewriteRule):
    name = "limit_push_join"
    pattern = node(Limit, node(LogicalOperator, ANY, ANY))

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Limit(order, offset, int() as count), (Tree((Join(kind) | Apply(kind)) as join, (left, right)),)):
                if kind not in (JoinKind.LEFT, JoinKind.RIGHT):
                    return None
                kept = left if kind is JoinKind.LEFT else right
                rows, most = offset + count, most_rows(kept)
                if column_set(key.column for key in order) & ~kept.columns or (most is not None and most <= rows):
                    return None
                limited = Tree(Limit(order, 0, rows), (kept,))
                inputs = (limited, right) if kind is JoinKind.LEFT else (left, limited)
                return Tree(bound.op, (Tree(join, inputs),))
        return None
