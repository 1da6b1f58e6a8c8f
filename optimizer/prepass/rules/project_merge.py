"""Two adjacent projections become one.

    πe(πf(A))  ≡  πe[f](A)

NULLs   safe: values are the same
Guards  no volatile item below (it would be computed anew); a computed item that the upper projection reads more than once is
        not repeated; an item below that may raise and is not read above would no longer raise, as column pruning allows
"""

from optimizer.algebra.logical import Project
from optimizer.algebra.rebuild import map_scalars
from optimizer.algebra.scalar_trees import substitute
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import repeats
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Project, node(Project, ANY)))
def project_merge(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Project() as upper, (Tree(Project(lower), (below,)),)):
            values = dict(lower)
            if not repeats(upper.scalars(), values) and not any(value.volatile for value in values.values()):
                return Tree(map_scalars(upper, lambda value: substitute(value, values)), (below,))
    return None
