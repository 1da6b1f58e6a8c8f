"""Where types meet: implicit conversions made explicit, so that operands of one operator have one type.

A string literal takes the type of the other side, an integer literal the narrowest type of the other side that holds
it, NULL any type. A constant is converted when the query is bound, anything else gets a Cast.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.evaluate_dates import DAY
from optimizer.algebra.flags import AGGREGATE, GROUPING, SUBQUERY, WINDOW
from optimizer.algebra.predicates import compare
from optimizer.algebra.scalars import BOOL, Call, Cast, Literal, Scalar
from optimizer.algebra.types import (
    HUGEINT,
    INT32,
    INT64,
    INTERVAL,
    STRING,
    common_type,
    integer_range,
    is_date,
    is_decimal,
    is_exact,
    is_float,
    is_integer,
    is_numeric,
    is_opaque,
    is_string,
    is_timestamp,
    type_name,
)
from optimizer.errors import ExecutionError
from optimizer.sql.cast_hints import OPAQUE, cast_hint
from optimizer.sql.literals import DoesNotFit, fold_cast

if TYPE_CHECKING:
    from optimizer.sql.source import Source

_EQUALITIES = frozenset({"=", "<>", "is_not_distinct_from", "is_distinct_from"})


class Operand(NamedTuple):
    """A bound scalar and the AST it came from: literals are recognised by how they were written."""

    scalar: Scalar
    node: Any

    @property
    def type(self) -> DataType:
        return self.scalar.type

    @property
    def string_literal(self) -> bool:
        node = bare(self.node)
        return isinstance(node, exp.Literal) and node.is_string and is_string(self.type)

    @property
    def integer_literal(self) -> bool:
        node = bare(self.node)
        if isinstance(node, exp.Neg):
            node = bare(node.this)
        return isinstance(node, exp.Literal) and not node.is_string and isinstance(self.scalar, Literal) and is_integer(self.type)


def constant_value(source: Source, operand: Operand, what: str, hint: str | None = None) -> Any:
    """The value of `what`, a scalar that reads nothing. Raises Unsupported for another one, SqlError where it has none."""
    scalar = operand.scalar
    if scalar.columns or scalar.outer or scalar.volatile or scalar.flags & (AGGREGATE | SUBQUERY | WINDOW | GROUPING):
        raise source.unsupported(f"{what} that is no constant", operand.node, hint)
    try:
        return evaluate(scalar, {})
    except ExecutionError as error:
        raise source.error(str(error), operand.node) from None


def bare(node: Any) -> Any:
    """The node inside parentheses."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def convert(source: Source, operand: Operand, type: DataType, lenient: bool = False) -> Scalar:
    """The operand as `type`; raises SqlError under a constant that does not fit (lenient: NULL)."""
    scalar = operand.scalar
    if scalar.type == type:
        return scalar
    if isinstance(scalar, Literal):
        try:
            folded = fold_cast(scalar, type)
        except DoesNotFit as error:
            if lenient:
                return Literal(None, type)
            raise source.error(str(error), operand.node) from None
        if folded is not None:
            return folded
    return Cast(scalar, type, lenient)


def text_of(source: Source, operand: Operand, what: str) -> Scalar:
    """An operand that must be a string; NULL counts as one."""
    if not (is_string(operand.type) or pa.types.is_null(operand.type)):
        hint = cast_hint(operand.scalar, STRING, "convert it with CAST(... AS VARCHAR)")
        raise source.error(f"{what} needs a string, not {type_name(operand.type)}", operand.node, hint)
    return convert(source, operand, STRING)


def as_text(source: Source, operand: Operand) -> Scalar:
    """The operand written as text."""
    if pa.types.is_nested(operand.type) or pa.types.is_binary(operand.type) or operand.type == INTERVAL:
        raise source.unsupported(f"{type_name(operand.type)} as text", operand.node)
    return convert(source, operand, STRING)


def literal_fits(operand: Operand, type: DataType) -> bool:
    """Whether `type` is an integer type and the operand an integer literal that is a value of it."""
    if not (operand.integer_literal and is_integer(type)):
        return False
    low, high = integer_range(type)
    return bool(isinstance(operand.scalar, Literal) and low <= operand.scalar.value <= high)


def fits_exactly(scalar: Scalar, type: DataType) -> bool:
    """Whether `scalar` is an integer or decimal constant and `type` an integer or decimal type with that value."""
    if not (isinstance(scalar, Literal) and scalar.value is not None and is_exact(scalar.type) and is_exact(type)):
        return False
    try:
        folded = fold_cast(scalar, type)
    except DoesNotFit:
        return False
    return folded is not None and bool(folded.value == scalar.value)


