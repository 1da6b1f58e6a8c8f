"""Selectivity: the fraction of rows for which a conjunct is TRUE, from common values, histograms, distinct counts, bounds and
NULL fractions.

A conjunct on one column that has no formula here is tried on the column's common values and, as a sample of the others, on
the bounds of its histogram. Where statistics are silent the fractions are the customary guesses of Selinger et al. (SIGMOD
1979). Ranges of one column, or of one computed value, are intersected first; others are combined with exponential back-off
(sorted, powers 1, 1/2, 1/4, 1/8), since predicates on one relation are seldom independent.
"""

from collections.abc import Callable, Iterable, Mapping
from math import inf, prod
from typing import Any

from optimizer.algebra.columns import ColumnId, column_ids
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.functions import MIRRORED
from optimizer.algebra.nulls import strict_columns
from optimizer.algebra.scalars import Call, Cast, ColumnRef, InList, Literal, Scalar, is_null_literal
from optimizer.stats.computed import Computed, rounds
from optimizer.stats.relation import ColumnFigures, as_number, as_place
from optimizer.stats.spread import Place

Figures = Mapping[ColumnId, ColumnFigures]
Bound = tuple[Place, bool] | None  # a place, and whether it is within

GUESS_EQUAL = 0.1
GUESS_RANGE = 1 / 3
GUESS_LIKE = 0.1
GUESS_PREFIX = 0.05
GUESS_OTHER = 1 / 3
FEW_TRIES = 2.0  # what a guess counts beside values tried
GUESS_OUTER_NULL = 0.01  # a value of an enclosing query, of which nothing is known here


Combine = Callable[[Iterable[float]], float]


def conjunction_selectivity(conjuncts: Iterable[Scalar], columns: Figures, combine: Combine | None = None) -> float:
    """Fraction of rows that satisfy all conjuncts; `combine` makes one of several columns' (default: back-off)."""
    ranges: dict[Scalar | ColumnId, list[Scalar]] = {}
    fractions: list[float] = []
    for conjunct in conjuncts:
        compared = _compared(conjunct)
        if compared is None or (isinstance(compared, ColumnId) and compared not in columns):
            fractions.append(selectivity(conjunct, columns, combine))
        else:
            ranges.setdefault(compared, []).append(conjunct)
    fractions += (_in_ranges(parts, columns) for parts in ranges.values())
    return (combine or back_off)(fractions)


def back_off(fractions: Iterable[float]) -> float:
    """Combined selectivity with exponential back-off: s1 · s2^½ · s3^¼ · s4^⅛, most selective first."""
    result, power = 1.0, 1.0
    for fraction in sorted(fractions)[:4]:
        result *= fraction**power
        power /= 2
    return result


def selectivity(scalar: Scalar, columns: Figures, combine: Combine | None = None) -> float:
    """Fraction of rows for which one boolean scalar is TRUE; `combine` as above, for conjunctions in it."""
    return min(1.0, max(0.0, _selectivity(scalar, columns, combine)))


def _selectivity(scalar: Scalar, columns: Figures, combine: Combine | None) -> float:
    match scalar:
        case Literal(value=value):
            return 1.0 if value is True else 0.0
        case Call(function="and", args=args):
            return conjunction_selectivity(args, columns, combine)
        case Call(function="or", args=args):
            return 1.0 - prod(1.0 - selectivity(arg, columns, combine) for arg in args)
        case Call(function="not", args=(arg,)):
            return max(0.0, 1.0 - selectivity(arg, columns, combine) - _unknown_fraction(arg, columns))
        case Call(function="is_null", args=(arg,)):
            return _null_fraction(arg, columns)
        case Call(function="is_not_null", args=(arg,)):
            return 1.0 - _null_fraction(arg, columns)
        case Call(function="=", args=(a, b)):
            return _equality(a, b, columns)
        case Call(function="is_not_distinct_from", args=(a, b)):
            return _equality(a, b, columns) + _both_null(a, b, columns)
        case Call(function="<>", args=(a, b)):
            return max(0.0, 1.0 - _equality(a, b, columns) - max(_null_fraction(a, columns), _null_fraction(b, columns)))
        case Call(function="is_distinct_from", args=(a, b)):
            return max(0.0, 1.0 - _equality(a, b, columns) - _both_null(a, b, columns))
        case Call(function="<" | "<=" | ">" | ">=", args=(a, b)):
            column = plain_column(a)
            return GUESS_RANGE if b.columns or (column is not None and column not in columns) else _in_ranges([scalar], columns)
        case Call(function="like" | "ilike", args=(arg, Literal(value=str() as pattern), *_)):
            return _like(scalar, arg, pattern, columns)
        case Call(function="starts_with", args=(arg, Literal(value=str() as prefix))):
            return _like(scalar, arg, prefix + "%", columns)
        case InList(arg=arg, items=items):
            return min(
                1.0 - _null_fraction(arg, columns),
                sum(_equality(arg, item, columns) for item in items if not is_null_literal(item)),
            )
        case ColumnRef(id=id):
            frequent = columns[id].frequent if id in columns else {}
            true = frequent.get(True, 1.0 - frequent.get(False, 0.5))
            return true * (1.0 - _null_fraction(scalar, columns))
    return _tried(scalar, columns, GUESS_OTHER)


