"""A projection that only passes columns through disappears.

    πC(A)  ≡  A        where every item is a column of A under its own id

Columns are named by id and every operator says which it reads, so surplus columns are harmless; column_prune drops those
that nobody reads. Without the projection, joins on both sides of it can be reordered together.
"""

from optimizer.algebra.logical import Project
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Project, ANY))
def project_remove(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Project() as project, (Tree() as below,)) if project.narrows:
            return below
    return None
