"""The frame clause of a window: ROWS, RANGE or GROUPS between two bounds, EXCLUDE.

Offsets are constants: they are folded to literals here. Without a clause the frame ends with the last peer of the current
row, and so is the whole partition where the window has no order. A frame that always is the whole partition becomes None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.scalars import Frame, FrameBound, Literal, Scalar
from optimizer.algebra.types import (
    INT64,
    INTERVAL,
    arithmetic_type,
    is_date,
    is_float,
    is_integer,
    is_numeric,
    is_timestamp,
    type_name,
)
from optimizer.sql.coerce import Operand, bare, constant_value, convert

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder

_UNITS = ("rows", "range", "groups")
_EXCLUDED = {"NO OTHERS": "none", "CURRENT ROW": "current row", "GROUP": "group", "TIES": "ties"}
_UNBOUNDED, _CURRENT = "UNBOUNDED", "CURRENT ROW"
_DEFAULT = Frame("range", FrameBound("preceding"), FrameBound("current"))


def has_range_offset(frame: Frame | None) -> bool:
    """Whether the bounds depend on values of the order key, not on places and peers alone."""
    return frame is not None and frame.unit == "range" and (frame.start.offset is not None or frame.end.offset is not None)


def bind_frame(binder: ExpressionBinder, node: Any, keys: tuple[Scalar, ...], window: Any) -> Frame | None:
    """The frame that `node` (a WindowSpec, or None for the default one) means in a window ordered by `keys`.

    None: always the whole partition. Raises SqlError for bounds that SQL does not allow, and for RANGE offsets that the order
    key cannot be compared with.
    """
    frame = _DEFAULT if node is None else _written(binder, node, keys, window)
    all_peers = frame.unit != "rows" and not keys
    if all_peers and all(bound.side == "current" or bound.offset is None for bound in (frame.start, frame.end)):
        frame = Frame("rows", FrameBound("preceding"), FrameBound("following"), frame.exclude)
    whole = frame.start == FrameBound("preceding") and frame.end == FrameBound("following")
    return None if whole and frame.exclude == "none" else frame


def _written(binder: ExpressionBinder, node: Any, keys: tuple[Scalar, ...], window: Any) -> Frame:
    unit = str(node.args.get("kind") or "").lower()
    assert unit in _UNITS, f"a frame of {unit}"
    sides = [_side(binder, node.args.get("start"), node.args.get("start_side"), window), "current"]
    if node.args.get("end") is not None:
        sides[1] = _side(binder, node.args["end"], node.args.get("end_side"), window)
    _check_sides(binder, node, sides, window)
    bounds = []
    for side, part in zip(sides, (node.args.get("start"), node.args.get("end")), strict=True):
        offset = None
        if side != "current" and part != _UNBOUNDED:
            offset = _range_offset(binder, part, keys, window) if unit == "range" else _count(binder, part, unit)
        bounds.append(FrameBound(side, offset))
    exclude = node.args.get("exclude")
    return Frame(unit, bounds[0], bounds[1], _EXCLUDED[exclude.name.upper()] if exclude is not None else "none")


def _side(binder: ExpressionBinder, part: Any, side: Any, window: Any) -> str:
    if side is None and part != _CURRENT:
        raise binder.source.error("a frame bound needs PRECEDING or FOLLOWING", window)
    return "current" if part == _CURRENT else str(side).lower()


def _check_sides(binder: ExpressionBinder, node: Any, sides: list[str], window: Any) -> None:
    start, end = sides
    message = None
    if start == "following" and node.args["start"] == _UNBOUNDED:
        message = "a frame cannot start with UNBOUNDED FOLLOWING"
    elif end == "preceding" and node.args["end"] == _UNBOUNDED:
        message = "a frame cannot end with UNBOUNDED PRECEDING"
    elif start == "current" and end == "preceding":
        message = "a frame that starts with the current row cannot end before it"
    elif start == "following" and end != "following":
        message = "a frame that starts after the current row cannot end before that"
    if message is not None:
        raise binder.source.error(message, window)


def _constant(binder: ExpressionBinder, node: Any) -> Literal:
    operand = Operand(binder.bind(node), node)
    return Literal(constant_value(binder.source, operand, "a frame offset", "write a number, or an interval"), operand.type)


def _count(binder: ExpressionBinder, node: Any, unit: str) -> Literal:
    """How many rows or groups of peers."""
    literal = _constant(binder, node)
    if literal.value is None or not is_integer(literal.type):
        shown = "NULL" if literal.value is None else type_name(literal.type)
        raise binder.source.error(f"{unit.upper()} takes a whole number as offset, not {shown}", node)
    if literal.value < 0:
        raise binder.source.error("a frame offset cannot be negative", node)
    return Literal(literal.value, INT64)


def _range_offset(binder: ExpressionBinder, node: Any, keys: tuple[Scalar, ...], window: Any) -> Literal:
    """A distance between values of the only order key."""
    source = binder.source
    if len(keys) != 1:
        raise source.error(
            "RANGE with an offset needs exactly one ORDER BY expression", window, "count rows instead: ROWS BETWEEN ..."
        )
    literal, key = _constant(binder, node), keys[0].type
    inner = bare(node)
    if isinstance(inner, exp.Literal) and inner.is_string and is_numeric(key):
        literal = Literal(evaluate(binder.convert(node, key), {}), key)
    if literal.value is None:
        raise source.error("a RANGE offset cannot be NULL", node)
    if not _measures(literal.type, key):
        hint = "write an interval: INTERVAL 1 DAY" if is_date(key) or is_timestamp(key) else None
        raise source.error(f"no RANGE offset {type_name(literal.type)} for an order by {type_name(key)}", node, hint)
    if _negative(literal):
        raise source.error("a frame offset cannot be negative", node)
    type = arithmetic_type("-", key, literal.type)
    if type is None or not is_float(type):
        return literal
    # its type says in which one to compute
    return Literal(evaluate(convert(source, Operand(literal, node), type), {}), type)


def _measures(offset: DataType, key: DataType) -> bool:
    """Whether key - offset has a meaning."""
    if is_numeric(key):
        return is_numeric(offset)
    if is_date(key) and is_integer(offset):
        return True
    return bool(is_date(key) or is_timestamp(key) or pa.types.is_interval(key)) and bool(offset == INTERVAL)


def _negative(literal: Literal) -> bool:
    value = literal.value
    parts = (value.months, value.days, value.nanoseconds) if isinstance(value, pa.MonthDayNano) else (value,)
    return not all(part >= 0 for part in parts)  # NaN is refused too
