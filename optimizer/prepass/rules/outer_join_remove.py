"""A left join whose right side nobody reads disappears, where it cannot repeat rows of the left side or that does not matter.

    π_A(A ⟕p B)  ≡  π_A(A)        no row of A matches two of B: p binds a key of B to columns of A, or B has at most one row
    π_A(A ⋈m,p B)  ≡  π_A(A)        the mark join with the mark m, whatever B is
    δ(π_A(A ⟕p B))  ≡  δ(π_A(A))        whatever B is; likewise below min, max, UNION, and on the right of a semi or anti join

Kinds   left, and right as its mirror image; left of an Apply, whose keys of B are those of one evaluation; mark, of a join and of
        an Apply
NULLs   a left join keeps every row of A, with a match or without one; NULL keys of B match nothing; of a mark nobody asks
Rows    each row of A comes exactly once on both sides, or duplicates do not matter
Guards  nothing between here and the operator where columns end reads a column of B, or the mark; nothing in p or B is volatile,
        or may raise: an error would be lost
"""

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.flags import MARK, OUTER_JOIN, RAISES
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import AnyJoin, Apply, Join
from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.demand import ENDS, reduce_joins
from optimizer.prepass.row_bounds import at_most_one_match
from optimizer.rules.interface import RuleContext, rewrite


@rewrite(ENDS, openings=OUTER_JOIN | MARK)
def outer_join_remove(bound: Tree, context: RuleContext) -> Tree | None:
    return reduce_joins(bound, _kept_side)


def _kept_side(join: Tree, needed: ColumnSet, once: bool) -> Node | None:
    """The kept side of an outer join whose other side is not needed, or of a mark join whose mark is not."""
    match join:
        case Tree(AnyJoin(predicate=p, mark=int()), (kept, other)):
            once = True
        case Tree(Join(JoinKind.LEFT, p) | Apply(JoinKind.LEFT, p), (kept, other)) | Tree(Join(JoinKind.RIGHT, p), (other, kept)):
            pass
        case _:
            return None
    if needed & join.columns & ~kept.columns or other.volatile or any(s.volatile or s.raises for s in p):
        return None
    return kept if (once or at_most_one_match(p, kept, other)) and not other.flags & RAISES else None
