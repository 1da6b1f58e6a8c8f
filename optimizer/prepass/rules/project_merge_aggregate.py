"""An aggregate gives its results the names that a projection above it would give them.

    π K,b:=a (γK;a:=f(A))  ≡  γK;b:=f(A)

NULLs   safe: values are the same
Guards  the projection passes every grouping column through under its own id, and computes nothing; no result has two names
"""

from optimizer.algebra.columns import ColumnId
from optimizer.algebra.logical import Aggregate, AggregateItem, Project
from optimizer.algebra.scalars import ColumnRef
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Project, node(Aggregate, ANY)))
def project_merge_aggregate(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Project(shown), (Tree(Aggregate(keys, items), (below,)),)):
            named: dict[ColumnId, ColumnId] = {}
            for item in shown:
                if not isinstance(item.value, ColumnRef) or item.value.id in named:
                    return None
                named[item.value.id] = item.id
            if all(id == source for source, id in named.items()) or any(named.get(key) != key for key in keys):
                return None
            if not keys and not shown:
                return None
            calls = {item.id: item.call for item in items}
            renamed = (AggregateItem(id, calls[source]) for source, id in named.items() if source not in keys)
            return Tree(Aggregate(keys, tuple(renamed)), (below,))
    return None
