"""Selectivity: the fraction of rows for which a conjunct is TRUE, from distinct counts, bounds and NULL fractions.

Where statistics are silent the fractions are the customary guesses of Selinger et al. (SIGMOD 1979). Conjuncts on one column
are intersected as ranges first; others are combined with exponential back-off (sorted, powers 1, 1/2, 1/4, 1/8), since
predicates on one relation are seldom independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from optimizer.algebra.columns import ColumnId, column_ids
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.functions import MIRRORED
from optimizer.algebra.nulls import strict_columns
from optimizer.algebra.scalars import Call, Cast, ColumnRef, InList, Literal, Scalar
from optimizer.stats.relation import ColumnFigures, as_number

Figures = Mapping[ColumnId, ColumnFigures]

GUESS_EQUAL = 0.1
GUESS_RANGE = 1 / 3
GUESS_LIKE = 0.1
GUESS_PREFIX = 0.05
GUESS_OTHER = 1 / 3
GUESS_OUTER_NULL = 0.01  # a value of an enclosing query, of which nothing is known here


def conjunction_selectivity(conjuncts: Iterable[Scalar], columns: Figures) -> float:
    """Fraction of rows that satisfy all conjuncts."""
    ranges: dict[ColumnId, list[Scalar]] = {}
    fractions: list[float] = []
    for conjunct in conjuncts:
        column = _range_column(conjunct)
        if column is not None and column in columns:
            ranges.setdefault(column, []).append(conjunct)
        else:
            fractions.append(selectivity(conjunct, columns))
    fractions += (_range_selectivity(columns[column], parts) for column, parts in ranges.items())
    return back_off(fractions)


def back_off(fractions: Iterable[float]) -> float:
    """Combined selectivity with exponential back-off: s1 · s2^½ · s3^¼ · s4^⅛, most selective first."""
    result, power = 1.0, 1.0
    for fraction in sorted(fractions)[:4]:
        result *= fraction**power
        power /= 2
    return result


def selectivity(scalar: Scalar, columns: Figures) -> float:
    """Fraction of rows for which one boolean scalar is TRUE."""
    return min(1.0, max(0.0, _selectivity(scalar, columns)))


def _selectivity(scalar: Scalar, columns: Figures) -> float:
    match scalar:
        case Literal(value=value):
            return 1.0 if value is True else 0.0
        case Call(function="and", args=args):
            return conjunction_selectivity(args, columns)
        case Call(function="or", args=args):
            missed = 1.0
            for arg in args:
                missed *= 1.0 - selectivity(arg, columns)
            return 1.0 - missed
        case Call(function="not", args=(arg,)):
            return max(0.0, 1.0 - selectivity(arg, columns) - _unknown_fraction(arg, columns))
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
            column = _column(a)
            if column is not None and column in columns and not b.columns:
                return _range_selectivity(columns[column], [scalar])
            return GUESS_RANGE
        case Call(function="like" | "ilike", args=(arg, Literal(value=str() as pattern), *_)):
            return _like(scalar, arg, pattern, columns)
        case Call(function="starts_with", args=(arg, Literal(value=str() as prefix))):
            return _like(scalar, arg, prefix + "%", columns)
        case InList(arg=arg, items=items):
            return min(
                1.0 - _null_fraction(arg, columns), sum(_equality(arg, item, columns) for item in items if not _is_null(item))
            )
        case ColumnRef(id=id):
            true = columns[id].frequent.get(True, 0.5) if id in columns else 0.5
            return true * (1.0 - _null_fraction(scalar, columns))
    return GUESS_OTHER


def _column(scalar: Scalar) -> ColumnId | None:
    """The column behind a reference or a cast of one."""
    while isinstance(scalar, Cast):
        scalar = scalar.arg
    return scalar.id if isinstance(scalar, ColumnRef) else None


def _range_column(scalar: Scalar) -> ColumnId | None:
    match scalar:
        case Call(function="<" | "<=" | ">" | ">=", args=(a, Literal())):
            return _column(a)
    return None


def _range_selectivity(figures: ColumnFigures, comparisons: list[Scalar]) -> float:
    """Share of values within all comparisons with literals, by linear interpolation between the column's bounds."""
    if figures.low is None or figures.high is None:
        return GUESS_RANGE ** min(len(comparisons), 2) * (1.0 - figures.null_fraction)
    low, high = figures.low, figures.high
    step = max((figures.high - figures.low) / max(figures.ndv - 1.0, 1.0), 0.0)  # mean distance of neighbouring values
    for comparison in comparisons:
        assert isinstance(comparison, Call)
        bound = comparison.args[1]
        value = as_number(bound.value) if isinstance(bound, Literal) else None
        if value is None:
            return GUESS_RANGE * (1.0 - figures.null_fraction)
        function = comparison.function
        if MIRRORED[function] in ("<", "<="):  # column > value
            low = max(low, value + (step if function == ">" else 0.0))
        else:
            high = min(high, value - (step if function == "<" else 0.0))
    if high < low:
        return 0.0
    share = 1.0 if figures.high == figures.low else (high - low + step) / (figures.high - figures.low + step)
    return min(1.0, max(share, 0.0)) * (1.0 - figures.null_fraction)


