"""A projection between two joins moves above both, so that the joins meet and can be reordered together.

    πe(A ⋈q B) ⋈p C  ≡  πe,C((A ⋈q B) ⋈p[e] C)        p[e]: each computed column replaced by its definition

Kinds   inner, left, semi and anti (semi and anti without C's columns); join_commute brings the projection to the left side.
        Below a NULL-extended side a computed column would become NULL, above it would not
NULLs   safe: the same values, computed later
Rows    same bag; the projection sees partners and only rows that have some, so it can only raise less
Guards  no volatile item, nor conjunct; a conjunct that reads an item which may raise would raise in the join: not then
"""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.columns import column_ids
from optimizer.algebra.logical import Join, Project, ProjectItem
from optimizer.algebra.scalars import ColumnRef, conjunction, substitute
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, TransformationRule, node
from optimizer.rules.transform.grouping_below_join import KEPT_LEFT


class ProjectPullJoin(TransformationRule):
    name = "project_pull_join"
    pattern = node(Join, node(Project, node(Join, ANY, ANY)), ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Join(kind, predicate), (Tree(Project(items), (below,)), c)) if kind in KEPT_LEFT:
                if any(item.value.volatile for item in items) or any(s.volatile for s in predicate):
                    return ()
                values = {item.id: item.value for item in items}
                replaced = [substitute(s, values) for s in predicate]
                if any(after.raises and not before.raises for before, after in zip(predicate, replaced, strict=True)):
                    return ()
                beside = 0 if kind.left_only else c.columns
                passed = [ProjectItem(id, ColumnRef(id, context.columns[id].type)) for id in column_ids(beside)]
                joined = Tree(Join(kind, conjunction(replaced)), (below, c))
                return (Tree(Project((*items, *passed)), (joined,)),)
        return ()
