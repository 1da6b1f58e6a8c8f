"""Two adjacent projections become one.

    πe(πf(A))  ≡  πe[f](A)

NULLs   safe: values are the same
Guards  no volatile item below (it would be computed anew); a computed item that the upper projection reads more than once is
        not repeated; an item below that may raise and is not read above would no longer raise, as column pruning allows
"""

from __future__ import annotations

from collections import Counter

from optimizer.algebra.logical import Project, ProjectItem
from optimizer.algebra.scalar_trees import substitute, walk
from optimizer.algebra.scalars import ColumnRef, Literal
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class ProjectMerge(RewriteRule):
    name = "project_merge"
    pattern = node(Project, node(Project, ANY))

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Project(upper), (Tree(Project(lower), (below,)),)):
                uses = Counter(s.id for item in upper for s in walk(item.value) if isinstance(s, ColumnRef))
                for item in lower:
                    cheap = isinstance(item.value, ColumnRef | Literal)
                    if item.value.volatile or (not cheap and uses[item.id] > 1):
                        return None
                values = {item.id: item.value for item in lower}
                return Tree(Project(tuple(ProjectItem(i.id, substitute(i.value, values)) for i in upper)), (below,))
        return None
