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

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter, Limit, Scan, Window
from optimizer.algebra.logical_joins import AnyJoin, Join
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.props import merge_equivalences
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Filter, ANY))
def filter_remove_implied(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Filter(predicate), (below,)) if predicate and (holding := _holding(below)):
            equal = merge_equivalences(_equal_columns(conjunct) for conjunct in holding)
            rest = [_of_equals(conjunct, equal) for conjunct in predicate if conjunct.volatile or conjunct not in holding]
            fewer = conjunction(rest)
            if fewer != predicate:
                return Tree(Filter(fewer), (below,))
    return None


def _equal_columns(conjunct: Scalar) -> ColumnSet:
    """The two columns that a conjunct says are equal; the empty set where it says something else."""
    match conjunct:
        case Call(function="=" | "is_not_distinct_from", args=(ColumnRef() as a, ColumnRef() as b)):
            return a.columns | b.columns
    return 0


def _of_equals(conjunct: Scalar, equal: tuple[ColumnSet, ...]) -> Scalar:
    match conjunct:
        case Call(function="=", args=(ColumnRef() as column, ColumnRef())):
            if any(not conjunct.columns & ~members for members in equal):
                return Call("is_not_null", (column,), BOOL)
    return conjunct


def _holding(node: Node) -> set[Scalar]:
    """Conjuncts that are TRUE of every row of the tree."""
    found: set[Scalar] = set()
    stack = [node]
    while stack:
        tree = stack.pop()
        if not isinstance(tree, Tree):
            continue
        match tree.op:
            case Scan(predicate=predicate):
                found.update(predicate)
            case Filter(predicate):
                found.update(predicate)
                stack += tree.inputs
            case Limit() | Window():
                stack += tree.inputs
            case AnyJoin(kind=kind, predicate=predicate):
                if kind in (JoinKind.INNER, JoinKind.SEMI):
                    found.update(predicate)
                if not kind.keeps_right:
                    stack.append(tree.inputs[0])
                if (kind is JoinKind.INNER and isinstance(tree.op, Join)) or kind is JoinKind.RIGHT:
                    stack.append(tree.inputs[1])
    return found
