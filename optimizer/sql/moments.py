"""Numbers since 1970 and the timestamps of them (epoch, epoch_ms, make_timestamp), and time_bucket."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from optimizer.algebra.evaluate_dates import DAY
from optimizer.algebra.scalar_functions import SCALAR_NAMES
from optimizer.algebra.scalars import Call, Literal, Scalar
from optimizer.algebra.types import DATE, INT64, INTERVAL, TIMESTAMP, is_date, is_integer
from optimizer.sql import dates
from optimizer.sql.arithmetic import integer_argument
from optimizer.sql.by_table import arguments, by_table
from optimizer.sql.coerce import Operand, convert

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder

Handler = Callable[["ExpressionBinder", Any], Scalar]
_START, _THOUSAND = Literal(datetime(1970, 1, 1), TIMESTAMP), Literal(1000, INT64)


def _part(name: str) -> Handler:
    """A function of one moment that gives a part of it."""
    return lambda binder, node: dates.extract(binder, name, arguments(binder, node, name, 1)[0], node)


def _epoch_ms(binder: ExpressionBinder, node: Any) -> Scalar:
    """Of a date or timestamp a number, of a number a timestamp."""
    operand = binder.operand(*arguments(binder, node, "epoch_ms", 1))
    if is_integer(operand.type) or pa.types.is_null(operand.type):
        return _moment(Call("*", (convert(binder.source, operand, INT64), _THOUSAND), INT64))
    return Call("//", (_microseconds(binder, operand, "epoch_ms"), _THOUSAND), INT64)


def _microseconds(binder: ExpressionBinder, moment: Any, name: str) -> Scalar:
    since = convert(binder.source, dates.moment_argument(binder, moment, name), TIMESTAMP)
    return Call("microseconds_between", (since, _START), INT64)


def _moment(microseconds: Scalar) -> Scalar:
    return Call("date_add", (_START, Call("to_interval", (microseconds,), INTERVAL)), TIMESTAMP)


def _make_timestamp(binder: ExpressionBinder, node: Any) -> Scalar:
    if len(node.expressions) == 1:
        return _moment(integer_argument(binder, node.expressions[0], "make_timestamp"))
    return by_table(binder, SCALAR_NAMES["make_timestamp"], node.expressions, node)


def _time_bucket(binder: ExpressionBinder, node: Any) -> Scalar:
    width, *moments = arguments(binder, node, "time_bucket", max(2, min(3, len(node.expressions))))
    interval = convert(binder.source, binder.operand(width), INTERVAL)
    if not isinstance(interval, Literal):
        what = "time_bucket with a width that is no constant"
        raise binder.source.unsupported(what, width, "write time_bucket(INTERVAL '15 minutes', t)")
    months, *rest = interval.value or (1, 0, 0)
    if (months and any(rest)) or (months or rest[0] * DAY * 1000 + rest[1]) <= 0:
        raise binder.source.error("the width of a time_bucket is above 0, of months or of days and time", width)
    operands = [dates.moment_argument(binder, each, "time_bucket") for each in moments]
    origin = Literal(datetime(2000, 1, 1 if months else 3), TIMESTAMP)
    args = [*(convert(binder.source, each, TIMESTAMP) for each in operands), origin][:2]
    call = Call("time_bucket", (interval, *args), TIMESTAMP)
    return convert(binder.source, Operand(call, node), DATE if all(is_date(each.type) for each in operands) else TIMESTAMP)


NAMED: dict[str, Handler] = {
    **{name: _part(name) for name in (*dates.PARTS_OF_MOMENTS, "dayofmonth", "weekday", "weekofyear")},
    "epoch_ms": _epoch_ms, "make_timestamp": _make_timestamp, "time_bucket": _time_bucket,
    "epoch_us": lambda binder, node: _microseconds(binder, arguments(binder, node, "epoch_us", 1)[0], "epoch_us"),
    "epoch_ns": lambda binder, node: Call(
        "*", (_microseconds(binder, arguments(binder, node, "epoch_ns", 1)[0], "epoch_ns"), _THOUSAND), INT64
    ),
}  # fmt: skip
