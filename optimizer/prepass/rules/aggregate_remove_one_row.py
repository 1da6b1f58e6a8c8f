"""An aggregate without keys over a single row becomes a projection of it.

    γ;f(A)  ≡  π f₁(A)        A has exactly one row; f₁ is the value of f over one row, as in aggregate_remove

NULLs   f₁ of NULL is NULL, its count 0; a row that FILTER leaves out counts as NULL
Rows    one row on both sides
Guards  A has neither less than one row (then f is the value over no rows) nor more; no volatile aggregate
"""

from __future__ import annotations

from optimizer.algebra.logical import Aggregate, Project, ProjectItem
from optimizer.algebra.trees import Tree
from optimizer.prepass.row_bounds import has_one_row
from optimizer.prepass.rules.aggregate_remove import known_over_one_row, over_one_row
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Aggregate, ANY))
def aggregate_remove_one_row(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Aggregate((), (_, *_) as items), (below,)) if has_one_row(below) and all(
            known_over_one_row(item.call) and not item.call.volatile for item in items
        ):
            return Tree(Project(tuple(ProjectItem(item.id, over_one_row(item.call)) for item in items)), (below,))
    return None
