"""A filter moves below a projection.

    σp(πe(A))  ≡  πe(σp[e](A))        p[e]: each computed column replaced by its definition

NULLs   safe: the predicate sees the same values
Rows    the projection then runs on fewer rows, so it can only raise less
Guards  conjuncts over volatile items stay (they would be computed a second time), as do volatile conjuncts; where a conjunct
        stays above, none that may raise goes below, out of its shelter. One that would grow long by repeating items stays
"""

from __future__ import annotations

from optimizer.algebra.logical import Filter, Project
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import filter_lowered, over_items
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Filter, node(Project, ANY)))
def filter_push_project(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Filter(), (Tree(Project(items)),)):
            values = {item.id: item.value for item in items}

            def replaced(conjunct: Scalar) -> Scalar | None:
                said = over_items(conjunct, values)
                return None if said is None or said.volatile else said

            return filter_lowered(bound, replaced)
    return None
