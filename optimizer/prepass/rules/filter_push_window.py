"""A filter on partitioning columns moves below the window.

    σp(ω k;f(A))  ≡  ω k;f(σp(A))        p over columns that k determines

NULLs   safe: partitions take NULL for a value, and rows of one partition agree on p, so p keeps or drops whole partitions
Rows    what a window computes for a row depends on its partition alone
Guards  p gives equal results for equal partitioning values (floats: 0.0 and -0.0 are one partition, 1 / x tells them apart);
        no volatile conjunct; where a conjunct stays above, none that may raise goes below, out of its shelter
"""

from optimizer.algebra.columns import column_set
from optimizer.algebra.logical import Filter, Window
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import congruent_over, filter_lowered
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Filter, node(Window, ANY)))
def filter_push_window(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Filter(), (Tree(Window(partition), (below,)),)):
            return filter_lowered(bound, congruent_over(below.props.closure(column_set(partition)) & below.columns))
    return None
