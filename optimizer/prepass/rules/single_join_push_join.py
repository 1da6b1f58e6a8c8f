"""A scalar subquery that reads no outer column is compared where the columns are that it is compared with.

    σp((A ⋈q B) ⟕1 C)  ≡  A ⋈q σp(B ⟕1 C)        p reads columns of B and C; likewise of A and C

There p is a filter of one relation, often an equality that an index or an order serves, and not of all that is joined.

Kinds   into the left input of all joins but right and full ones, into the right one of inner and right joins
NULLs   safe: p sees the same values above and below
Rows    same; the error of a second row of C, which is the same for all rows, comes up where B has rows, also if the join has none
Guards  the single join has no condition; nothing in the filter is volatile; what p asks does not raise
"""

from optimizer.algebra.building import filtered
from optimizer.algebra.columns import union
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter
from optimizer.algebra.logical_joins import Join, SingleJoin
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Filter, node(SingleJoin, node(Join, ANY, ANY), ANY)))
def single_join_push_join(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Filter(predicate), (Tree(SingleJoin(()) as single, (Tree(Join(kind=kind) as join, (left, right)), value)),)):
            asking = [conjunct for conjunct in predicate if conjunct.columns & value.columns]
            read = union(conjunct.columns for conjunct in asking) & ~value.columns
            if not read or any(each.volatile for each in predicate) or any(each.raises for each in asking):
                return None
            rest = conjunction(each for each in predicate if each not in asking)
            if not read & ~left.columns and kind not in (JoinKind.RIGHT, JoinKind.FULL):
                asked = filtered(conjunction(asking), Tree(single, (left, value)))
                return filtered(rest, Tree(join, (asked, right)))
            if not read & ~right.columns and kind in (JoinKind.INNER, JoinKind.RIGHT):
                asked = filtered(conjunction(asking), Tree(single, (right, value)))
                return filtered(rest, Tree(join, (left, asked)))
    return None
