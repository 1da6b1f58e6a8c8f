"""Aggregate calls, by the table of functions: arguments, DISTINCT, ORDER BY, FILTER, WITHIN GROUP.

They are bound to `AggregateCall` scalars over the rows before grouping; `grouping` moves them into an Aggregate. One that
stands in a subquery and reads only columns around it belongs to the query around (SQL:2003 6.9, set function specification).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS, AGGREGATE_NAMES, continuous_type
from optimizer.algebra.building import reference
from optimizer.algebra.functions import AggregateFunction
from optimizer.algebra.scalars import AggregateCall, Call, Cast, Literal, Ordered, Scalar
from optimizer.algebra.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    HUGEINT,
    INT32,
    INT64,
    STRING,
    is_integer,
    is_numeric,
    is_opaque,
    is_string,
    type_name,
)
from optimizer.sql.cast_hints import SECONDS, cast_hint
from optimizer.sql.coerce import Operand, as_text, bare, constant_value, convert
from optimizer.sql.instead import COUNT_ROWS
from optimizer.sql.ordering import sort_terms
from optimizer.sql.rows import row_items
from optimizer.sql.source import Source
from optimizer.sql.stars import is_star

if TYPE_CHECKING:
    from optimizer.sql.context import Context
    from optimizer.sql.expressions import ExpressionBinder
    from optimizer.sql.scope import Scope


class _Written(NamedTuple):
    """The parts of a call as they are written."""

    args: list[Any]
    distinct: bool
    order: list[tuple[Any, bool, bool]]


def named_aggregate(node: Any) -> AggregateFunction | None:
    """The aggregate that an AST node calls, FILTER and WITHIN GROUP apart."""
    return AGGREGATE_NAMES.get(node.name.lower()) if isinstance(node, exp.Anonymous) else None


def bind_aggregate(binder: ExpressionBinder, node: Any) -> Scalar | None:
    """The aggregate that a call by name is; None when it is something else."""
    return _placed(binder, node) if named_aggregate(node) is not None else None


def _filtered(binder: ExpressionBinder, node: Any) -> Scalar:
    """agg(...) FILTER (WHERE condition)."""
    inner = node.this.this if isinstance(node.this, exp.WithinGroup) else node.this
    if named_aggregate(inner) is None:
        binder.bind(node.this)  # an aggregate that is unsupported says so itself
        raise binder.source.error("FILTER belongs to an aggregate", node)
    return _placed(binder, node.this, node.expression.this)


def _placed(binder: ExpressionBinder, node: Any, condition: Any = None) -> Scalar:
    before, binder.inside_aggregate = binder.inside_aggregate, True
    try:
        call = bound_call(binder, node, condition)
    finally:
        binder.inside_aggregate = before
    function, args, type = call.function, call.args, call.type
    if AGGREGATE_FUNCTIONS[function].ordered and any(arg.columns for arg in args) and not call.distinct:
        if not any(isinstance(arg, Ordered) for arg in args):  # the rows come in an order of their own, if in any
            args += ordered_rows(binder.context, binder.scope)
    match args:
        case (Call(function="to_interval", args=(microseconds,)),) if function in ("min", "max", "count"):
            args, type = (microseconds,), INT64
    placed = binder.place_aggregate(AggregateCall(function, args, call.distinct, call.filter, type), node)
    return placed if type == call.type else Call("to_interval", (placed,), call.type)


def ordered_rows(context: Context, scope: Scope) -> tuple[Ordered, ...]:
    """The ORDER BY of the derived table that a clause reads alone."""
    return tuple(Ordered(reference(key.column, context.columns), *key[1:]) for key in scope.order)


def bound_call(binder: ExpressionBinder, node: Any, condition: Any) -> AggregateCall:
    """The call, with the condition of its FILTER; whose query it belongs to is not settled yet."""
    source = binder.source
    filter = binder.truth(condition) if condition is not None else None
    order: list[tuple[Any, bool, bool]] = []
    if isinstance(node, exp.WithinGroup):
        order = sort_terms(source, node.expression)
        if len(order) > 1:
            raise source.error("WITHIN GROUP sorts by one expression", order[1][0])
        node = node.this
    known, name = named_aggregate(node), str(node.name).lower()
    if known is None:
        raise source.unsupported(f"{source.function_name(node)} with WITHIN GROUP", node)
    written = _parts(source, node)
    if order:  # its first argument is what the group is sorted by
        if name not in ("mode", "percentile_cont", "percentile_disc"):
            raise source.error(f"{name} takes no WITHIN GROUP", node, f"write {name}(... ORDER BY ...)")
        if written.order:
            raise source.error("ORDER BY stands inside the call or in WITHIN GROUP", node)
        first = [order[0][0]] if len(written.args) < len(known.parameters) else []
        written = written._replace(args=first + written.args, order=order)
    elif name in ("percentile_cont", "percentile_disc"):
        hint = f"write quantile_{name[-4:]}(x, 0.5), or {name}(0.5) WITHIN GROUP (ORDER BY x)"
        raise source.error(f"{name} takes WITHIN GROUP", node, hint)
    if known.name == "count" and _counts_rows(binder, written, node):
        return AggregateCall("count", (), False, filter, INT64)
    _check_number(source, known, written, name, node)
    if written.distinct and row_items(bare(written.args[0])) is not None:
        raise source.unsupported(f"{name}(DISTINCT ...) of rows", node, COUNT_ROWS if name == "count" else None)
    args = [_argument(binder, known, kind, arg) for kind, arg in zip(known.parameters, written.args, strict=False)]
    terms = [Ordered(binder.bind(key), descending, nulls_first) for key, descending, nulls_first in written.order]
    terms = [term for term in terms if term.columns or term.volatile]
    if written.distinct and any(term.key not in args and Cast(term.key, STRING, False) not in args for term in terms):
        raise source.error(f"with DISTINCT, {name} can be ordered by its arguments only", node)
    if known.parameters[-1] == "separator" and len(args) < 2:
        args.append(Literal(",", STRING))
    if any(term.descending and term.key is args[0] for term in terms[:1]) and known.parameters[-1] == "fraction":
        args[1] = Literal(-cast(Literal, args[1]).value, DOUBLE)
    distinct = written.distinct
    if known.name in ("median", "quantile_cont") and args[0].type == HUGEINT:
        args[0] = Cast(args[0], DOUBLE, False)  # between integers are no integers
    match known.name:
        case "count_if":
            one_or_none = Cast(args[0], INT32, False)
            return AggregateCall("sum", (one_or_none,), distinct, filter, HUGEINT)
        case "approx_count_distinct":
            return AggregateCall("count", (args[0],), True, filter, INT64)
        case "median":
            function = "quantile_disc" if continuous_type(args[0].type) is None else "quantile_cont"
            args.append(Literal(0.5, DOUBLE))
            return AggregateCall(function, tuple(args), distinct, filter, known.result(args[0].type))
    type = known.result(args[0].type)
    if type is None:
        what = f"{source.function_name(node)} does not take {type_name(args[0].type)}"
        raise source.error(what, written.args[0], cast_hint(args[0], DOUBLE, "convert it with CAST(... AS ...)"))
    if known.duplicate_insensitive or known.means:
        distinct = False
    return AggregateCall(known.means or known.name, (*args, *(terms if known.ordered else ())), distinct, filter, type)


def _parts(source: Source, node: Any) -> _Written:
    """f(DISTINCT a, b ORDER BY c): the parser hangs ORDER BY on the last argument, and takes all arguments for DISTINCT's."""
    args, order, distinct = list(node.expressions), [], False
    if args and isinstance(args[-1], exp.Order):
        order = sort_terms(source, args[-1], "this")
        args[-1] = args[-1].this
    if len(args) == 1 and isinstance(args[0], exp.Distinct):
        source.only(args[0], "expressions")
        args, distinct = list(args[0].expressions), True
    return _Written(args, distinct, order)


