"""What is known of a computed column, from the figures of the columns it reads: how many values it has, between which they lie.

Bounds follow by interval arithmetic (Moore, Interval Analysis, 1966), on the number line of `as_number`; values that lie a step
apart (whole numbers, days, months, hundredths) are no more than fit between them.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from itertools import product
from math import ceil, floor, inf, isfinite, prod
from typing import NamedTuple

import pyarrow as pa

from optimizer.algebra.columns import ColumnId, DataType, column_ids
from optimizer.algebra.scalars import Call, Case, Cast, ColumnRef, Literal, Scalar
from optimizer.algebra.types import is_date, is_integer, type_width
from optimizer.stats.relation import ColumnFigures, as_number


class Bounds(NamedTuple):
    low: float
    high: float


_PARTS = {
    "quarter": Bounds(1, 4), "month": Bounds(1, 12), "day": Bounds(1, 31), "hour": Bounds(0, 23), "minute": Bounds(0, 59),
    "second": Bounds(0, 59), "dayofweek": Bounds(0, 6), "isodow": Bounds(1, 7), "dayofyear": Bounds(1, 366),
    "week": Bounds(1, 53), "sign": Bounds(-1, 1),
}  # fmt: skip
_FEW = {"year": 10.0, "isoyear": 10.0, "dayname": 7.0, "monthname": 12.0}  # of moments of which nothing is known
_DAYS = {"day": 1.0, "week": 7.0, "month": 30.4, "quarter": 91.3, "year": 365.2, "decade": 3652.0, "century": 36524.0}
_CORNERS: dict[str, Callable[..., float]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b, "//": lambda a, b: a / b,
    "date_add_days": lambda a, b: a + b, "date_diff_days": lambda a, b: a - b, "neg": lambda a: -a,
    "floor": floor, "ceil": ceil, "shift_right": lambda a, b: a // 2 ** min(b, 64.0),
}  # fmt: skip


class Computed:
    """Scalars over `columns`, in `rows` rows."""

    def __init__(self, columns: Mapping[ColumnId, ColumnFigures], rows: float = inf) -> None:
        self.columns, self.rows = columns, rows
        self._bounds: dict[Scalar, Bounds | None] = {}

    def figures(self, scalar: Scalar) -> ColumnFigures:
        low, high = self.bounds(scalar) or (None, None)
        return ColumnFigures(self.distinct(scalar), low=low, high=high, width=type_width(scalar.type))

    def distinct(self, scalar: Scalar) -> float:
        """No more values than combinations of what it reads, than results to choose from have, NULL being one, than fit between
        its bounds, and than rows."""
        most = [self._combinations(scalar), self.rows]
        bounds, step = self.bounds(scalar), _step(scalar)
        if bounds is not None and step:
            most.append((bounds.high - bounds.low) / step + 1.0)
        match scalar:
            case Case(branches=branches, otherwise=otherwise):
                most.append(sum(map(self._combinations, {**dict.fromkeys(value for _, value in branches), otherwise: None})))
            case Call(function="coalesce", args=args):
                most.append(sum(map(self._combinations, dict.fromkeys(args))))
            case Call(function="length" | "strlen", args=(ColumnRef(id=id),)) if id in self.columns:
                most.append(2.0 * self.columns[id].width)  # which is their mean
            case Call(function=function) if function in _FEW and bounds is None:
                most.append(_FEW[function])
        if pa.types.is_boolean(scalar.type):
            most.append(2.0)
        return max(1.0, min(most))

    def bounds(self, scalar: Scalar) -> Bounds | None:
        """Between which numbers its values lie, if the columns that it reads lie between theirs."""
        if scalar not in self._bounds:
            try:
                found = self._found(scalar)
            except ArithmeticError:  # numbers beyond those of a float
                found = None
            self._bounds[scalar] = found if found is not None and all(map(isfinite, found)) else None
        return self._bounds[scalar]

    def _found(self, scalar: Scalar) -> Bounds | None:
        match scalar:
            case ColumnRef(id=id):
                figures = self.columns.get(id)
                if figures is None or figures.low is None or figures.high is None:
                    return None
                return Bounds(figures.low, figures.high)
            case Literal(value=value):
                number = as_number(value)
                return None if number is None else Bounds(number, number)
            case Cast(arg=arg) if not pa.types.is_string(scalar.type):
                found = self.bounds(arg)
                return found if found is None or not (is_integer(scalar.type) or is_date(scalar.type)) else _rounded(found, 1.0)
            case Case(branches=branches, otherwise=otherwise):
                return self._hull((*(value for _, value in branches), otherwise))
            case Call(function="coalesce", args=args):
                return self._hull(args)
            case Call(function="date_trunc", args=(_, moment)):
                found = self.bounds(moment)
                return None if found is None else Bounds(found.low - (_step(scalar) or 1.0), found.high)
            case Call(function=function) if function in _PARTS:
                return _PARTS[function]
            case Call(args=args):
                every = [each for each in map(self.bounds, args) if each is not None]
                return _called(scalar, every) if every and len(every) == len(args) else None
        return None

    def _hull(self, scalars: Iterable[Scalar]) -> Bounds | None:
        every = [self.bounds(each) for each in scalars if not (isinstance(each, Literal) and each.value is None)]
        known = [each for each in every if each is not None]
        if not known or len(known) < len(every):
            return None
        return Bounds(min(each.low for each in known), max(each.high for each in known))

    def _combinations(self, scalar: Scalar) -> float:
        if scalar.outer or scalar.volatile:
            return inf
        return prod(self.columns[id].ndv if id in self.columns else inf for id in column_ids(scalar.columns))


def _called(call: Call, args: list[Bounds]) -> Bounds | None:
    first, *others = args
    match call.function:
        case "year" | "isoyear":
            return Bounds(*(date.fromordinal(min(max(1, int(end)), date.max.toordinal())).year for end in first))
        case "greatest" | "least" as extreme:
            return Bounds(*map(max if extreme == "greatest" else min, zip(*args, strict=True)))
        case "abs":
            return Bounds(max(0.0, first.low, -first.high), max(-first.low, first.high))
        case "round" | "trunc":
            step = _step(call)
            return None if not step else _rounded(first, step)
        case "%":
            most = max(abs(end) for end in others[0]) - is_integer(call.type)
            return Bounds(max(-most, min(0.0, first.low)), min(most, max(0.0, first.high)))
        case "bit_and_of" if all(each.low >= 0 for each in args):
            return Bounds(0.0, min(each.high for each in args))
        case "/" | "//" if others[0].low <= 0 <= others[0].high:
            return None
    if call.function not in _CORNERS:
        return None
    ends = [_CORNERS[call.function](*corner) for corner in product(*args)]
    return Bounds(min(ends), max(ends))


def _rounded(bounds: Bounds, step: float) -> Bounds:
    """The multiples of `step` around them."""
    return Bounds(floor(bounds.low / step) * step, ceil(bounds.high / step) * step)


def _step(scalar: Scalar) -> float | None:
    """How far its values lie apart at least, if that is known."""
    match scalar:
        case Call(function="date_trunc", args=(Literal(value=str() as unit), _)):
            return _DAYS.get(unit.lower())
        case Call(function="floor" | "ceil" | "trunc" | "round", args=(_,)):
            return 1.0
        case Call(function="trunc" | "round", args=(_, Literal(value=int() as digits))) if abs(digits) < 300:
            return float(10.0**-digits)
    return _step_of(scalar.type)


def _step_of(type: DataType) -> float | None:
    if pa.types.is_decimal(type):
        return float(10.0**-type.scale)
    return 1.0 if is_integer(type) or is_date(type) or pa.types.is_boolean(type) else None


def rounds(cast: Cast) -> bool:
    """Whether a cast makes one value of many."""
    fine, coarse = _step_of(cast.arg.type), _step_of(cast.type)
    return coarse is not None and (fine is None or fine < coarse or pa.types.is_boolean(cast.type))
