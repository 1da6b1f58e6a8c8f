"""An aggregate that computes nothing over more than one row becomes a projection.

    γK;f(A)  ≡  πK,f₁(A)        K holds a key of A; f₁ is the value of f over one row
    γ;f(A)  ≡  π f₁(A)          A has exactly one row

    sum(x), avg(x), min(x), max(x) = x        count(*) = 1        count(x) = 1 where x is not NULL, else 0
    sum(x), avg(x) = x + 0.0 of floats: a sum begins at 0.0, so that it is 0.0 of -0.0

NULLs   a key takes NULL for a value, as grouping does; f₁ of NULL is NULL, its count 0; a row that FILTER leaves out counts
        as NULL
Rows    one row a group on both sides, none over no input; without keys, where A may have none, f has a row of its own
Guards  no volatile aggregate, and none of statistics (a standard deviation over one row is NULL, a correlation NaN)
"""

from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.building import passed
from optimizer.algebra.columns import column_set
from optimizer.algebra.logical import Aggregate, Project, ProjectItem
from optimizer.algebra.scalars import BOOL, AggregateCall, Call, Case, Cast, Literal, Scalar
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import is_float
from optimizer.prepass.row_bounds import has_one_row
from optimizer.rules.interface import ANY, RuleContext, node, rewrite

_SUMS = ("sum", "avg", "fsum", "favg")


@rewrite(node(Aggregate, ANY))
def aggregate_remove(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Aggregate(keys, items), (below,)) if all(_known_over_one_row(item.call) for item in items):
            if below.props.unique_on(column_set(keys)) if keys else items and has_one_row(below):
                computed = (ProjectItem(item.id, _over_one_row(item.call)) for item in items)
                return Tree(Project((*passed(keys, context.columns), *computed)), (below,))
    return None


def _known_over_one_row(call: AggregateCall) -> bool:
    return not call.volatile and (call.function == "count" or AGGREGATE_FUNCTIONS[call.function].one_row)


def _over_one_row(call: AggregateCall) -> Scalar:
    """The value of an aggregate over a single row, computed from that row."""
    nothing = Literal(0 if call.function == "count" else None, call.type)
    if call.function == "count":
        value: Scalar = Literal(1, call.type)
        if call.args:
            value = Case(((Call("is_not_null", call.args, BOOL), value),), nothing, call.type)
    else:
        value = call.args[0] if call.args[0].type == call.type else Cast(call.args[0], call.type, False)
        if call.function in _SUMS and is_float(call.args[0].type):
            value = Call("+", (value, Literal(0.0, call.type)), call.type)
    return value if call.filter is None else Case(((call.filter, value),), nothing, call.type)
