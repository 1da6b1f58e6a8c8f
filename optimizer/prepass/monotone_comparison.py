"""A comparison of a monotone expression of one column with a constant, as comparisons of the column.

    CAST(x AS BIGINT) + 1 > 5  ≡  x > 4        year(d) = 1995  ≡  d >= '1995-01-01' ∧ d < '1996-01-01'

The column's type has finitely many values, which have an order and a number each. The expression rises (or falls) with the
column, so those of its values that are below, equal to and above the constant are three stretches of the column's values, whose
ends are found by bisection with the reference semantics. Nothing is said of an expression that may raise. One that raises for
values of the type, but not for those that the column has (`arithmetic_within_bounds`), raises towards the ends of the type, as
it is monotone: there it counts as less, or more, than every constant.

Floats and strings have no such numbering, and are left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.evaluate_order import compare_values
from optimizer.algebra.functions import COMPARISONS, MIRRORED
from optimizer.algebra.monotone import monotone
from optimizer.algebra.predicates import junction
from optimizer.algebra.scalar_trees import walk
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, InList, Literal, Safe, Scalar
from optimizer.algebra.types import integer_range, is_date, is_decimal, is_integer, is_timestamp
from optimizer.errors import PlanscopeError

_TICK = timedelta(microseconds=1)
_DIGITS = Context(prec=80)


class Outcome(Enum):
    """A comparison that is the same for every value of its column, and NULL where that is NULL."""

    NEVER = False
    ALWAYS = True


class _Numbering(NamedTuple):
    """The values of a type are `value(n)` for low <= n <= high, in order. `bounded`: they are all that a column can hold."""

    low: int
    high: int
    value: Callable[[int], Any]
    bounded: bool = True

    @property
    def middle(self) -> int:
        return (self.low + self.high) // 2


@lru_cache(maxsize=4096)
def of_column(test: Scalar) -> Scalar | Outcome | None:
    """What a comparison or IN list says of the column itself; None: nothing simpler is known."""
    if isinstance(test, Call) and test.function in COMPARISONS:
        return _comparison(test)
    if isinstance(test, InList) and not isinstance(test.arg, ColumnRef):
        return _in_list(test)
    return None


def _comparison(test: Call) -> Scalar | Outcome | None:
    expression, literal = test.args
    if isinstance(expression, ColumnRef) or not isinstance(literal, Literal) or literal.value is None:
        return None
    curve = _curve(expression)
    if curve is None:
        return None
    start, end = curve.stretch(literal.value)
    numbering, column = curve.numbering, curve.column

    def at(number: int) -> Literal:
        return Literal(numbering.value(number), column.type)

    function = MIRRORED[test.function] if curve.falls else test.function
    first, last = start == numbering.low, end == numbering.high + 1  # the stretch of equal values reaches an end
    match function:
        case "=" | "<>" if start == end or (first and last):
            holds = (start != end) == (function == "=")
            return _decided(holds, numbering)
        case "=" | "<>" if (first or last) and not numbering.bounded:
            return None
        case "=" | "<>" if end - start == 1:
            return Call(function, (column, at(start)), BOOL)
        case "=" | "<>":
            low, high, both = (">=", "<", "and") if function == "=" else ("<", ">=", "or")
            ends = [] if first else [Call(low, (column, at(start)), BOOL)]
            ends += [] if last else [Call(high, (column, at(end)), BOOL)]
            return junction(both, ends)
        case "<" | ">=":
            if first or start > numbering.high:
                return _decided(first == (function == ">="), numbering)
            return Call(function, (column, at(start)), BOOL)
    if last or end == numbering.low:
        return _decided(last == (function == "<="), numbering)
    if end - start == 1:
        return Call(function, (column, at(start)), BOOL)
    return Call("<" if function == "<=" else ">=", (column, at(end)), BOOL)


def _decided(holds: bool, numbering: _Numbering) -> Outcome | None:
    """Values of an unbounded type may lie beyond its numbering, so nothing is decided of them."""
    return Outcome(holds) if numbering.bounded else None


def _in_list(test: InList) -> Scalar | Outcome | None:
    if not all(isinstance(item, Literal) and item.value is not None for item in test.items):
        return None
    curve = _curve(test.arg)
    if curve is None or not curve.numbering.bounded:
        return None
    found: dict[int, Scalar] = {}
    for item in test.items:
        assert isinstance(item, Literal)
        start, end = curve.stretch(item.value)
        if end - start > 1:
            return None
        if start < end:
            found.setdefault(start, Literal(curve.numbering.value(start), curve.column.type))
    if not found:
        return Outcome.NEVER
    items = tuple(found.values())
    return Call("=", (curve.column, items[0]), BOOL) if len(items) == 1 else InList(curve.column, items)


class _Curve(NamedTuple):
    """An expression that never raises and rises, or falls, with a column."""

    expression: Scalar
    column: ColumnRef
    falls: bool
    numbering: _Numbering

    def stretch(self, constant: Any) -> tuple[int, int]:
        """The numbers [start, end) of the column's values for which the expression equals the constant. Those before `start` give
        less (more, if it falls), those from `end` on more (less)."""
        start = self._first(lambda order: order >= 0, constant)
        return start, self._first(lambda order: order > 0, constant, start)

    def _first(self, reached: Callable[[int], bool], constant: Any, low: int | None = None) -> int:
        start = self.numbering.low if low is None else low
        end = self.numbering.high + 1
        step = 1
        if low is not None:  # the end of the stretch is near its start, as a rule
            while start + step < end and not reached(self._order(start + step, constant)):
                step *= 2
            end = min(end, start + step)
        while start < end:
            middle = (start + end) // 2
            if reached(self._order(middle, constant)):
                end = middle
            else:
                start = middle + 1
        return start

    def _order(self, number: int, constant: Any) -> int:
        """How the expression of that value compares with the constant; turned round if it falls."""
        try:
            value = evaluate(self.expression, {self.column.id: self.numbering.value(number)})
        except PlanscopeError:
            return 1 if number > self.numbering.middle else -1
        order = compare_values(value, constant)
        return -order if self.falls else order


def _curve(expression: Scalar) -> _Curve | None:
    found = monotone(expression)
    if found is None:
        return None
    column = next(part for part in walk(expression) if isinstance(part, ColumnRef))
    numbering = _numbering(column.type)
    if numbering is None or expression.outer:
        return None
    safe = not expression.raises and any(isinstance(part, Safe) for part in walk(expression))
    places = (numbering.middle,) if safe else (numbering.low, numbering.high)
    try:
        values = [evaluate(expression, {column.id: numbering.value(n)}) for n in places]
    except PlanscopeError:
        return None
    return None if None in values else _Curve(expression, column, found.descending, numbering)


def _numbering(type: DataType) -> _Numbering | None:
    if is_integer(type):
        return _Numbering(*integer_range(type), int)
    if is_decimal(type):
        most = 10**type.precision - 1
        return _Numbering(-most, most, lambda n: Decimal(n).scaleb(-type.scale, _DIGITS))
    if is_date(type) and pa.types.is_date32(type):
        return _Numbering(date.min.toordinal(), date.max.toordinal(), date.fromordinal, False)
    if is_timestamp(type) and type.unit == "us":
        return _Numbering(0, (datetime.max - datetime.min) // _TICK, lambda n: datetime.min + n * _TICK, False)
    return None
