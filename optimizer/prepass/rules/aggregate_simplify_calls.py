"""Aggregates say the same with less: count(*) where nothing is NULL, no DISTINCT where nothing repeats, no FILTER that keeps all.

    count(x) ≡ count(*)        x never NULL        min(DISTINCT x) ≡ min(x)        f(x) FILTER (WHERE TRUE) ≡ f(x)
    f(DISTINCT x) ≡ f(x)        no two rows of a group have the same x: the grouping columns and x hold a key

NULLs   a key takes NULL for a value, so at most one row of a group has a NULL x, which f leaves out on both sides
Rows    one row a group, as before
Guards  an argument that raises or is volatile is computed as before; DISTINCT on an expression stays, and that of a count of it:
        only columns are in keys
"""

from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.columns import ColumnSet, column_set
from optimizer.algebra.logical import Aggregate
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.scalars import TRUE, AggregateCall, ColumnRef, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.scalar_rewrite import changed, plain
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Aggregate, ANY))
def aggregate_simplify_calls(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Aggregate(keys), (below,)):
            return changed(bound, lambda call: _simpler(call, column_set(keys), below))
    return None


def _simpler(call: Scalar, keys: ColumnSet, below: Node) -> Scalar:
    assert isinstance(call, AggregateCall)
    function, args, distinct, filter = call.function, call.args, call.distinct, call.filter
    if filter is TRUE:
        filter = None
    if distinct and not call.volatile:
        if AGGREGATE_FUNCTIONS[function].duplicate_insensitive or (
            isinstance(args[0], ColumnRef) and below.props.unique_on(keys | args[0].columns)
        ):
            distinct = False
    if function == "count" and args and not distinct and plain(args[0]) and is_not_null(args[0], below.props.not_null):
        args = ()
    return AggregateCall(function, args, distinct, filter, call.type)
