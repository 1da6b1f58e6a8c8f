"""A filter moves below a projection.

    σp(πe(A))  ≡  πe(σp[e](A))        p[e]: each computed column replaced by its definition

NULLs   safe: the predicate sees the same values
Rows    the projection then runs on fewer rows, so it can only raise less
Guards  conjuncts over volatile items stay (they would be computed a second time), as do volatile conjuncts; where a conjunct
        stays above, none that may raise goes below, out of its shelter
"""

from __future__ import annotations

from optimizer.algebra.logical import Filter, Project
from optimizer.algebra.scalars import conjunction, substitute
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class FilterPushProject(RewriteRule):
    name = "filter_push_project"
    pattern = node(Filter, node(Project, ANY))

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Filter(predicate), (Tree(Project(items) as project, (below,)),)):
                values = {item.id: item.value for item in items}
                moved = []
                for conjunct in predicate:
                    replaced = substitute(conjunct, values)
                    if not replaced.volatile:
                        moved.append((conjunct, replaced))
                if len(moved) < len(predicate):  # what stays above may keep rows from a conjunct that raises
                    moved = [(s, replaced) for s, replaced in moved if not replaced.raises]
                if moved:
                    kept = conjunction(s for s in predicate if s not in {c for c, _ in moved})
                    lower = Tree(project, (Tree(Filter(conjunction(r for _, r in moved)), (below,)),))
                    return Tree(Filter(kept), (lower,)) if kept else lower
        return None