def _counts_rows(binder: ExpressionBinder, written: _Written, node: Any) -> bool:
    """count(*), count(t.*) or count()."""
    star = len(written.args) == 1 and is_star(written.args[0])
    if (star or not written.args) and written.distinct:
        raise binder.source.error("count(DISTINCT ...) takes one expression", node)
    if star:
        table = written.args[0] if isinstance(written.args[0], exp.Column) else None
        binder.source.only(written.args[0] if table is None else table.this)
        if table is not None and not binder.scope.relation(table.table):
            return False
    return star or not written.args


def _check_number(source: Source, known: AggregateFunction, written: _Written, name: str, node: Any) -> None:
    least, most = len(known.parameters) - ("separator" in known.parameters), len(known.parameters)
    starred = any(isinstance(arg, exp.Star) for arg in written.args)
    if not least <= len(written.args) <= most or starred:
        if written.distinct and most == 1:
            hint = COUNT_ROWS if name == "count" and len(written.args) > 1 else None
            raise source.error(f"{name}(DISTINCT ...) takes one expression", node, hint)
        numbers = "one argument" if most == 1 else "two arguments" if least == most else "one or two arguments"
        raise source.error(f"{name} takes {numbers}", node)


def _argument(binder: ExpressionBinder, known: AggregateFunction, kind: str, node: Any) -> Scalar:
    """An argument as the function takes it: sum adds booleans as integers and FLOAT as DOUBLE."""
    source, name = binder.source, known.name
    operand = binder.operand(node)
    type = operand.type
    if pa.types.is_null(type) and kind != "fraction":
        return Literal(None, {"double": DOUBLE, "boolean": BOOLEAN, "text": STRING, "separator": STRING}.get(kind, INT32))
    match kind:
        case "double" if is_numeric(type):
            return convert(source, operand, DOUBLE)
        case "boolean" if type == BOOLEAN:
            return operand.scalar
        case "integer" if is_integer(type):
            return operand.scalar
        case "number" if name == "sum" and pa.types.is_boolean(type):
            return convert(source, operand, INT32)
        case "number" if type == FLOAT:
            return convert(source, operand, DOUBLE)
        case "number" if pa.types.is_temporal(type) and name == "avg":
            of_seconds = "write avg(EXTRACT(EPOCH FROM a - b)), in seconds"
            other = cast_hint(operand.scalar, DOUBLE, "") or "use min and max"
            raise source.unsupported(f"avg of {type_name(type)}", node, of_seconds if other == SECONDS else other)
        case "number" if is_numeric(type):
            return operand.scalar
        case "number or date" if continuous_type(type) is not None:
            return operand.scalar
        case "any":
            return operand.scalar
        case "orderable" if not pa.types.is_nested(type):
            return operand.scalar
        case "text":
            return as_text(source, operand)
        case "fraction" | "separator":
            return _constant(source, kind, operand, name)
    wanted = {"number or date": "numbers, dates or timestamps", "boolean": "booleans", "integer": "integers"}.get(kind)
    wanted = wanted or ("values that have an order" if kind == "orderable" else "numbers")
    hint = cast_hint(operand.scalar, INT64 if kind == "integer" else DOUBLE, "convert it with CAST(... AS ...)")
    if kind == "boolean" and not is_opaque(type):
        hint = "write a condition: x > 0"
    raise source.error(f"{name} needs {wanted}, not {type_name(type)}", operand.node, hint)


def _constant(source: Source, kind: str, operand: Operand, name: str) -> Literal:
    """An argument that is the same for all groups, computed here."""
    value = constant_value(source, operand, f"{name} with a {kind}")
    if kind == "separator" and is_string(operand.type):
        return Literal(value, STRING)
    if kind == "separator" or value is None or not is_numeric(operand.type) or not -1 <= value <= 1:
        what = "a text" if kind == "separator" else "a number from -1 to 1"
        raise source.error(f"the {kind} of {name} must be {what}", operand.node)
    return Literal(float(value), DOUBLE)


HANDLERS = {exp.Filter: _filtered, exp.WithinGroup: _placed}
