"""Aggregate calls: count, sum, avg, min, max with DISTINCT and FILTER.

They are bound to `AggregateCall` scalars over the rows before grouping; `grouping` moves them into an Aggregate. One that
stands in a subquery and reads only columns around it belongs to the query around (SQL:2003 6.9, set function specification).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.scalars import AggregateCall, Literal, Scalar
from optimizer.algebra.types import DOUBLE, FLOAT, INT32, INT64, aggregate_type, type_name
from optimizer.sql.coerce import convert

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder

NAMES = tuple(AGGREGATE_FUNCTIONS)
FUNCTIONS = {exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max"}


def _aggregate(binder: ExpressionBinder, node: Any) -> Scalar:
    return _call(binder, node, None)


def _filtered(binder: ExpressionBinder, node: Any) -> Scalar:
    """agg(...) FILTER (WHERE condition)."""
    binder.source.only(node, "this", "expression")
    if type(node.this) not in FUNCTIONS:
        binder.bind(node.this)  # an aggregate that is unsupported says so itself
        raise binder.source.error("FILTER belongs to an aggregate", node)
    return _call(binder, node.this, node.expression.this)


def _call(binder: ExpressionBinder, node: Any, condition: Any) -> Scalar:
    source, function = binder.source, FUNCTIONS[type(node)]
    source.only(node, "this", "expressions", ignored=("big_int",))
    arg, distinct = node.this, False
    if isinstance(arg, exp.Distinct):
        source.only(arg, "expressions")
        distinct, parts = True, list(arg.expressions)
        arg = parts[0] if len(parts) == 1 else None
        if arg is None or isinstance(arg, exp.Star):
            raise source.error(f"{function}(DISTINCT ...) takes one expression", node)
    if node.expressions:
        raise source.error(f"{function} takes one argument", node)
    before, binder.inside_aggregate = binder.inside_aggregate, True
    try:
        filter = binder.truth(condition) if condition is not None else None
        if arg is None or isinstance(arg, exp.Star):
            if function != "count":
                raise source.error(f"{function} takes one argument", node)
            if arg is not None:
                source.only(arg)
            scalars: tuple[Scalar, ...] = ()
        else:
            scalars = (argument(binder, function, arg),)
    finally:
        binder.inside_aggregate = before
    result = aggregate_type(function, scalars[0].type) if scalars else INT64
    assert result is not None, f"{function} over {scalars[0].type} has no result type"
    if AGGREGATE_FUNCTIONS[function].duplicate_insensitive:
        distinct = False
    return binder.place_aggregate(AggregateCall(function, scalars, distinct, filter, result), node)


def argument(binder: ExpressionBinder, function: str, node: Any) -> Scalar:
    """The argument in a type the aggregate takes: sum adds booleans as integers and FLOAT as DOUBLE."""
    operand = binder.operand(node)
    if pa.types.is_null(operand.type):
        return Literal(None, INT32)
    if function == "sum" and pa.types.is_boolean(operand.type):
        return convert(binder.source, operand, INT32)
    if function in ("sum", "avg") and operand.type == FLOAT:
        return convert(binder.source, operand, DOUBLE)
    if function == "avg" and pa.types.is_temporal(operand.type):
        raise binder.source.unsupported(f"avg of {type_name(operand.type)}", node, "use min and max")
    if aggregate_type(function, operand.type) is None:
        raise binder.source.error(
            f"{function} needs numbers, not {type_name(operand.type)}", operand.node, "convert it with CAST(... AS ...)"
        )
    return operand.scalar


HANDLERS = {**dict.fromkeys(FUNCTIONS, _aggregate), exp.Filter: _filtered}
