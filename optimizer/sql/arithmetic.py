"""+ - * / // % and signs over numbers; dates are handed to `dates`.

Integers are computed in one integer type, decimals exactly with DuckDB's result precision, `/` in DOUBLE. Operations on
two constants are done here when the result fits.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.evaluate_numbers import negate
from optimizer.algebra.scalars import Call, Literal, Scalar
from optimizer.algebra.types import (
    DOUBLE,
    FLOAT,
    HUGEINT,
    INT32,
    INT64,
    arithmetic_type,
    decimal_of,
    integer_range,
    is_decimal,
    is_float,
    is_integer,
    is_numeric,
    is_string,
    type_name,
)
from optimizer.errors import ExecutionError
from optimizer.sql import dates
from optimizer.sql.cast_hints import cast_hint
from optimizer.sql.coerce import Operand, bare, convert, literal_fits
from optimizer.sql.literals import exact_decimal
from optimizer.sql.parse import Plus

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder

SYMBOLS = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Mod: "%", exp.Div: "/", exp.IntDiv: "//"}


def _binary(binder: ExpressionBinder, node: Any) -> Scalar:
    left, right = binder.operand(node.this), binder.operand(node.expression)
    function = SYMBOLS[type(node)]
    if function in "+-" and (dates.is_temporal(left.type) or dates.is_temporal(right.type)):
        return dates.plus_minus(binder, function, left, right, node)
    if function == "*" and (dates.is_interval(left.type) or dates.is_interval(right.type)):
        return dates.times(binder, left, right, node)
    return combine(binder, function, left, right, node)


def combine(binder: ExpressionBinder, function: str, left: Operand, right: Operand, node: Any) -> Scalar:
    """`left function right` of two numbers; raises SqlError when one is no number."""
    source = binder.source
    left, right = _numeric_null(left, right), _numeric_null(right, left)
    left, right = _read_string(binder, function, left, right), _read_string(binder, function, right, left)
    for operand in (left, right):
        if not is_numeric(operand.type):
            hint = cast_hint(operand.scalar, DOUBLE, "convert it with CAST(... AS ...)")
            if function == "+" and is_string(operand.type):
                hint = "strings are joined with ||"
            raise source.error(f'"{function}" needs numbers, not {type_name(operand.type)}', operand.node, hint)
    if function == "/":
        return _quotient(binder, left, right)
    left_type, right_type = _bent(left, right), _bent(right, left)
    type = arithmetic_type(function, left_type, right_type)
    if type is None:
        raise source.error("the product has more than 38 digits after the point", node, "cast an operand to fewer digits")
    if function == "//" and is_decimal(type):
        # a HUGEINT is a DECIMAL(38,0) here; DuckDB divides DECIMALs as DOUBLEs
        if type.scale or not all(is_integer(t) or t == pa.decimal128(38, 0) for t in (left_type, right_type)):
            type = DOUBLE
    if is_decimal(type) and function in "+-*":
        args = (_as_decimal(binder, left), _as_decimal(binder, right))
    else:
        args = (convert(source, left, type), convert(source, right, type))
    return _folded(function, args, type) or Call(function, args, type)


def _quotient(binder: ExpressionBinder, left: Operand, right: Operand) -> Scalar:
    """`/`: in DOUBLE, or in FLOAT with a FLOAT and no DOUBLE."""
    type = FLOAT if FLOAT in (left.type, right.type) and DOUBLE not in (left.type, right.type) else DOUBLE
    return Call("/", tuple(convert(binder.source, operand, type) for operand in (left, right)), type)


def _numeric_null(operand: Operand, other: Operand) -> Operand:
    """NULL takes the other side's type."""
    if not pa.types.is_null(operand.type):
        return operand
    return Operand(Literal(None, other.type if is_numeric(other.type) else INT64), operand.node)


def _read_string(binder: ExpressionBinder, function: str, operand: Operand, other: Operand) -> Operand:
    """A string literal takes the other side's type; beside a decimal, and to be divided, it is a DOUBLE, as in DuckDB."""
    if not (operand.string_literal and is_numeric(other.type)):
        return operand
    whole = is_integer(other.type) or other.type == HUGEINT
    type = other.type if is_float(other.type) or (whole and function != "/") else DOUBLE
    return Operand(convert(binder.source, operand, type), operand.node)


