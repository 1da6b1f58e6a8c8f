"""A filter on keys that every grouping set has moves below the grouping.

    σp(γS;f(A))  ≡  γS;f(σp[k](A))        p over keys in all sets of S; p[k]: each key replaced by the column it groups

NULLs   safe: in each set rows of a group agree on these keys, NULL included, so p keeps or drops whole groups. A key that a set
        lacks is NULL there whatever its column holds, so what reads it stays
Guards  no set is empty (it has a row even over no input); p gives equal results for equal keys; no volatile conjunct; where a
        conjunct stays above, none that may raise goes below, out of its shelter
"""

from functools import reduce
from operator import and_

from optimizer.algebra.building import reference
from optimizer.algebra.columns import column_set
from optimizer.algebra.logical import Filter, GroupingSets
from optimizer.algebra.scalar_trees import substitute
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import congruent_over, filter_lowered
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Filter, node(GroupingSets, ANY)))
def filter_push_grouping_sets(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Filter(), (Tree(GroupingSets(keys, sets)),)) if all(sets):
            everywhere = reduce(and_, sets)
            values: dict[int, Scalar] = {k.id: reference(k.source, context.columns) for k in keys if everywhere >> k.id & 1}
            over_keys = congruent_over(column_set(values))
            return filter_lowered(bound, lambda s: None if over_keys(s) is None else substitute(s, values))
    return None