def plain_column(scalar: Scalar) -> ColumnId | None:
    """The column behind a reference, or behind casts that leave its values as they are, or as texts."""
    while isinstance(scalar, Cast) and not rounds(scalar):
        scalar = scalar.arg
    return scalar.id if isinstance(scalar, ColumnRef) else None


def _compared(conjunct: Scalar) -> ColumnId | Scalar | None:
    """What a range is about: a column, or what is computed of some."""
    match conjunct:
        case Call(function="<" | "<=" | ">" | ">=", args=(a, Literal())):
            column = plain_column(a)
            return a if column is None else column
    return None


def _in_ranges(comparisons: list[Scalar], columns: Figures) -> float:
    """Share of rows for which one scalar is within all comparisons with literals."""
    first = comparisons[0]
    assert isinstance(first, Call)
    column = plain_column(first.args[0])
    if column is not None:
        return _range_selectivity(columns[column], comparisons)
    return _range_selectivity(Computed(columns).figures(first.args[0]), comparisons) * (1.0 - _unknown_fraction(first, columns))


def _range_selectivity(figures: ColumnFigures, comparisons: list[Scalar]) -> float:
    """Share of values within all comparisons with literals: common values one by one, the others by the histogram or, without
    one, by linear interpolation between the column's bounds."""
    present = 1.0 - figures.null_fraction
    low: Bound = None
    high: Bound = None
    for comparison in comparisons:
        assert isinstance(comparison, Call)
        bound = comparison.args[1]
        place = as_place(bound.value) if isinstance(bound, Literal) else None
        if place is None or not _comparable(figures, place):
            return GUESS_RANGE ** min(len(comparisons), 2) * present
        included = comparison.function in ("<=", ">=")
        if MIRRORED[comparison.function] in ("<", "<="):  # column > value
            if low is None or (place, not included) > (low[0], not low[1]):
                low = (place, included)
        elif high is None or (place, included) < high:
            high = (place, included)
    common = sum(share for value, share in figures.frequent.items() if _within(as_place(value), low, high))
    if figures.spread is not None:
        spread = figures.spread
        below_high = spread.total if high is None else spread.below(*high)
        below_low = 0.0 if low is None else spread.below(low[0], not low[1])
        return min(1.0, common + max(0.0, below_high - below_low)) * present
    rest = max(0.0, 1.0 - sum(figures.frequent.values()))
    if figures.low is None or figures.high is None:
        return min(1.0, common + rest * GUESS_RANGE ** min(len(comparisons), 2)) * present
    return min(1.0, common + rest * _interpolated(figures.low, figures.high, figures.ndv, low, high)) * present


def _interpolated(least: float, most: float, ndv: float, low: Bound, high: Bound) -> float:
    """Share of the interval [least, most] between two bounds, for `ndv` values at equal distances."""
    step = max((most - least) / max(ndv - 1.0, 1.0), 0.0)
    start, end = least, most
    if low is not None and not isinstance(low[0], str):
        start = max(start, low[0] + (0.0 if low[1] else step))
    if high is not None and not isinstance(high[0], str):
        end = min(end, high[0] - (0.0 if high[1] else step))
    if end < start:
        return 0.0
    return 1.0 if most == least else min(1.0, max(0.0, (end - start + step) / (most - least + step)))


def _within(place: Place | None, low: Bound, high: Bound) -> bool:
    if place is None:
        return False
    if place != place:  # NaN, above all numbers
        return high is None
    above = low is None or place > low[0] or (place == low[0] and low[1])
    return above and (high is None or place < high[0] or (place == high[0] and high[1]))


def _comparable(figures: ColumnFigures, place: Place) -> bool:
    """Whether the column's values have places of this kind: a cast may have made a text of a number."""
    text = isinstance(place, str)
    if figures.spread is not None:
        return figures.spread.numeric is not text
    if figures.frequent:
        return isinstance(as_place(next(iter(figures.frequent))), str if text else float)
    return not text


