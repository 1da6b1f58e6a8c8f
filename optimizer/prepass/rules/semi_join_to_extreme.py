"""Whether some value of B is larger than one of A is whether the largest is.

    A ⋉ l<r B         ≡  A ⋉ l<m γ m:=max(r) (B)
    A ⋉ mark, l<r B   ≡  A ⋉ mark, l<m ∨ u σ n>0 (γ m:=max(r), n:=count(*), c:=count(r) (B))     u: NULL if n > c, else FALSE

Kinds   semi, anti, mark; <= as <; > and >= with min. An anti join may ask for (l < r) IS DISTINCT FROM FALSE, as NOT (l < ANY B)
        and l >= ALL B do; it takes the second form, as a mark join does
NULLs   max passes over NULL: l < r is TRUE for some r exactly where l < m. It is UNKNOWN for some if there is a NULL among them,
        if all are, or if l is one and B has rows: the second form has no row where B has none, and u where there are NULLs
Rows    rows of A come once or not at all in both; the cost is that of |A| + |B| comparisons instead of |A| × |B|
Guards  one conjunct reads B and compares it with what A has; nothing is volatile, r does not fail (it is computed for all rows
        of B, also where A has none), nor l where B is empty: where it may, the second form is taken; B may have two rows
Source  Dayal, Of Nests and Trees (VLDB 1987), quantifiers as aggregates
"""

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.functions import MIRRORED
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate, AggregateItem, Filter
from optimizer.algebra.logical_joins import IndependentJoin
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.predicates import compare, conjunction
from optimizer.algebra.scalars import BOOL, FALSE, AggregateCall, Call, Case, ColumnRef, Literal, Predicate, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.algebra.types import INT64
from optimizer.rules.interface import ANY, RuleContext, node, rewrite

_EXTREMES = {"<": "max", "<=": "max", ">": "min", ">=": "min"}


@rewrite(node(IndependentJoin, ANY, ANY))
def semi_join_to_extreme(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(
            IndependentJoin(kind=JoinKind.SEMI | JoinKind.ANTI | JoinKind.MARK as kind, predicate=predicate) as join,
            (left, right),
        ):
            asked, rest = _reading(predicate, right)
            not_false = asked is not None and _not_false(asked)
            compared = _compared(not_false or asked, left.columns, right.columns)
            if compared is None or right.props.at_most_one_row:
                return None
            function, mine, theirs = compared
            calls = [AggregateCall(_EXTREMES[function], (theirs,), False, None, theirs.type)]
            unknown = bool(not_false) or kind is JoinKind.MARK or mine.raises
            if unknown:
                calls += [AggregateCall("count", args, False, None, INT64) for args in ((), (theirs,))]
            items = [AggregateItem(context.columns.new(c.function, c.type, c.function != "count").id, c) for c in calls]
            extreme, *counts = (ColumnRef(item.id, item.call.type) for item in items)
            reduced = Tree(Aggregate((), tuple(items)), (right,))
            test = compare(function, mine, extreme)
            if unknown:
                reduced = Tree(Filter((compare(">", counts[0], Literal(0, INT64)),)), (reduced,))
                if not is_not_null(theirs, right.props.not_null):
                    among = Case(((compare(">", *counts), Literal(None, BOOL)),), FALSE, BOOL)
                    test = Call("or", (test, among), BOOL)
            test = compare("is_distinct_from", test, FALSE) if not_false else test
            return Tree(join.with_predicate(conjunction((*rest, test))), (left, reduced))
    return None


def _reading(predicate: Predicate, right: Node) -> tuple[Scalar | None, Predicate]:
    """The one conjunct that reads the right side, and the others; None where there is no one such, or something is volatile."""
    reading = [s for s in predicate if s.columns & right.columns]
    if len(reading) != 1 or any(s.volatile for s in predicate):
        return None, ()
    return reading[0], tuple(s for s in predicate if s is not reading[0])


def _not_false(scalar: Scalar) -> Scalar | None:
    """p of `p IS DISTINCT FROM FALSE`."""
    match scalar:
        case Call(function="is_distinct_from", args=(asked, Literal(value=False))):
            return asked
    return None


def _compared(scalar: Scalar | None, left: ColumnSet, right: ColumnSet) -> tuple[str, Scalar, Scalar] | None:
    """(θ, l, r) of an ordering of a scalar over `left` and one over `right`."""
    match scalar:
        case Call(function=function, args=(a, b)) if function in _EXTREMES:
            if a.columns & right:
                a, b, function = b, a, MIRRORED[function]
            if not (a.columns & right or b.columns & left or b.outer or b.raises):
                return function, a, b
    return None
