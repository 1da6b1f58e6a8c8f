"""A limit moves below a projection, which then computes only rows that are asked for.

    λo;i,n(πe(A))  ≡  πe(λo[e];i,n(A))

Rows    the same: a projection keeps rows and their order. It runs on fewer rows, so it can only raise less
Guards  the order is by columns that the projection passes through
"""

from optimizer.algebra.logical import Limit, Project
from optimizer.algebra.scalars import ColumnRef
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Limit, node(Project, ANY)))
def limit_push_project(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Limit(order, offset, count), (Tree(Project(items) as project, (below,)),)):
            sources = {item.id: item.value.id for item in items if isinstance(item.value, ColumnRef)}
            if all(key.column in sources for key in order):
                renamed = tuple(key._replace(column=sources[key.column]) for key in order)
                return Tree(project, (Tree(Limit(renamed, offset, count), (below,)),))
    return None
