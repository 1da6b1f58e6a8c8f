"""Rows that a predicate can leave, at most: each conjunct alone is a bound, and the smallest counts.

A predicate on one column is tested on the most common values themselves; of the other values it leaves all that it does not
exclude for sure: no more than it names (=, IN), no more than lie in its range where the type has countable ones, no more than
are in the histogram buckets that the range touches, none beyond the least and greatest value. Conjuncts over several columns
leave everything.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil, inf
from typing import Any, NamedTuple

import pyarrow as pa

from optimizer.algebra.columns import ColumnId, DataType
from optimizer.algebra.congruence import has_one_form
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.nulls import null_rejected
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Call, ColumnRef, InList, Literal, Predicate, Scalar
from optimizer.algebra.types import DOUBLE
from optimizer.catalog.histogram import Histogram
from optimizer.catalog.table import ColumnStats
from optimizer.errors import PlanscopeError
from optimizer.stats.bounds import Bounds, ColumnBounds
from optimizer.stats.degrees import Steps, capped, first, most, one_value, together, total

ROUNDING = 1e-6  # of the rows of a bucket


class StoredColumn(NamedTuple):
    """`common`: rows of some values, exact. `histogram`: of all the others, exact up to rounding; None where it is not."""

    type: DataType
    stats: ColumnStats
    common: Mapping[Any, int]
    histogram: Histogram | None


_NOTHING_KNOWN = StoredColumn(DOUBLE, ColumnStats(), {}, None)  # doubles are not countable


def stored_column(type: DataType, stats: ColumnStats, rows: float) -> tuple[StoredColumn, ColumnBounds]:
    """What the statistics of a column of a table with so many rows say for sure."""
    nulls = rows if stats.nulls is None else float(stats.nulls)
    present = rows if stats.nulls is None else rows - nulls
    bounds = ColumnBounds(one_value(present), nulls, present)
    common: dict[Any, int] = {}
    histogram = None
    if stats.degrees and has_one_form(type):  # 0.0 and -0.0 may have been counted as two values that SQL calls equal
        degrees = capped(tuple((float(values), float(each)) for values, each in stats.degrees), present)
        bounds = ColumnBounds(degrees, nulls, present)
        if _all_counted(stats, present):
            assert stats.ndv is not None
            bounds = ColumnBounds(degrees, nulls, stats.ndv)
            common = {value: round(share * rows) for value, share in stats.mcv}
            histogram = stats.histogram
    countable = 2.0 if pa.types.is_boolean(type) else _between(type, stats.min, stats.max)
    if countable is not None:
        bounds = ColumnBounds(first(bounds.degrees, countable), nulls, min(bounds.values, countable))
    return StoredColumn(type, stats, common, histogram), bounds


def _all_counted(stats: ColumnStats, present: float) -> bool:
    """Whether each value was counted, so that common values and histogram are exact: the sequence has as many values as the
    column. A distinct count that was estimated is no whole number, unless it was cut off at the number of rows."""
    return stats.ndv is not None and stats.ndv < present and sum(values for values, _ in stats.degrees) == stats.ndv


def filtered(below: Bounds, predicate: Predicate, props: LogicalProps, stored: Mapping[ColumnId, StoredColumn]) -> Bounds:
    """Bounds of the rows of `below` for which every conjunct is TRUE. `stored`: columns that come straight from a table whose
    rows `below` has, all of them."""
    if not predicate:
        return below
    rejected = null_rejected(predicate)
    alone: dict[ColumnId, list[Scalar]] = {}
    rows = below.rows
    for conjunct in predicate:
        read = conjunct.columns
        if conjunct.volatile:
            continue
        if read and not read & read - 1:
            alone.setdefault(read.bit_length() - 1, []).append(conjunct)
        elif not read and not conjunct.outer and not conjunct.raises and evaluate(conjunct, {}) is not True:
            rows = 0.0
    left: dict[ColumnId, ColumnBounds] = {}
    for id, conjuncts in alone.items():
        column = below.column(id)
        kept = _kept(id, conjuncts, stored.get(id, _NOTHING_KNOWN), column)
        rows = min(rows, total(kept.degrees) + (0.0 if rejected >> id & 1 else kept.nulls))
        left[id] = kept
    rows = min(rows, 1.0) if props.at_most_one_row else rows

    def describe(id: ColumnId) -> ColumnBounds:
        return left.get(id) or below.column(id)

    return Bounds(rows, props, describe)


def _kept(id: ColumnId, conjuncts: Sequence[Scalar], known: StoredColumn, column: ColumnBounds) -> ColumnBounds:
    """What conjuncts leave of a column."""
    if any(map(_only_null, conjuncts)):
        return ColumnBounds((), column.nulls, 0.0)
    common = [rows for value, rows in known.common.items() if _may_hold(id, conjuncts, value)]
    counted = sum(known.common.values())
    others = max(0.0, total(column.degrees) - counted)  # rows of values that are not common
    next_most = max(0.0, together(column.degrees, len(known.common) + 1.0) - counted)
    low, high = _range(conjuncts, known)
    others = min(others, _in_buckets(known.histogram, low, high))
    places = max(0.0, _places(known.type, low, high) - len(common))
    unknown = []  # how many values conjuncts name of which some are not known yet: they may be common ones
    for by, constants in ((c, named) for c in conjuncts if (named := _named(c)) is not None):
        values = [c.value for c in constants if isinstance(c, Literal)]
        if len(values) < len(constants):
            unknown.append(float(len(constants)))
            continue
        rest = [c for c in conjuncts if c is not by]
        candidates = {v for v in values if v is not None and v not in known.common and _may_hold(id, rest, v)}
        places = min(places, float(sum(not _outside(v, known.stats) for v in candidates)))
    values_left = len(common) + places
    rows = sum(common) + (min(others, places * next_most) if places and next_most else 0.0)
    for number in unknown:
        values_left = min(values_left, number)
        rows = min(rows, together(column.degrees, number))
    degrees = capped(first(_exact_first(common, next_most, places, column.degrees), values_left), rows)
    nulls = column.nulls if not column.nulls or _may_hold(id, conjuncts, None) else 0.0
    return ColumnBounds(degrees, nulls, min(column.values, values_left))


def _exact_first(common: Sequence[int], next_most: float, places: float, degrees: Steps) -> Steps:
    """The degree sequence of the common values that are left and of others, which have at most `next_most` rows each."""
    if not common and (next_most >= most(degrees) or places * next_most >= total(degrees)):
        return degrees
    exact = tuple((1.0, float(rows)) for rows in sorted(common, reverse=True) if rows >= next_most)
    if len(exact) < len(common) or most(degrees) < next_most:
        return degrees
    return (*exact, (places, next_most)) if places and next_most else exact


def _only_null(conjunct: Scalar) -> bool:
    return isinstance(conjunct, Call) and conjunct.function == "is_null" and isinstance(conjunct.args[0], ColumnRef)


def _may_hold(id: ColumnId, conjuncts: Sequence[Scalar], value: object) -> bool:
    """Whether no conjunct excludes a value; one that depends on more than the value excludes nothing."""
    for conjunct in conjuncts:
        if conjunct.outer or conjunct.volatile:
            continue
        try:
            if evaluate(conjunct, {id: value}) is not True:
                return False
        except PlanscopeError:
            continue
    return True


def _named(conjunct: Scalar) -> list[Scalar] | None:
    """The constants that a conjunct names: no other values satisfy it; None where it does not name them."""
    match conjunct:
        case Call(function="=", args=(ColumnRef(), constant) | (constant, ColumnRef())) if not constant.columns:
            return [constant]
        case InList(arg=ColumnRef(), items=items) if not any(item.columns for item in items):
            return list(items)
        case Call(function="or", args=args):
            each = [_named(arg) for arg in args]
            return None if None in each else [c for constants in each if constants is not None for c in constants]
    return None


def _outside(value: object, stats: ColumnStats) -> bool:
    """Whether no value of the column is equal to it, for sure."""
    try:
        return bool((stats.min is not None and value < stats.min) or (stats.max is not None and value > stats.max))
    except TypeError:
        return False


class _End(NamedTuple):
    """Where a range starts or ends; `value` None: not known. `open`: the value itself is out of it."""

    value: Any
    open: bool = False


def _range(conjuncts: Sequence[Scalar], known: StoredColumn) -> tuple[_End, _End]:
    """The column's bounds, as far as conjuncts do not narrow them. NaN, which is greater than the greatest value, leaves floats
    without bounds."""
    if not has_one_form(known.type):
        return _End(None), _End(None)
    low, high = _End(known.stats.min), _End(known.stats.max)
    for conjunct in conjuncts:
        match conjunct:
            case Call(function="<" | "<=" | ">" | ">=" as function, args=(ColumnRef(), Literal(value=value))):
                end = _End(value, function in ("<", ">"))
                try:
                    if function in ("<", "<="):
                        high = end if high.value is None or (value, not end.open) < (high.value, not high.open) else high
                    else:
                        low = end if low.value is None or (value, end.open) > (low.value, low.open) else low
                except TypeError:
                    continue
    return low, high


def _in_buckets(histogram: Histogram | None, low: _End, high: _End) -> float:
    """Rows of the buckets that a range touches; infinite where there are none to go by."""
    if histogram is None:
        return inf
    rows = 0.0
    try:
        for (start, end), inside in zip(pairwise(histogram.bounds), histogram.rows, strict=True):
            if (low.value is None or end >= low.value) and (high.value is None or start <= high.value):
                rows += ceil(inside - ROUNDING)
    except TypeError:
        return inf
    return rows


def _places(type: DataType, low: _End, high: _End) -> float:
    """How many values of the type lie in a range; infinite where they are not countable and it is not empty."""
    if low.value is None or high.value is None:
        return inf
    try:
        if high.value < low.value or (high.value == low.value and (low.open or high.open)):
            return 0.0
    except TypeError:
        return inf
    countable = _between(type, low.value, high.value)
    return inf if countable is None else max(0.0, countable - low.open - high.open)


def _between(type: DataType, low: object, high: object) -> float | None:
    """Values of a countable type from `low` to `high`, both included; None where they are not countable or not known."""
    if pa.types.is_integer(type) and isinstance(low, int) and isinstance(high, int):
        return float(max(0, high - low + 1))
    if pa.types.is_date(type) and isinstance(low, datetime.date) and isinstance(high, datetime.date):
        return float(max(0, (high - low).days + 1))
    return None
