"""A filter does not ask again what already holds of its input.

    σp∧q(A)  ≡  σq(A)                    p holds in every row of A
    σ x=y(A)  ≡  σ x IS NOT NULL(A)      x and y are equal or both NULL

p holds where a filter, a scan, an inner or a semi join below has it among its conjuncts and only operators that let rows pass as
they are lie in between.

Kinds   the conjuncts of inner and semi joins, and what holds of an input that the join does not NULL-extend: both of an inner
        join, the left of a left, semi, anti, mark and single join, the right of a right join
NULLs   p is TRUE of the rows below, so it is TRUE above; of columns that conjuncts below make equal only NULLs fail x = y
Guards  p is not volatile; an equality of floats may be dropped too, as equal is what SQL calls equal
"""

from optimizer.algebra.logical import Filter
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.known import stated
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Filter, ANY))
def filter_remove_implied(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Filter(predicate), (below,)):
            rest = [_of_equals(s, below) for s in predicate if s.volatile or not stated(below, s)]
            fewer = conjunction(rest)
            if fewer != predicate:
                return Tree(Filter(fewer), (below,))
    return None


def _of_equals(conjunct: Scalar, below: Node) -> Scalar:
    match conjunct:
        case Call(function="=", args=(ColumnRef() as a, ColumnRef() as b)) if below.props.equivalents(a.id) >> b.id & 1:
            return Call("is_not_null", (a,), BOOL)
    return conjunct
