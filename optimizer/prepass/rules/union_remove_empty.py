"""Branches of a union that have no rows disappear; a union of one branch is that branch.

    A ∪ ∅  ≡  A        ∪ with ALL

NULLs, rows   untouched: what goes has no rows
Guards        a branch is seen to be empty (row_bounds.py); where all are, a VALUES list without rows stays
"""

from __future__ import annotations

from optimizer.algebra.flags import LIMITED, LISTED, NOT_TRUE
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import SetOp
from optimizer.algebra.trees import Tree
from optimizer.prepass.row_bounds import is_empty
from optimizer.prepass.rules.empty_propagate import without_branches
from optimizer.rules.interface import RuleContext, node, rewrite


@rewrite(node(SetOp), openings=NOT_TRUE | LISTED | LIMITED)
def union_remove_empty(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(SetOp(SetOpKind.UNION, True) as union, branches) if any(map(is_empty, branches)):
            return without_branches(union, branches, is_empty, context)
    return None
