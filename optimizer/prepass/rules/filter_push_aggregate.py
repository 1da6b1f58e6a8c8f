"""A filter on grouping keys moves below the aggregate.

    σp(γk;f(A))  ≡  γk;f(σp(A))        p over k only

NULLs   safe: all rows of a group agree on k, NULL included, so p keeps or drops whole groups
Guards  there are keys (without keys there is a row even over no input); p reads keys only, and gives equal results for equal
        keys (floats: 0.0 and -0.0 are one group, 1 / x tells them apart); no volatile conjunct; where a conjunct stays above,
        none that may raise goes below, out of its shelter
"""

from __future__ import annotations

from optimizer.algebra.columns import column_set
from optimizer.algebra.congruence import is_congruent
from optimizer.algebra.logical import Aggregate, Filter
from optimizer.algebra.scalars import conjunction
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class FilterPushAggregate(RewriteRule):
    name = "filter_push_aggregate"
    pattern = node(Filter, node(Aggregate, ANY))

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Filter(predicate), (Tree(Aggregate(keys) as aggregate, (below,)),)) if keys:
                within = column_set(keys)
                moved = [s for s in predicate if not s.columns & ~within and is_congruent(s)]
                if len(moved) < len(predicate):  # what stays above may keep groups from a conjunct that raises
                    moved = [s for s in moved if not s.raises]
                if moved:
                    kept = conjunction(s for s in predicate if s not in moved)
                    lower = Tree(aggregate, (Tree(Filter(conjunction(moved)), (below,)),))
                    return Tree(Filter(kept), (lower,)) if kept else lower
        return None
