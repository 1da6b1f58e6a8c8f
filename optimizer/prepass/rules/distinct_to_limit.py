"""The distinct rows of rows that are all alike are any one of them.

    γK(A)  ≡  π K(λ1(A))        every column of K has one value in all rows of A; there are no aggregates

NULLs   one value includes NULL
Rows    one row, none over no input, as an aggregate with keys
Guards  there are keys: an aggregate without any has a row even over no input
"""

from optimizer.algebra.building import passed
from optimizer.algebra.columns import column_set
from optimizer.algebra.logical import Aggregate, Limit, Project
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Aggregate, ANY))
def distinct_to_limit(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Aggregate(keys, ()), (below,)) if keys and not column_set(keys) & ~below.props.constants:
            shown = passed(keys, context.columns)
            return Tree(Project(shown), (Tree(Limit((), 0, 1), (below,)),))
    return None
