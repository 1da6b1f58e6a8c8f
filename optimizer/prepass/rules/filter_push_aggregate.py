"""A filter on grouping keys moves below the aggregate.

    σp(γk;f(A))  ≡  γk;f(σp(A))        p over k only

NULLs   safe: all rows of a group agree on k, NULL included, so p keeps or drops whole groups
Guards  there are keys (without keys there is a row even over no input); p reads keys only, and gives equal results for equal
        keys (floats: 0.0 and -0.0 are one group, 1 / x tells them apart); no volatile conjunct; where a conjunct stays above,
        none that may raise goes below, out of its shelter
"""

from optimizer.algebra.columns import column_set
from optimizer.algebra.logical import Aggregate, Filter
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import congruent_over, filter_lowered
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Filter, node(Aggregate, ANY)))
def filter_push_aggregate(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Filter(), (Tree(Aggregate((_, *_) as keys)),)):
            return filter_lowered(bound, congruent_over(column_set(keys)))
    return None
