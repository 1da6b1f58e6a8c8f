"""What windows mean: for each row the rows of its frame are picked one by one, and the function is applied to them.

Nothing is shared with the executor. A partition is a list of rows in window order; which of several peers comes first is open,
as it is in SQL.
"""

from collections.abc import Callable
from datetime import date, datetime, time
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from optimizer.algebra import ColumnId, Window
from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.evaluate import Value, evaluate
from optimizer.algebra.evaluate_dates import date_add
from optimizer.algebra.evaluate_order import group_key, order_key
from optimizer.algebra.scalars import AggregateCall, Frame, FrameBound, WindowCall
from optimizer.algebra.traits import Collation, SortKey
from optimizer.errors import ExecutionError

Row = dict[ColumnId, Value]
Aggregated = Callable[[AggregateCall, list[Row]], Value]


def window_rows(op: Window, rows: list[Row], sort: Callable[[list[Row], Collation], list[Row]], total: Aggregated) -> list[Row]:
    """`rows` with the items added. `sort` sorts rows by a collation, `total` gives an aggregate's value over rows."""
    partitions: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        partitions.setdefault(tuple(group_key(row[c]) for c in op.partition), []).append(row)
    result = []
    for members in partitions.values():
        ordered = sort(members, op.order)
        values = {item.id: [item_value(item.call, op.order, ordered, i, total) for i in range(len(ordered))] for item in op.items}
        result += [{**row, **{id: column[i] for id, column in values.items()}} for i, row in enumerate(ordered)]
    return result


def item_value(call: WindowCall, order: Collation, rows: list[Row], at: int, total: Aggregated) -> Value:
    """The value of `call` for row number `at` of the partition `rows`."""
    places = peers(order, rows, at)
    first, count = places[0], len(rows)
    match call.function:
        case "row_number":
            return at + 1
        case "rank":
            return first + 1
        case "dense_rank":
            return len({tuple(group_key(row[k.column]) for k in order) for row in rows[: first + 1]})
        case "percent_rank":
            return first / (count - 1) if count > 1 else 0.0
        case "cume_dist":
            return (places[-1] + 1) / count
        case "ntile":
            return bucket(evaluate(call.args[0], rows[at]), at, count)
        case "lag" | "lead":
            return shifted(call, rows, at)
    seen = list(range(count)) if call.frame is None else frame_places(call.frame, order, rows, at)
    if call.function in AGGREGATE_FUNCTIONS:
        plain = AggregateCall(call.function, call.args, call.distinct, call.filter, call.type)
        return total(plain, [rows[i] for i in seen])
    values = [evaluate(call.args[0], rows[i]) for i in seen]
    if call.ignore_nulls:
        values = [v for v in values if v is not None]
    match call.function:
        case "first_value":
            return values[0] if values else None
        case "last_value":
            return values[-1] if values else None
        case "nth_value":
            number = evaluate(call.args[1], rows[at])
            return values[number - 1] if number is not None and 1 <= number <= len(values) else None
    raise AssertionError(f"{call.function} has no naive evaluation")


def peers(order: Collation, rows: list[Row], at: int) -> list[int]:
    mine = [group_key(rows[at][k.column]) for k in order]
    return [i for i, row in enumerate(rows) if [group_key(row[k.column]) for k in order] == mine]


