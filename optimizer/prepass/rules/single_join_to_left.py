"""A single join that cannot find a second match is a left join.

    A ⟕1,p B  ≡  A ⟕p B        p binds a key of B to columns of A, or B has at most one row

A left join can be reordered, and a filter that rejects its NULL-extended rows makes it an inner one; as long as the join is
single, such a filter does not: the error comes first.

Kinds   SINGLE, of a join and of an Apply (whose keys of B are those of one evaluation)
NULLs   a NULL in a key of B matches nothing
Rows    each row of A comes once on both sides, and neither raises
Guards  the key is unique by what the operators say (`LogicalProps.keys`)
"""

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import AnyJoin, Apply, Join, SingleJoin
from optimizer.algebra.trees import Tree
from optimizer.prepass.row_bounds import at_most_one_match
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node((SingleJoin, Apply), ANY, ANY))
def single_join_to_left(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(AnyJoin(kind=JoinKind.SINGLE, predicate=predicate) as op, (left, right)) if at_most_one_match(
            predicate, left, right
        ):
            return Tree((Apply if isinstance(op, Apply) else Join)(JoinKind.LEFT, predicate), bound.inputs)
    return None
