"""An aggregate takes over the expressions that a projection below it computes for its arguments.

    γK;f(e)(πK,e(A))  ≡  γK;f[e](A)        K are columns that the projection passes through

The aggregate then stands on the join that the projection was computed from, and the two can be exchanged.

NULLs   safe: values are the same
Guards  no volatile item is read; a computed item that is read more than once is not repeated
"""

from __future__ import annotations

from collections import Counter

from optimizer.algebra.logical import Aggregate, AggregateItem, Project
from optimizer.algebra.scalar_trees import substitute, walk
from optimizer.algebra.scalars import AggregateCall, ColumnRef, Literal
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class AggregateMergeProject(RewriteRule):
    name = "aggregate_merge_project"
    pattern = node(Aggregate, node(Project, ANY))

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Aggregate(keys, items), (Tree(Project(computed), (below,)),)):
                values = {item.id: item.value for item in computed}
                for key in keys:
                    passed = values[key]
                    if not isinstance(passed, ColumnRef) or passed.id != key:
                        return None
                uses = Counter(s.id for item in items for s in walk(item.call) if isinstance(s, ColumnRef))
                for id, times in uses.items():
                    if values[id].volatile or (times > 1 and not isinstance(values[id], ColumnRef | Literal)):
                        return None
                merged = []
                for item in items:
                    call = substitute(item.call, values)
                    assert isinstance(call, AggregateCall)
                    merged.append(AggregateItem(item.id, call))
                return Tree(Aggregate(keys, tuple(merged)), (below,))
        return None