def meeting_type(
    source: Source, operands: Sequence[Operand], what: str, comparing: bool = False, strings_yield: bool = False
) -> DataType:
    """The type in which `operands` meet; INTEGER when all are NULL.

    A string literal yields to any other type, with `strings_yield` (equality) any string. `comparing`, an exact constant
    takes the other side's exact type when it is a value of it; otherwise (CASE, COALESCE, ...) only integer literals do,
    and only to integers.
    Raises SqlError `<what> VARCHAR and DATE` under the first operand that does not fit.
    """
    firm = [o for o in operands if not is_string(o.type) or not (strings_yield or o.string_literal)]
    if all(pa.types.is_null(o.type) for o in firm):
        firm = list(operands)
    type: DataType = pa.null()
    for operand in sorted(firm, key=lambda o: isinstance(o.scalar, Literal)):  # stable: constants last
        if fits_exactly(operand.scalar, type) if comparing else literal_fits(operand, type):
            continue
        met = common_type(type, operand.type)
        if met is None:
            raise mismatch(source, what, type, operand)
        type = met
    return INT32 if pa.types.is_null(type) else type


def meet(
    source: Source, operands: Sequence[Operand], what: str, comparing: bool = False, strings_yield: bool = False
) -> tuple[list[Scalar], DataType]:
    """All operands converted to the type in which they meet, and that type."""
    type = operands[0].scalar.type
    if all(o.scalar.type == type for o in operands) and not (pa.types.is_null(type) or (comparing and type == INTERVAL)):
        return [o.scalar for o in operands], type
    if comparing and any(o.type == INTERVAL for o in operands):
        operands = [as_microseconds(source, o) if o.type == INTERVAL else o for o in operands]
    if comparing and strings_yield and any(is_decimal(o.type) or is_float(o.type) for o in operands):  # TRUE = 1.0
        operands = [Operand(Cast(o.scalar, INT32, False), o.node) if o.type == BOOL else o for o in operands]
    type = meeting_type(source, operands, what, comparing, strings_yield)
    return [convert(source, o, type) for o in operands], type


def as_microseconds(source: Source, operand: Operand) -> Operand:
    """An interval as they are compared, a month being 30 days. Raises Unsupported for one that a column holds."""
    match operand.scalar:
        case Call(function="to_interval", args=(microseconds,)):
            return Operand(microseconds, operand.node)
        case Call(function="interval_times", args=(Literal() as interval, count)) if count.type == INT64:
            each = as_microseconds(source, Operand(interval, operand.node)).scalar
            if each.type == INT64:
                return Operand(Call("*", (each, count), INT64), operand.node)
        case Literal(value=None):
            return Operand(Literal(None, INT64), operand.node)
        case Literal(value=value):
            total = (value.months * 30 + value.days) * DAY + value.nanoseconds // 1000
            fits = -(1 << 63) <= total < 1 << 63
            return Operand(Literal(total, INT64) if fits else Literal(Decimal(total), HUGEINT), operand.node)
    what = "comparing an INTERVAL that is neither a constant, nor a whole number of times one, nor a difference of timestamps"
    raise source.unsupported(what, operand.node, "compute EXTRACT(EPOCH FROM a - b), in seconds, where it is made")


def comparable(source: Source, function: str, left: Operand, right: Operand) -> tuple[Scalar, Scalar]:
    """Both sides of a comparison in one type; raises SqlError when there is none. For equality a string column yields."""
    (a, b), _ = meet(source, (left, right), "cannot compare", comparing=True, strings_yield=function in _EQUALITIES)
    return a, b


def mismatch(source: Source, what: str, type: DataType, operand: Operand) -> Exception:
    cast = "convert one side explicitly: CAST(... AS ...)"
    hint = OPAQUE if is_opaque(type) else cast_hint(operand.scalar, STRING, cast)
    if (is_date(type) or is_timestamp(type)) and is_numeric(operand.type) and not operand.scalar.columns:  # 2024-01-31
        hint = "write dates in quotes: DATE '2024-01-31'"
    return source.error(f"{what} {type_name(type)} and {type_name(operand.type)}", operand.node, hint)


def truth(source: Source, operand: Operand) -> Scalar:
    """The operand as a condition: a number is TRUE when it is not 0, a string literal is read as a boolean."""
    scalar = operand.scalar
    if scalar.type == BOOL:
        return scalar
    if pa.types.is_null(scalar.type) or operand.string_literal:
        return convert(source, operand, BOOL)
    if is_numeric(scalar.type):
        zero = fold_cast(Literal(0, INT32), scalar.type) or Cast(Literal(0, INT32), scalar.type, False)
        return compare("<>", scalar, zero)
    hint = OPAQUE if is_opaque(scalar.type) else "write a comparison"
    raise source.error(f"a condition must be BOOLEAN, not {type_name(scalar.type)}", operand.node, hint)


def settle_nulls(operands: Iterable[Scalar]) -> list[Scalar]:
    """NULL literals without a type become INTEGER."""
    return [Literal(None, INT32) if isinstance(s, Literal) and pa.types.is_null(s.type) else s for s in operands]


def negated(scalar: Scalar) -> Scalar:
    return Call("not", (scalar,), BOOL)