def _distinct(scalar: Scalar, columns: Figures) -> float:
    column = _column(scalar)
    if column is not None and column in columns:
        return max(1.0, columns[column].ndv)
    return 1.0 / GUESS_EQUAL


def _unknown_fraction(condition: Scalar, columns: Figures) -> float:
    """At least this share of the rows makes `condition` UNKNOWN: those with NULL in a column that it passes on."""
    known = (columns[column].null_fraction for column in column_ids(strict_columns(condition)) if column in columns)
    return max(known, default=0.0)


def _is_null(scalar: Scalar) -> bool:
    return isinstance(scalar, Literal) and scalar.value is None


def _null_fraction(scalar: Scalar, columns: Figures) -> float:
    if scalar.outer and not scalar.columns:
        return GUESS_OUTER_NULL
    column = _column(scalar)
    return columns[column].null_fraction if column is not None and column in columns else 0.0


def _both_null(a: Scalar, b: Scalar, columns: Figures) -> float:
    return _null_fraction(a, columns) * _null_fraction(b, columns)


def _like(scalar: Call, arg: Scalar, pattern: str, columns: Figures) -> float:
    """LIKE a constant: exact on the most common values, a guess on the others, but at least one value where there are few."""
    present = 1.0 - _null_fraction(arg, columns)
    one_value = 1.0 / _distinct(arg, columns)
    if "%" not in pattern and "_" not in pattern:
        guess = one_value
    else:
        guess = GUESS_LIKE if pattern[0] in "%_" else GUESS_PREFIX
        guess = max(guess, one_value) if _column(arg) in columns else guess
    if isinstance(arg, ColumnRef) and arg.id in columns and not scalar.raises and (frequent := columns[arg.id].frequent):
        matched = sum(share for value, share in frequent.items() if evaluate(scalar, {arg.id: value}) is True)
        return present * min(1.0, matched + max(0.0, 1.0 - sum(frequent.values())) * guess)
    return present * guess


def _equality(a: Scalar, b: Scalar, columns: Figures) -> float:
    present = (1.0 - _null_fraction(a, columns)) * (1.0 - _null_fraction(b, columns))
    if a.columns and b.columns:
        return present / max(_distinct(a, columns), _distinct(b, columns))
    one, constant = (a, b) if a.columns else (b, a)
    column = _column(one)
    if column is not None and column in columns and isinstance(constant, Literal):
        figures, value = columns[column], as_number(constant.value)
        if value is not None and figures.low is not None and figures.high is not None:
            if not figures.low <= value <= figures.high:
                return 0.0
        if figures.frequent and isinstance(one, ColumnRef):
            return present * _frequency(figures, constant.value)
    return present / _distinct(one, columns)


def _frequency(figures: ColumnFigures, value: Any) -> float:
    """Share of the values that are `value`: as known, or an equal part of what the most common values leave, and then no
    more than the least of them."""
    share = figures.frequent.get(value)
    if share is not None:
        return share
    rest = max(0.0, 1.0 - sum(figures.frequent.values()))
    return min(rest / max(1.0, figures.ndv - len(figures.frequent)), min(figures.frequent.values()))