def bucket(buckets: int | None, at: int, count: int) -> int | None:
    """Rows dealt out in order, the first buckets getting one more."""
    if buckets is None:
        return None
    if buckets <= 0:
        raise ExecutionError("the number of buckets must be above 0")
    sizes = [count // buckets + (1 if b < count % buckets else 0) for b in range(min(buckets, count))]
    return next(b + 1 for b in range(len(sizes)) if at < sum(sizes[: b + 1]))


def shifted(call: WindowCall, rows: list[Row], at: int) -> Value:
    """lag and lead: step over rows (with IGNORE NULLS: rows that have a value) one by one."""
    offset = evaluate(call.args[1], rows[at])
    if offset is None:
        return None
    step = 1 if (offset > 0) == (call.function == "lead") else -1
    place = at
    for _ in range(abs(offset)):
        place += step
        while call.ignore_nulls and 0 <= place < len(rows) and evaluate(call.args[0], rows[place]) is None:
            place += step
        if not 0 <= place < len(rows):
            return evaluate(call.args[2], rows[at]) if len(call.args) > 2 else None
    return evaluate(call.args[0], rows[place])


def frame_places(frame: Frame, order: Collation, rows: list[Row], at: int) -> list[int]:
    seen = [i for i in range(len(rows)) if after_start(frame, order, rows, at, i) and before_end(frame, order, rows, at, i)]
    around = peers(order, rows, at)
    left_out = {"none": [], "current row": [at], "group": around, "ties": [i for i in around if i != at]}[frame.exclude]
    return [i for i in seen if i not in left_out]


def after_start(frame: Frame, order: Collation, rows: list[Row], at: int, i: int) -> bool:
    return _unbounded(frame.start, "preceding") or _reaches(frame, frame.start, order, rows, at, i, 1)


def before_end(frame: Frame, order: Collation, rows: list[Row], at: int, i: int) -> bool:
    return _unbounded(frame.end, "following") or _reaches(frame, frame.end, order, rows, at, i, -1)


def _unbounded(bound: FrameBound, side: str) -> bool:
    return bound.side == side and bound.offset is None


def _reaches(frame: Frame, bound: FrameBound, order: Collation, rows: list[Row], at: int, i: int, sign: int) -> bool:
    """Whether row `i` is not before (`sign` 1), or not after (-1), the bound of row `at`'s frame."""
    offset = bound.offset.value if bound.offset is not None else 0
    direction = -1 if bound.side == "preceding" else 1
    if frame.unit == "rows":
        return (i - (at + direction * offset)) * sign >= 0
    if frame.unit == "groups" or bound.side == "current":
        distance = _groups_between(order, rows, at, i)
        return (distance - direction * offset) * sign >= 0
    return _value_reaches(bound, order[0], rows[at], rows[i], direction, sign)


def _groups_between(order: Collation, rows: list[Row], at: int, i: int) -> int:
    """How many groups of peers row `i` is after row `at`; negative before it."""
    low, high = min(at, i), max(at, i)
    steps = sum(any(group_key(rows[j][k.column]) != group_key(rows[j + 1][k.column]) for k in order) for j in range(low, high))
    return steps if i >= at else -steps


def _value_reaches(bound: FrameBound, key: SortKey, mine: Row, other: Row, direction: int, sign: int) -> bool:
    """RANGE with an offset: NULLs have only NULLs in reach, on either side."""
    a, b = mine[key.column], other[key.column]
    if a is None or b is None:
        if a is None and b is None:
            return True
        null_is_other = b is None  # a NULL comes before all values or after them
        before = null_is_other == key.nulls_first
        return before == (sign < 0)
    assert bound.offset is not None
    limit, compared = edge(a, b, bound.offset.value, bound.offset.type, -direction if key.descending else direction)
    x, y = order_key(compared), order_key(limit)
    side = (x > y) - (x < y)
    return (-side if key.descending else side) * sign >= 0


def edge(a: Value, b: Value, offset: Value, type: pa.DataType, direction: int) -> tuple[Value, Value]:
    """`a` plus (`direction` 1) or minus (-1) the offset, and `b` as a value that it can be compared with."""
    if isinstance(a, pa.MonthDayNano):
        parts = zip((a.months, a.days, a.nanoseconds), (offset.months, offset.days, offset.nanoseconds), strict=True)
        return pa.MonthDayNano([x + direction * y for x, y in parts]), b
    if isinstance(a, date) and isinstance(offset, int):
        return a.toordinal() + direction * offset, b.toordinal()
    if isinstance(a, date):
        moved = pa.MonthDayNano([direction * p for p in (offset.months, offset.days, offset.nanoseconds)])
        return date_add(_moment(a), moved), _moment(b)
    if pa.types.is_floating(type):  # the type of the offset is the one to compute in
        number = np.float32 if type == pa.float32() else float
        with np.errstate(over="ignore"):
            return float(number(a) + direction * number(offset)), float(number(b))
    return Fraction(a) + direction * Fraction(offset), Fraction(b)


def _moment(value: date) -> datetime:
    return value if isinstance(value, datetime) else datetime.combine(value, time())
