"""Dates, timestamps and intervals: literals, + and -, EXTRACT, date_trunc, date_diff.

DATE ± INTERVAL is a TIMESTAMP and DATE ± INTEGER a DATE, as in DuckDB; on constants the result is computed here.
Intervals are constants, so many times a constant, or differences of timestamps: they may be added to dates. All but fractions of
constants that a column tells may be compared, and of constants and differences one may take parts.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.evaluate_dates import DAY, FURTHER_PARTS, MICROSECONDS, MONTHS, PARTS, interval_times
from optimizer.algebra.scalar_functions import SCALAR_NAMES
from optimizer.algebra.scalars import Call, Cast, Literal, Scalar
from optimizer.algebra.types import (
    DATE,
    DOUBLE,
    INT32,
    INT64,
    INTERVAL,
    STRING,
    TIMESTAMP,
    cast_may_fail,
    is_date,
    is_integer,
    is_numeric,
    is_timestamp,
    type_name,
)
from optimizer.errors import ExecutionError
from optimizer.sql.cast_hints import cast_hint
from optimizer.sql.coerce import Operand, bare, convert
from optimizer.sql.literals import INTERVAL_UNITS, DoesNotFit, interval_value, parse_interval, unit_name
from optimizer.sql.source import listing

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder

_FUNCTIONS = ("epoch", "isodow", "isoyear", *(name for name, *_ in FURTHER_PARTS))  # parts that are functions of our table
PARTS_OF_MOMENTS = (*PARTS, *_FUNCTIONS)
_PART_ALIASES = {"dow": "dayofweek", "weekday": "dayofweek", "doy": "dayofyear", "dayofmonth": "day", "weekofyear": "week"}
_WITHIN = {"month": 12, "quarter": 12, "minute": MICROSECONDS["hour"]}  # what a part of an interval begins anew after
_WITHIN |= dict.fromkeys(("second", "millisecond", "microsecond"), MICROSECONDS["minute"])
_INTERVAL_PARTS = (*MONTHS, "day", *(unit for unit in MICROSECONDS if unit not in ("day", "week")), "epoch")
_WITH_FRACTIONS = {"second": 1e6, "millisecond": 1e3}  # microseconds of each
_COUNT = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?|[+-]?\.[0-9]+")


def is_interval(type: DataType) -> bool:
    return bool(type == INTERVAL)


def is_temporal(type: DataType) -> bool:
    return is_date(type) or is_timestamp(type) or is_interval(type)


def plus_minus(binder: ExpressionBinder, function: str, left: Operand, right: Operand, node: Any) -> Scalar:
    """`+` or `-` where a side is a date, timestamp or interval."""
    if function == "+" and (is_interval(left.type) or not is_temporal(left.type)) and not is_interval(right.type):
        left, right = right, left
    if function == "-" and (left.string_literal or pa.types.is_null(left.type)) and not is_interval(right.type):
        left = Operand(convert(binder.source, left, right.type), left.node)
    sign = 1 if function == "+" else -1
    moment = is_date(left.type) or is_timestamp(left.type)
    if moment and (is_interval(right.type) or (is_timestamp(left.type) and pa.types.is_null(right.type))):
        return _shift(binder, left, right, sign, node)
    if is_interval(left.type) and is_interval(right.type):
        a, b = _interval_literal(binder, left), _interval_literal(binder, right)
        if a is None or b is None:
            return Literal(None, INTERVAL)
        return _interval(binder, (a.months + sign * b.months, a.days + sign * b.days, a.nanoseconds + sign * b.nanoseconds), node)
    if is_date(left.type) and is_date(right.type) and function == "-":
        return Call("date_diff_days", (left.scalar, right.scalar), INT64)
    whole = is_integer(right.type) and not cast_may_fail(right.type, INT32)
    if is_date(left.type) and (pa.types.is_null(right.type) or whole):
        return _shift_days(binder, left, right, sign, node)
    if moment and (is_date(right.type) or is_timestamp(right.type)) and function == "-":
        binder.source.differences = True
        a, b = (convert(binder.source, each, TIMESTAMP) for each in (left, right))
        return Call("to_interval", (Call("microseconds_between", (a, b), INT64),), INTERVAL)
    raise binder.source.error(
        f'"{function}" does not take {type_name(left.type)} and {type_name(right.type)}',
        node,
        "a date takes an INTERVAL or a number of days: d + INTERVAL '3' MONTH, d + 90",
    )


def _interval_literal(binder: ExpressionBinder, operand: Operand) -> Any:
    if not isinstance(operand.scalar, Literal):
        raise binder.source.unsupported("an INTERVAL that is not a constant", operand.node, "write INTERVAL '3' MONTH")
    return operand.scalar.value


def _shift(binder: ExpressionBinder, moment: Operand, interval: Operand, sign: int, node: Any) -> Scalar:
    shift = scaled_interval(binder, interval, sign, interval.node)
    if isinstance(shift, Literal) and shift.value is None:
        return Literal(None, TIMESTAMP)
    return _moved(binder, Call("date_add", (convert(binder.source, moment, TIMESTAMP), shift), TIMESTAMP), node)


def _shift_days(binder: ExpressionBinder, date: Operand, days: Operand, sign: int, node: Any) -> Scalar:
    count = convert(binder.source, days, INT32)
    if isinstance(count, Literal):
        if count.value is None:
            return Literal(None, DATE)
        count = Literal(sign * count.value, INT32)
    elif sign < 0:
        count = Call("neg", (count,), INT32)
    return _moved(binder, Call("date_add_days", (date.scalar, count), DATE), node)


def _moved(binder: ExpressionBinder, call: Call, node: Any) -> Scalar:
    """The call; of constants its value."""
    if not all(isinstance(arg, Literal) and arg.value is not None for arg in call.args):
        return call
    try:
        return Literal(evaluate(call, {}), call.type)
    except ExecutionError:
        raise binder.source.error("the date is beyond years 1 to 9999", node) from None


def times(binder: ExpressionBinder, left: Operand, right: Operand, node: Any) -> Scalar:
    """INTERVAL '1' DAY * 3, in either order."""
    interval, count = (left, right) if is_interval(left.type) else (right, left)
    if pa.types.is_null(count.type):
        return Literal(None, INTERVAL)
    if not is_numeric(count.type):
        raise binder.source.error(f"an INTERVAL is multiplied by a number, not {type_name(count.type)}", node)
    number = count.scalar if is_integer(count.type) else convert(binder.source, count, DOUBLE)
    if isinstance(number, Literal) and number.value is not None:
        return scaled_interval(binder, interval, number.value, node)
    if _interval_literal(binder, interval) is None:
        return interval.scalar
    binder.source.differences = True
    number = convert(binder.source, Operand(number, node), INT64) if is_integer(number.type) else number
    return Call("interval_times", (interval.scalar, number), INTERVAL)


def units(binder: ExpressionBinder, unit: str, count: Any, node: Any) -> Scalar:
    """So many units as an interval: INTERVAL (n) DAY, to_days(n). Of a fraction of seconds the microseconds are kept; INTERVAL
    takes the whole of other units."""
    number = binder.operand(count)
    if is_numeric(number.type) and not is_integer(number.type) and (unit in _WITH_FRACTIONS or isinstance(node, exp.Interval)):
        double = convert(binder.source, number, DOUBLE)
        if unit in _WITH_FRACTIONS:
            whole, unit = Call("*", (double, Literal(_WITH_FRACTIONS[unit], DOUBLE)), DOUBLE), "microsecond"
        else:
            whole = Call("trunc", (double,), DOUBLE)
        number = Operand(Cast(whole, INT64, False), count)
    if is_numeric(number.type) and not is_integer(number.type):
        raise binder.source.error(f"to_{unit}s takes a whole number, not {type_name(number.type)}", node)
    return times(binder, Operand(Literal(interval_value(1, unit), INTERVAL), node), number, node)


def scaled_interval(binder: ExpressionBinder, operand: Operand, factor: float, node: Any) -> Scalar:
    match operand.scalar if isinstance(factor, int) else None:
        case Call(function="interval_times", args=(Literal() as interval, count)):
            return Call("interval_times", (scaled_interval(binder, Operand(interval, node), factor, node), count), INTERVAL)
        case Call(function="to_interval", args=(microseconds,)):
            scaled = microseconds if factor == 1 else Call("*", (microseconds, Literal(factor, INT64)), INT64)
            return Call("to_interval", (scaled,), INTERVAL)
    value = _interval_literal(binder, operand)
    try:
        return Literal(None if value is None else interval_times(value, factor), INTERVAL)
    except ExecutionError:
        raise binder.source.error("the INTERVAL is too long", node) from None


def _interval(binder: ExpressionBinder, parts: tuple[int, int, int], node: Any) -> Literal:
    if max(abs(parts[0]), abs(parts[1])) > 0x7FFFFFFF or abs(parts[2]) > 0x7FFFFFFFFFFFFFFF:
        raise binder.source.error("the INTERVAL is too long", node)
    return Literal(pa.MonthDayNano(parts), INTERVAL)


def _interval_constant(binder: ExpressionBinder, node: Any) -> Scalar:
    """INTERVAL '3' MONTH, INTERVAL 3 MONTH, INTERVAL '1 year 2 months'."""
    source = binder.source
    source.only(node, "this", "unit")
    unit = node.args.get("unit")
    inner = bare(node.this)
    sign = 1
    name = unit_name(unit.name) if isinstance(unit, exp.Var) else None
    if isinstance(inner, exp.Neg):
        sign, inner = -1, bare(inner.this)
    if not isinstance(inner, exp.Literal):
        if name is None:
            raise source.unsupported("an INTERVAL that is not a constant", node, "write INTERVAL '3' MONTH")
        return units(binder, name, node.this, node)
    text = inner.this.strip()
    try:
        if unit is None and inner.is_string:
            value = parse_interval(text)
            return _interval(binder, (sign * value.months, sign * value.days, sign * value.nanoseconds), node)
        if name is None:
            form = f"INTERVAL in {unit.sql()}" if unit is not None else "an INTERVAL without a unit"
            raise source.unsupported(form, node, "the units are year, month, day, hour, minute, second")
        bare_number = not (inner._meta and "start" in inner._meta)  # INTERVAL 1.5 DAY is refused, INTERVAL (1.5) DAY is one day
        if _COUNT.fullmatch(text) is None or len(text) > 18 or (bare_number and "." in text):
            raise source.unsupported(f"an INTERVAL of '{inner.this}'", node, "write a whole number: INTERVAL '3' MONTH")
        if name not in _WITH_FRACTIONS:
            return Literal(interval_value(sign * int(Decimal(text)), name), INTERVAL)
        return Literal(interval_value(sign * round(Decimal(text) * int(_WITH_FRACTIONS[name])), "microsecond"), INTERVAL)
    except (DoesNotFit, ValueError) as error:
        raise source.error(str(error), inner) from None


def extract(binder: ExpressionBinder, part: str, arg: Any, node: Any) -> Scalar:
    """One field of a date or timestamp, an int64 but for epoch; `part` may be plural or an alias such as dow."""
    word = part.lower()
    word = _PART_ALIASES.get(word) or (word if word in PARTS_OF_MOMENTS else unit_name(word) or word)
    if word not in PARTS_OF_MOMENTS:
        raise binder.source.unsupported(f"EXTRACT({part.upper()})", node, f"the parts are {listing(PARTS_OF_MOMENTS, 25)}")
    operand = binder.operand(arg)
    if is_interval(operand.type):
        return _interval_part(binder, word, operand, node)
    operand = moment_argument(binder, operand, f"EXTRACT({word.upper()})")
    if word in _FUNCTIONS:
        type = SCALAR_NAMES[word].result(operand.type)
        assert type is not None
        return Call(word, (operand.scalar,), type)
    if word in ("hour", "minute", "second"):
        return Call(word, (convert(binder.source, operand, TIMESTAMP),), INT64)
    return Call(word, (operand.scalar,), INT64)


def _interval_part(binder: ExpressionBinder, part: str, operand: Operand, node: Any) -> Scalar:
    """A part of its months, its days, or what else it has; or all of it in seconds, a year being 365.25 days."""

    def by(function: str, of: Scalar, number: int) -> Scalar:
        return of if number == 1 else Call(function, (of, Literal(number, INT64)), INT64)

    longer: list[Scalar] = []  # seconds of years, months and days
    match operand.scalar if part in _INTERVAL_PARTS else None:
        case Call(function="to_interval", args=(total,)):
            months, days, rest = by("*", total, 0), by("//", total, DAY), total if part == "epoch" else by("%", total, DAY)
        case Literal(value=None):
            return Literal(None, DOUBLE if part == "epoch" else INT64)
        case Literal(value=value):
            months, days, rest = (Literal(n, INT64) for n in (value.months, value.days, value.nanoseconds // 1000))
            longer = [by("*", by("//", months, 12), 31_557_600), by("*", by("%", months, 12), 2_592_000), by("*", days, 86_400)]
        case _:
            hint = f"the parts are {listing(_INTERVAL_PARTS, 13)} of a constant, or a difference a - b, taken where it is made"
            raise binder.source.unsupported(f"EXTRACT({part.upper()}) of an INTERVAL", node, hint)
    if part == "epoch":  # seconds and the rest apart: a DOUBLE does not hold all microseconds of centuries
        whole = reduce(lambda a, b: Call("+", (a, b), INT64), [by("//", rest, 1_000_000), *longer])
        whole, below = (convert(binder.source, Operand(each, node), DOUBLE) for each in (whole, by("%", rest, 1_000_000)))
        return Call("+", (whole, Call("/", (below, Literal(1e6, DOUBLE)), DOUBLE)), DOUBLE)
    of, unit = (months, MONTHS[part]) if part in MONTHS else (days, 1) if part == "day" else (rest, MICROSECONDS[part])
    found = by("//", by("%", of, _WITHIN[part]) if part in _WITHIN else of, unit)
    return Call("+", (found, Literal(1, INT64)), INT64) if part == "quarter" else found


def moment_argument(binder: ExpressionBinder, node: Any, what: str) -> Operand:
    """An argument that must be a date or timestamp; NULL counts as a date."""
    operand = binder.operand(node)
    if pa.types.is_null(operand.type):
        return Operand(Literal(None, DATE), operand.node)
    if not (is_date(operand.type) or is_timestamp(operand.type)):
        hint = cast_hint(operand.scalar, DATE, "convert it with CAST(... AS DATE)")
        raise binder.source.error(f"{what} needs a date or timestamp, not {type_name(operand.type)}", operand.node, hint)
    return operand


def _extract(binder: ExpressionBinder, node: Any) -> Scalar:
    return extract(binder, node.this.name, node.expression, node)


def date_trunc(binder: ExpressionBinder, unit: str, arg: Any, node: Any) -> Scalar:
    """The beginning of the unit that a date or timestamp lies in, a timestamp."""
    name = unit_name(unit)
    if name is None:
        raise binder.source.unsupported(f"date_trunc to {unit}", node, f"the units are {listing(INTERVAL_UNITS[::-1], 13)}")
    operand = moment_argument(binder, arg, "date_trunc")
    return Call("date_trunc", (Literal(name, STRING), convert(binder.source, operand, TIMESTAMP)), TIMESTAMP)


def _date_add(binder: ExpressionBinder, node: Any) -> Scalar:
    binder.source.only(node, "this", "expression")
    sign = "+" if isinstance(node, exp.DateAdd) else "-"
    return plus_minus(binder, sign, moment_argument(binder, node.this, "date_add"), binder.operand(node.expression), node)


HANDLERS = {
    exp.Interval: _interval_constant,
    exp.Extract: _extract,
    exp.DateAdd: _date_add,
}
