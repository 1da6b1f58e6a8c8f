"""An aggregate takes over the expressions that a projection below it computes for its arguments.

    γK;f(e)(πK,e(A))  ≡  γK;f[e](A)        K are columns that the projection passes through

The aggregate then stands on the join that the projection was computed from, and the two can be exchanged.

NULLs   safe: values are the same
Guards  no volatile item is read; a computed item that is read more than once is not repeated
"""

from optimizer.algebra.columns import column_ids
from optimizer.algebra.logical import Aggregate, Project
from optimizer.algebra.rebuild import map_scalars
from optimizer.algebra.scalar_trees import substitute
from optimizer.algebra.scalars import ColumnRef
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import repeats
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Aggregate, node(Project, ANY)))
def aggregate_merge_project(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Aggregate(keys) as aggregate, (Tree(Project(computed), (below,)),)):
            values = dict(computed)
            if not all(isinstance(passed := values[key], ColumnRef) and passed.id == key for key in keys):
                return None
            calls = aggregate.scalars()
            if repeats(calls, values) or any(values[id].volatile for call in calls for id in column_ids(call.columns)):
                return None
            return Tree(map_scalars(aggregate, lambda call: substitute(call, values)), (below,))
    return None
