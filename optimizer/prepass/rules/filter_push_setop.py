"""A filter moves into every input of a set operation.

    σp(A ∪ B)  ≡  σp(A) ∪ σp(B)        likewise for ∩ and −, with and without ALL

NULLs   safe: set operations treat NULL as a value, and equal rows give p the same result
Rows    a row's multiplicity in each input is kept or becomes zero in all of them at once
Guards  no volatile conjunct; where rows are compared, p gives equal results for equal rows (floats: 0.0 and -0.0 are equal,
        1 / x tells them apart); where a conjunct stays above, none that may raise goes below, out of its shelter; for INTERSECT
        and EXCEPT none that may raise (it would see rows that are not in the result)
"""

from __future__ import annotations

from optimizer.algebra.building import reference
from optimizer.algebra.congruence import is_congruent
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Filter, SetOp
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import filter_lowered
from optimizer.rules.interface import RuleContext, node, rewrite


@rewrite(node(Filter, node(SetOp)))
def filter_push_setop(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Filter(), (Tree(SetOp(kind, all_, columns, sources)),)):
            strict, plain = kind is not SetOpKind.UNION, all_ and kind is SetOpKind.UNION

            def moving(conjunct: Scalar) -> Scalar | None:
                stays = conjunct.volatile or (strict and conjunct.raises) or not (plain or is_congruent(conjunct))
                return None if stays else conjunct

            named = [{out: reference(i, context.columns) for out, i in zip(columns, ids, strict=True)} for ids in sources]
            return filter_lowered(bound, moving, named)
    return None