def _tried(scalar: Scalar, columns: Figures, guess: float) -> float:
    """A conjunct on one column: tried on each common value and, for the others, on the bounds of the histogram; `guess` for
    what is left, and counted as a few tries that had that outcome."""
    read = scalar.columns
    id = read.bit_length() - 1
    if not read or read & read - 1 or id not in columns or scalar.raises or scalar.volatile or scalar.outer:
        return guess
    figures = columns[id]
    texts = figures.spread is not None and not figures.spread.numeric
    if not figures.frequent and not texts:
        return guess
    common = sum(share for value, share in figures.frequent.items() if evaluate(scalar, {id: value}) is True)
    rest = max(0.0, 1.0 - sum(figures.frequent.values()))
    if texts and figures.spread is not None:
        bounds = figures.spread.bounds
        hits = sum(1 for bound in bounds if evaluate(scalar, {id: bound}) is True)
        guess = (hits + guess * FEW_TRIES) / (len(bounds) + FEW_TRIES)
    return min(1.0, common + rest * guess) * (1.0 - figures.null_fraction)


def _distinct(scalar: Scalar, columns: Figures) -> float:
    column = plain_column(scalar)
    if column is not None and column in columns:
        return max(1.0, columns[column].ndv)
    most = inf if isinstance(scalar, Cast) else 1.0 / GUESS_EQUAL
    return min(most, Computed(columns).distinct(scalar)) if scalar.columns else 1.0 / GUESS_EQUAL


def _unknown_fraction(condition: Scalar, columns: Figures) -> float:
    """At least this share of the rows makes `condition` UNKNOWN: those with NULL in a column that it passes on."""
    known = (columns[column].null_fraction for column in column_ids(strict_columns(condition)) if column in columns)
    return max(known, default=0.0)


def _null_fraction(scalar: Scalar, columns: Figures) -> float:
    if scalar.outer and not scalar.columns:
        return GUESS_OUTER_NULL
    while isinstance(scalar, Cast):
        scalar = scalar.arg
    return columns[scalar.id].null_fraction if isinstance(scalar, ColumnRef) and scalar.id in columns else 0.0


def _both_null(a: Scalar, b: Scalar, columns: Figures) -> float:
    return _null_fraction(a, columns) * _null_fraction(b, columns)


def _like(scalar: Call, arg: Scalar, pattern: str, columns: Figures) -> float:
    """LIKE a constant: exact on the most common values, tried on the histogram's bounds, a guess without; but at least one value
    where there are few."""
    present = 1.0 - _null_fraction(arg, columns)
    one_value = 1.0 / _distinct(arg, columns)
    is_one_text = "%" not in pattern and "_" not in pattern
    if is_one_text and scalar.function == "like" and len(scalar.args) == 2:
        return _equality(arg, Literal(pattern, arg.type), columns)
    guess = one_value if is_one_text else GUESS_LIKE if pattern[0] in "%_" else GUESS_PREFIX
    if not isinstance(arg, ColumnRef) or arg.id not in columns:
        return present * guess
    guess = max(guess, one_value)
    found = columns[arg.id]
    return _tried(scalar, columns, guess) if found.frequent or found.spread is not None else present * guess


def _equality(a: Scalar, b: Scalar, columns: Figures) -> float:
    present = (1.0 - _null_fraction(a, columns)) * (1.0 - _null_fraction(b, columns))
    if a.columns and b.columns:
        return present / max(_distinct(a, columns), _distinct(b, columns))
    one, constant = (a, b) if a.columns else (b, a)
    column = plain_column(one)
    if column is not None and column in columns and isinstance(constant, Literal):
        figures, value = columns[column], as_number(constant.value)
        if value is not None and value == value and figures.low is not None and figures.high is not None:  # NaN is within none
            if not figures.low <= value <= figures.high:
                return 0.0
        if (figures.frequent or figures.spread is not None) and isinstance(one, ColumnRef):
            return present * frequency(figures, constant.value)
    return present / _distinct(one, columns)


def frequency(figures: ColumnFigures, value: Any) -> float:
    """Share of the values that are `value`: as known, or an equal part of its histogram bucket or of all that the most common
    values leave, and then no more than the least of them."""
    if value != value:  # NaN, which is no key that could be looked up
        return next((share for known, share in figures.frequent.items() if known != known), 0.0)
    share = figures.frequent.get(value)
    if share is not None:
        return share
    place = as_place(value)
    if figures.spread is not None and place is not None and _comparable(figures, place):
        share = figures.spread.at(place)
    else:
        rest = max(0.0, 1.0 - sum(figures.frequent.values()))
        share = rest / max(1.0, figures.ndv - len(figures.frequent))
    return min(share, min(figures.frequent.values())) if figures.frequent else share
