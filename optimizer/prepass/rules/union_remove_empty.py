"""Branches of a union that have no rows disappear; a union of one branch is that branch.

    A ∪ ∅  ≡  A        ∪ with ALL

NULLs, rows   untouched: what goes has no rows
Guards        a branch is seen to be empty (row_bounds.py); where all are, a VALUES list without rows stays
"""

from __future__ import annotations

from optimizer.algebra.flags import LIMITED, LISTED, NOT_TRUE
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Project, ProjectItem, SetOp, Values
from optimizer.algebra.scalars import ColumnRef
from optimizer.algebra.trees import Tree
from optimizer.prepass.row_bounds import is_empty
from optimizer.rules.interface import RewriteRule, RuleContext, node


class UnionRemoveEmpty(RewriteRule):
    name = "union_remove_empty"
    pattern = node(SetOp)
    openings = NOT_TRUE | LISTED | LIMITED

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(SetOp(SetOpKind.UNION, True, columns, sources), branches):
                kept = [(b, source) for b, source in zip(branches, sources, strict=True) if not is_empty(b)]
                types = [context.columns[column].type for column in columns]
                if not kept:
                    return Tree(Values(columns, tuple(types), ()))
                if len(kept) == 1:
                    branch, source = kept[0]
                    named = zip(columns, source, types, strict=True)
                    return Tree(Project(tuple(ProjectItem(out, ColumnRef(id, type)) for out, id, type in named)), (branch,))
                if len(kept) < len(branches):
                    union = SetOp(SetOpKind.UNION, True, columns, tuple(source for _, source in kept))
                    return Tree(union, tuple(branch for branch, _ in kept))
        return None
