"""A mark join whose mark nobody reads disappears.

    π_A(A ⋈m,p B)  ≡  π_A(A)

Kinds   MARK, of a join and of an Apply
NULLs   whatever the mark is, nobody asks
Rows    a mark join keeps every row of A once
Guards  nothing between here and the operator where columns end reads the mark; nothing in p or B is volatile, or may raise:
        an error would be lost
"""

from __future__ import annotations

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.flags import MARK
from optimizer.algebra.logical_joins import AnyJoin
from optimizer.algebra.raising import may_raise
from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.demand import ENDS, reduce_joins
from optimizer.rules.interface import RuleContext, rewrite


@rewrite(ENDS, openings=MARK)
def mark_join_remove(bound: Tree, context: RuleContext) -> Tree | None:
    return reduce_joins(bound, without_mark)


def without_mark(join: Tree, needed: ColumnSet, once: bool) -> Node | None:
    """The left side of a mark join whose mark is not needed."""
    match join:
        case Tree(AnyJoin(predicate=predicate, mark=int() as mark), (left, right)):
            if needed >> mark & 1 or any(s.volatile or s.raises for s in predicate):
                return None
            if not right.volatile and not may_raise(right):
                return left
    return None