def _bent(operand: Operand, other: Operand) -> DataType:
    """The type an operand counts as: an integer literal counts as the other side's integer type when it fits."""
    if not other.integer_literal and literal_fits(operand, other.type):
        return other.type
    return operand.type


def _as_decimal(binder: ExpressionBinder, operand: Operand) -> Scalar:
    """An exact number as a decimal: a constant with no more digits than it has, anything else with its type's."""
    scalar = operand.scalar
    if is_decimal(scalar.type):
        return scalar
    if isinstance(scalar, Literal) and scalar.value is not None:
        return exact_decimal(scalar.value)
    return convert(binder.source, operand, decimal_of(scalar.type))


def _folded(function: str, args: tuple[Scalar, Scalar], type: DataType) -> Scalar | None:
    """The result for two exact constants; None for others, and where it does not fit."""
    if function not in "+-*" or is_float(type) or not all(isinstance(arg, Literal) for arg in args):
        return None
    with suppress(ExecutionError):
        return Literal(evaluate(Call(function, args, type), {}), type)
    return None


def _negate(binder: ExpressionBinder, node: Any) -> Scalar:
    inner = bare(node.this)
    if isinstance(inner, exp.Literal) and not inner.is_string:
        literal = binder.bind(inner)
        assert isinstance(literal, Literal), "a number is a constant"
        smallest = literal.type == HUGEINT and literal.value == -integer_range(INT64)[0]
        return Literal(int(-literal.value), INT64) if smallest else Literal(negate(literal.value, literal.type), literal.type)
    operand = binder.operand(node.this)
    scalar = operand.scalar
    if pa.types.is_null(scalar.type):
        return Literal(None, INT64)
    if dates.is_interval(scalar.type):
        return dates.scaled_interval(binder, operand, -1, node)
    if not is_numeric(scalar.type):
        raise binder.source.error(f'"-" needs a number, not {type_name(scalar.type)}', operand.node)
    if isinstance(scalar, Literal) and is_decimal(scalar.type) and scalar.value is not None:
        return Literal(negate(scalar.value, scalar.type), scalar.type)
    if is_integer(scalar.type) and not pa.types.is_signed_integer(scalar.type):
        scalar = convert(binder.source, operand, INT64 if scalar.type.bit_width < 64 else decimal_of(scalar.type))
    return Call("neg", (scalar,), scalar.type)


def _plus(binder: ExpressionBinder, node: Any) -> Scalar:
    """The operand as it is."""
    return numeric_argument(binder, node.this, '"+"').scalar


def integer_argument(binder: ExpressionBinder, node: Any, what: str) -> Scalar:
    """An argument that must be a whole number, as int64."""
    operand = binder.operand(node)
    return convert(
        binder.source, operand if operand.string_literal else integer_operand(binder, operand, f"{what} needs an integer"), INT64
    )


def integer_operand(binder: ExpressionBinder, node: Any, wanted: str) -> Operand:
    """An argument that must be a whole number, of its own type, or NULL."""
    operand = binder.operand(node)
    if not (is_integer(operand.type) or pa.types.is_null(operand.type)):
        hint = cast_hint(operand.scalar, INT64, "convert it with CAST(... AS BIGINT)")
        raise binder.source.error(f"{wanted}, not {type_name(operand.type)}", operand.node, hint)
    return operand


def double_argument(binder: ExpressionBinder, node: Any, what: str) -> Scalar:
    """An argument of a floating-point function, as DOUBLE."""
    operand = binder.operand(node)
    if not (is_numeric(operand.type) or operand.string_literal or pa.types.is_null(operand.type)):
        raise binder.source.error(f"{what} needs a number, not {type_name(operand.type)}", operand.node)
    return convert(binder.source, operand, DOUBLE)


def numeric_argument(binder: ExpressionBinder, node: Any, what: str) -> Operand:
    """An argument of any numeric type; NULL counts as INTEGER."""
    operand = binder.operand(node)
    if pa.types.is_null(operand.type):
        return Operand(Literal(None, INT32), node)
    if not is_numeric(operand.type):
        raise binder.source.error(f"{what} needs a number, not {type_name(operand.type)}", operand.node)
    return operand


HANDLERS = {**dict.fromkeys(SYMBOLS, _binary), exp.Neg: _negate, Plus: _plus}
