"""String and mathematical functions, and functions that sqlglot does not know by a node type of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.aggregate_functions import AGGREGATE_NAMES, WINDOW_FUNCTIONS
from optimizer.algebra.predicates import compare
from optimizer.algebra.scalar_functions import SCALAR_FUNCTIONS, SCALAR_NAMES
from optimizer.algebra.scalars import BOOL, AggregateCall, Call, Literal, Scalar, WindowCall
from optimizer.algebra.types import (
    DATE,
    DOUBLE,
    HUGEINT,
    INT8,
    INT32,
    INT64,
    STRING,
    TIMESTAMP,
    is_decimal,
    is_integer,
    is_string,
    type_name,
)
from optimizer.errors import did_you_mean
from optimizer.sql import dates, moments
from optimizer.sql.aggregates import bind_aggregate
from optimizer.sql.arithmetic import combine, integer_argument, integer_operand, numeric_argument
from optimizer.sql.by_table import arguments, by_table, text_argument
from optimizer.sql.coerce import Operand, as_text, bare, convert
from optimizer.sql.instead import FUNCTIONS_PAGE, INSTEAD
from optimizer.sql.literals import INTERVAL_UNITS
from optimizer.sql.rows import row_items

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder

Handler = Callable[["ExpressionBinder", Any], Scalar]


def _form(function: str, *parts: str) -> Handler:
    """A form or an operator that is a function of the table, with its arguments under `parts` of the node."""

    def handler(binder: ExpressionBinder, node: Any) -> Scalar:
        binder.source.only(node, *parts)
        given = [node.args[p] for p in parts if node.args.get(p) is not None]
        return by_table(binder, SCALAR_FUNCTIONS[function], given, node)

    return handler


def _join_texts(binder: ExpressionBinder, node: Any) -> Scalar:
    """`a || b`: other types are written as text; NULL when either side is."""
    return Call("concat", tuple(as_text(binder.source, o) for o in binder.operands((node.this, node.expression))), STRING)


def _concat(binder: ExpressionBinder, node: Any) -> Scalar:
    """concat(a, b, ...): as || but a NULL counts as the empty string."""
    source = binder.source
    if not (node._meta and "start" in node._meta):  # the parser joins adjacent strings
        raise source.error("two strings side by side", node.expressions[1], "join strings with ||")
    empty = Literal("", STRING)
    result: Scalar | None = None
    for part in node.expressions:
        text = as_text(source, binder.operand(part))
        text = text if isinstance(text, Literal) and text.value is not None else Call("coalesce", (text, empty), STRING)
        result = text if result is None else Call("concat", (result, text), STRING)
    return result if result is not None else empty


def _substring(binder: ExpressionBinder, node: Any) -> Scalar:
    binder.source.only(node, "this", "start", "length")
    args = [text_argument(binder, node.this, "substring"), integer_argument(binder, node.args.get("start"), "the start")]
    if node.args.get("length") is not None:
        args.append(integer_argument(binder, node.args["length"], "the length"))
    return Call("substring", tuple(args), STRING)


def _trim(binder: ExpressionBinder, node: Any) -> Scalar:
    binder.source.only(node, "this", "position", "expression")
    function = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(node.args.get("position") or "BOTH", "trim")
    return _trimmed(binder, function, [node.this, *filter(None, (node.args.get("expression"),))], node)


def _trimmed(binder: ExpressionBinder, function: str, parts: list[Any], node: Any) -> Scalar:
    return by_table(binder, SCALAR_FUNCTIONS[function if len(parts) == 1 else f"{function}_of"], parts, node)


def _side_trim(function: str) -> Handler:
    return lambda binder, node: _trimmed(binder, function, node.expressions, node)


def _contains(binder: ExpressionBinder, node: Any) -> Scalar:
    binder.source.only(node, "this", "expression")
    texts = tuple(text_argument(binder, part, "contains") for part in (node.this, node.expression))
    return compare(">", Call("strpos", texts, INT64), Literal(0, INT64))


def _round(binder: ExpressionBinder, node: Any) -> Scalar:
    binder.source.only(node, "this", "decimals", ignored=("casts_non_integer_decimals",))
    return _to_digits(binder, "round", node.this, node.args.get("decimals"))


def _trunc(binder: ExpressionBinder, node: Any) -> Scalar:
    if len(node.expressions) != 2:
        return by_table(binder, SCALAR_NAMES["trunc"], node.expressions, node)
    return _to_digits(binder, "trunc", *node.expressions)


def _to_digits(binder: ExpressionBinder, function: str, node: Any, count: Any) -> Scalar:
    """round(x, digits), trunc(x, digits): a decimal keeps at most that many digits after the point; other types keep theirs."""
    operand = numeric_argument(binder, node, function)
    digits, type = 0, operand.type
    if count is not None:
        scalar = integer_argument(binder, count, "the number of digits")
        if not isinstance(scalar, Literal) or scalar.value is None:
            if is_decimal(type) and not isinstance(scalar, Literal):
                what = f"{function} of a DECIMAL to a number of digits that is no constant"
                raise binder.source.unsupported(what, count, f"write {function}(x, 2), or take it of a DOUBLE")
            return Call(function, (operand.scalar, scalar), type)
        digits = max(-400, min(400, scalar.value))
    if is_integer(type) and digits >= 0:
        return operand.scalar
    if is_decimal(type):
        if digits >= type.scale:
            return operand.scalar
        type = pa.decimal128(type.precision, max(digits, 0))
    return Call(function, (operand.scalar, Literal(digits, INT32)), type)


def _whole(function: str) -> Handler:
    """floor and ceil: a decimal without digits after the point; integers become DOUBLE, as in DuckDB."""

    def handler(binder: ExpressionBinder, node: Any) -> Scalar:
        binder.source.only(node, "this")
        operand = numeric_argument(binder, node.this, function)
        if is_integer(operand.type):
            return convert(binder.source, operand, DOUBLE)
        if is_decimal(operand.type):
            if operand.type.scale == 0:
                return operand.scalar
            return Call(function, (operand.scalar,), pa.decimal128(operand.type.precision, 0))
        return Call(function, (operand.scalar,), operand.type)

    return handler


def _mod(binder: ExpressionBinder, node: Any) -> Scalar:
    a, b = map(binder.operand, arguments(binder, node, "mod", 2))
    return combine(binder, "%", a, b, node)


def _fdiv(binder: ExpressionBinder, node: Any) -> Scalar:
    a, b = map(binder.operand, arguments(binder, node, "fdiv", 2))
    return _quotient_below(binder, a, b, node)


def _fmod(binder: ExpressionBinder, node: Any) -> Scalar:
    """fmod(a, b): a - b * fdiv(a, b), with the sign of b."""
    a, b = map(binder.operand, arguments(binder, node, "fmod", 2))

    def made(operands: Sequence[Operand]) -> Scalar:
        a, b = operands
        product = combine(binder, "*", b, Operand(_quotient_below(binder, a, b, node), node), node)
        return combine(binder, "-", a, Operand(product, node), node)

    return binder.once([a, b], made)


def _quotient_below(binder: ExpressionBinder, a: Operand, b: Operand, node: Any) -> Scalar:
    quotient = combine(binder, "/", a, b, node)
    return Call("floor", (quotient,), quotient.type)


def _bit_count(binder: ExpressionBinder, node: Any) -> Scalar:
    """Of a number below 0 it depends on the width of its type."""
    (argument,) = arguments(binder, node, "bit_count", 1)
    operand = integer_operand(binder, argument, "bit_count needs integers")
    scalar = convert(binder.source, operand, operand.type if is_integer(operand.type) else INT32)
    return Call("bit_count", (scalar, Literal(scalar.type.bit_width, INT32)), INT8)


def _digits(name: str) -> Handler:
    """hex and bin, of a text or an integer."""

    def handler(binder: ExpressionBinder, node: Any) -> Scalar:
        (argument,) = arguments(binder, node, name, 1)
        operand = binder.operand(argument)
        scalar = operand.scalar if is_integer(operand.type) else text_argument(binder, operand, name)
        return Call(name, (scalar,), STRING)

    return handler


def _typeof(binder: ExpressionBinder, node: Any) -> Scalar:
    operand = binder.operand(node.this)
    if operand.scalar.flags & (AggregateCall.flag | WindowCall.flag) or operand.type == HUGEINT:
        raise binder.source.unsupported("typeof of an aggregate, a window function or a HUGEINT", node)
    return Literal('"NULL"' if pa.types.is_null(operand.type) else type_name(operand.type), STRING)


def _subscript(binder: ExpressionBinder, node: Any) -> Scalar:
    """s[n] is a character, s[n:m] a part of a text."""
    binder.source.only(node, "this", "expressions")
    index = node.expressions[0]
    text = binder.operand(node.this)
    if len(node.expressions) > 1 or not (is_string(text.type) or pa.types.is_null(text.type)):
        raise binder.source.unsupported("subscripting of anything but a text", node)
    if not isinstance(index, exp.Slice):
        place = integer_argument(binder, index, "the place of a character")
        return Call("substring", (convert(binder.source, text, STRING), place, Literal(1, INT64)), STRING)
    binder.source.only(index, "this", "expression")
    bounds = index.this or exp.Literal.number(1), index.args.get("expression") or exp.Literal.number(-1)
    return by_table(binder, SCALAR_NAMES["array_slice"], [text, *bounds], node)


def _of_part(name: str, function: Callable[[ExpressionBinder, str, Any, Any], Scalar]) -> Handler:
    """name('year', d)."""

    def handler(binder: ExpressionBinder, node: Any) -> Scalar:
        part, moment = arguments(binder, node, name, 2)
        part = bare(part)
        if not (isinstance(part, exp.Literal) and part.is_string):
            raise binder.source.unsupported(f"{name} with a part that is no constant", node, f"write {name}('year', d)")
        return function(binder, part.this, moment, node)

    return handler


def _units(unit: str) -> Handler:
    """to_days(n) and the like."""
    return lambda binder, node: dates.units(binder, unit, arguments(binder, node, f"to_{unit}s", 1)[0], node)


def _date(binder: ExpressionBinder, node: Any) -> Scalar:
    """date('1994-01-01'), date(timestamp)."""
    binder.source.only(node, "this")
    operand = binder.operand(node.this)
    if not is_string(operand.type):
        operand = dates.moment_argument(binder, operand, "date")
    return convert(binder.source, operand, DATE)


def _ignoring_case(binder: ExpressionBinder, node: Any) -> Scalar:
    """x ~* r: whether all of x matches, as for ~."""
    binder.source.only(node, "this", "expression")
    bound = by_table(binder, SCALAR_NAMES["regexp_full_match"], [node.this, node.expression], node)
    return Call("regexp_full_match", (*bound.children, Literal("i", STRING)), BOOL)


def _logarithm(binder: ExpressionBinder, node: Any) -> Scalar:
    """log(x) is to base 10."""
    return by_table(binder, SCALAR_NAMES["log10" if len(node.expressions) == 1 else "log"], node.expressions, node)


def _date_diff(binder: ExpressionBinder, node: Any) -> Scalar:
    """Days are a difference of dates."""
    call = by_table(binder, SCALAR_NAMES["date_diff"], node.expressions, node)
    unit, start, end = call.children
    if isinstance(unit, Literal) and unit.value == "day":
        days = (convert(binder.source, Operand(moment, node), DATE) for moment in (end, start))
        return Call("date_diff_days", tuple(days), INT64)
    return call


def _strftime(binder: ExpressionBinder, node: Any) -> Scalar:
    """strftime(d, format) or strftime(format, d)."""
    first, *rest = node.expressions or [None]
    parts = [*rest, first] if isinstance(bare(first), exp.Literal) else node.expressions
    return by_table(binder, SCALAR_NAMES["strftime"], parts, node)


def _now(binder: ExpressionBinder, node: Any) -> Literal:
    """The time at which the query is bound, in the time zone of this machine."""
    binder.source.only(node, *(["this"] if isinstance(node, exp.Anonymous) else []))  # else: a precision
    return Literal(binder.source.now, TIMESTAMP)


def _today(binder: ExpressionBinder, node: Any) -> Scalar:
    return Literal(_now(binder, node).value.date(), DATE)


def _by_name(binder: ExpressionBinder, node: Any) -> Scalar:
    name = node.name.lower()
    handler = _NAMED.get(name)
    if handler is not None:
        return handler(binder, node)
    aggregate = bind_aggregate(binder, node)
    if aggregate is not None:
        return aggregate
    known = SCALAR_NAMES.get(name)
    if known is not None:
        return by_table(binder, known, node.expressions, node)
    if name in WINDOW_FUNCTIONS:
        raise binder.source.error(f"{name} is a window function: it needs OVER (...)", node)
    if row_items(node) is not None:
        raise binder.unknown_form(node)
    if name in INSTEAD:
        raise binder.source.unsupported(f"the function {name}", node, INSTEAD[name])
    hint = did_you_mean(name, _KNOWN, FUNCTIONS_PAGE)
    raise binder.source.error(f'unknown function "{node.name}"', node, hint)


def _series(binder: ExpressionBinder, node: Any) -> Scalar:
    raise binder.source.unsupported(f"{node.name} as a value", node, f"it gives rows, and stands in FROM: FROM {node.name}(1, 3)")


_NAMED: dict[str, Handler] = {
    "range": _series, "generate_series": _series, "log": _logarithm, "trunc": _trunc, "mod": _mod, "fdiv": _fdiv, "fmod": _fmod,
    "bit_count": _bit_count, "hex": _digits("hex"), "to_hex": _digits("hex"), "bin": _digits("bin"),
    **{f"{side}trim": _side_trim(f"{side}trim") for side in "lr"},
    "date_diff": _date_diff, "datediff": _date_diff, "strftime": _strftime,
    "now": _now, "get_current_timestamp": _now, "today": _today,
    **dict.fromkeys(("date_part", "datepart"), _of_part("date_part", dates.extract)),
    **dict.fromkeys(("date_trunc", "datetrunc"), _of_part("date_trunc", dates.date_trunc)),
    **moments.NAMED,
    **{f"to_{unit}s": _units(unit) for unit in INTERVAL_UNITS},
}  # fmt: skip
_NODES = ("ceil", "coalesce", "concat", "contains", "extract", "floor", "greatest", "ifnull", "least", "nullif", "round")
_KNOWN = (*_NODES, "substring", "trim", *_NAMED, *SCALAR_NAMES, *AGGREGATE_NAMES)

_OF_TWO = {
    exp.Glob: "glob", exp.StartsWith: "starts_with", exp.Pow: "power", exp.RegexpLike: "regexp_full_match",
    exp.SimilarTo: "regexp_full_match", exp.BitwiseAnd: "bit_and_of", exp.BitwiseOr: "bit_or_of",
    exp.BitwiseLeftShift: "shift_left", exp.BitwiseRightShift: "shift_right",
}  # fmt: skip
HANDLERS: dict[Any, Handler] = {
    **{kind: _form(name, "this", "expression") for kind, name in _OF_TWO.items()},
    exp.Abs: _form("abs", "this"), exp.BitwiseNot: _form("bit_not", "this"), exp.StrPosition: _form("strpos", "this", "substr"),
    exp.RegexpILike: _ignoring_case,
    exp.Substring: _substring, exp.Trim: _trim, exp.Contains: _contains, exp.DPipe: _join_texts, exp.Concat: _concat,
    exp.Round: _round, exp.Floor: _whole("floor"), exp.Ceil: _whole("ceil"), exp.Typeof: _typeof, exp.Bracket: _subscript,
    exp.CurrentDate: _today, exp.CurrentTimestamp: _now, exp.Localtimestamp: _now, exp.Date: _date, exp.Anonymous: _by_name,
}  # fmt: skip
