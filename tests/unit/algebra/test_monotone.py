"""Scalars that follow the order of a column, and scalars that equal values cannot tell apart, against their values."""

from datetime import date, datetime
from decimal import Decimal
from itertools import product
from math import inf, nan
from typing import Any

import pyarrow as pa
import pytest

from optimizer.algebra.congruence import is_congruent
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.evaluate_order import compare_values, group_key
from optimizer.algebra.monotone import Monotone, monotone
from optimizer.algebra.scalars import BOOL, Call, Case, Cast, ColumnRef, InList, Literal, Scalar
from optimizer.errors import PlanscopeError

I32, I64, F32, F64, STR, DATE, TS = (
    pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.date32(), pa.timestamp("us"),
)  # fmt: skip
DEC, DEC4, WIDE = pa.decimal128(9, 2), pa.decimal128(12, 4), pa.decimal128(20, 2)
VALUES: dict[pa.DataType, list[Any]] = {
    BOOL: [False, True],
    I32: [-(2**31), -7, -6, -1, 0, 1, 2, 5, 6, 7, 2**31 - 1],
    F64: [-inf, -1e308, -2.5, -0.5, -0.0, 0.0, 1e-300, 0.5, 1.5, 2.5, 1e16, 1e16 + 2, 1e308, inf, nan],
    DEC: [Decimal(n).scaleb(-2) for n in (-999, -250, -149, -1, 0, 1, 49, 50, 51, 150, 250, 999)],
    STR: ["", "a", "aa", "ab", "b", "B", "é", "éa", "z", "zz"],
    DATE: [date(1969, 12, 31), date(1970, 1, 1), date(2019, 12, 31), date(2020, 1, 31), date(2020, 2, 29), date(2021, 2, 1)],
    TS: [
        datetime(1969, 12, 31, 23, 59, 59), datetime(1970, 1, 1), datetime(2020, 1, 30, 23), datetime(2020, 1, 31, 1),
        datetime(2020, 2, 29, 12), datetime(2020, 2, 29, 12, 0, 1),
    ],
}  # fmt: skip
X = {type: ColumnRef(i, type) for i, type in enumerate(VALUES)}


def of(value: Any, type: pa.DataType) -> Literal:
    return Literal(value, type)


def candidates() -> list[Scalar]:
    """Expressions over one column of each type, those that follow it and those that do not."""
    found: list[Scalar] = list(X.values())
    for type, numbers in ((I32, [-3, -1, 0, 1, 2]), (F64, [-2.0, -0.0, 0.5, 3.0, 1e300, inf, nan])):
        for number in [of(n, type) for n in numbers] + [of(None, type)]:
            for function in ("+", "-", "*", "//", "/"):
                if function == "/" and type is I32:
                    continue
                found += [Call(function, (X[type], number), type), Call(function, (number, X[type]), type)]
    for number in (Decimal("-1.50"), Decimal("0.00"), Decimal("2.25")):
        found += [Call(f, args, WIDE) for f in ("+", "-") for args in ((X[DEC], of(number, DEC)), (of(number, DEC), X[DEC]))]
        found.append(Call("*", (X[DEC], of(number, DEC)), pa.decimal128(18, 4)))
    for type in (I32, F64, DEC):
        found += [Call(f, (X[type],), type) for f in ("neg", "abs")]
    found += [Call(f, (X[F64],), F64) for f in ("floor", "ceil")]
    found += [Call("round", (X[DEC], of(1, I32)), pa.decimal128(9, 1)), Call("round", (X[F64], of(1, I32)), F64)]
    for source, target in product(VALUES, (BOOL, I32, I64, F32, F64, DEC, DEC4, STR, DATE, TS)):
        found += [Cast(X[source], target, False), Cast(X[source], target, True)]
    for part in ("year", "quarter", "month", "day", "dayofweek", "week"):
        found += [Call(part, (X[DATE],), I64), Call(part, (X[TS],), I64)]
    found += [Call("date_trunc", (of(unit, STR), X[TS]), TS) for unit in ("year", "month", "day", "hour")]
    found += [
        Call("date_add_days", (X[DATE], of(3, I32)), DATE),
        Call("date_diff_days", (X[DATE], of(date(2020, 1, 1), DATE)), I64),
    ]
    found.append(Call("date_diff_days", (of(date(2020, 1, 1), DATE), X[DATE]), I64))
    found.append(Call("date_add", (X[TS], of(pa.MonthDayNano((1, 0, 0)), pa.month_day_nano_interval())), TS))
    for start, length in ((1, 0), (1, 1), (1, 2), (2, 1), (-1, 1)):
        found.append(Call("substring", (X[STR], of(start, I64), of(length, I64)), STR))
    found += [Call(f, (X[STR],), STR) for f in ("upper", "lower", "trim")]
    found.append(Call("length", (X[STR],), I64))
    found.append(Call("coalesce", (X[I32], of(0, I32)), I32))
    found.append(Call("neg", (Call("+", (Cast(X[I32], I64, False), of(4, I64)), I64),), I64))
    found.append(Call("//", (Call("-", (of(9, I32), X[I32]), I32), of(2, I32)), I32))
    return found


def values_of(scalar: Scalar, inputs: list[Any]) -> list[tuple[Any, Any]]:
    """Pairs of the column's value and the scalar's, without those on which it raises."""
    (column,) = (ref.id for ref in X.values() if ref.columns == scalar.columns)
    pairs = []
    for value in inputs:
        try:
            pairs.append((value, evaluate(scalar, {column: value})))
        except (PlanscopeError, ArithmeticError, ValueError):
            continue
    return pairs


@pytest.mark.parametrize("type", VALUES, ids=str)
def test_what_is_said_to_follow_a_column_does(type: pa.DataType) -> None:
    followed = 0
    for scalar in candidates():
        claim = monotone(scalar)
        if claim is None or claim.column != X[type].id:
            continue
        followed += 1
        pairs = values_of(scalar, VALUES[type])
        for (a, fa), (b, fb) in product(pairs, repeat=2):
            assert fa is not None, f"{scalar} is NULL for {a}"
            before, after = compare_values(a, b), compare_values(fa, fb)
            if claim.descending:
                after = -after
            if before < 0:
                assert after < 0 or (after == 0 and not claim.strict), f"{scalar} goes from {fa} to {fb} for {a} to {b}"
            elif before == 0:
                assert after == 0, f"{scalar} is {fa} and {fb} for {a} and {b}"
        assert evaluate(scalar, {claim.column: None}) is None, f"{scalar} of NULL"
    assert followed >= 2 or type is BOOL


def test_which_scalars_follow_a_column() -> None:
    x, f, d, t, s = X[I32], X[F64], X[DATE], X[TS], X[STR]
    two = of(2, I32)
    assert monotone(x) == Monotone(x.id, False, True)
    assert monotone(Call("-", (two, Call("*", (x, two), I32)), I32)) == Monotone(x.id, True, True)
    assert monotone(Call("//", (x, two), I32)) == Monotone(x.id, False, False)
    assert monotone(Call("+", (f, of(1.0, F64)), F64)) == Monotone(f.id, False, False)
    assert monotone(Call("neg", (f,), F64)) is None  # NaN stays above
    assert monotone(Call("date_trunc", (of("month", STR), t), TS)) == Monotone(t.id, False, False)
    assert monotone(Call("year", (Cast(d, TS, False),), I64)) == Monotone(d.id, False, False)
    assert monotone(Call("substring", (s, of(1, I64), of(2, I64)), STR)) == Monotone(s.id, False, False)
    for other in (
        Call("month", (d,), I64), Call("*", (x, of(0, I32)), I32), Call("+", (x, x), I32), Cast(x, STR, False),
        Cast(s, I32, True),
        Call("substring", (s, of(2, I64), of(1, I64)), STR), Call("upper", (s,), STR), Call("random", (), F64),
    ):  # fmt: skip
        assert monotone(other) is None, other


@pytest.mark.parametrize("type", VALUES, ids=str)
def test_equal_values_give_equal_results_where_that_is_said(type: pa.DataType) -> None:
    for scalar in candidates():
        if scalar.columns != X[type].columns or not is_congruent(scalar):
            continue
        for (a, fa), (b, fb) in product(values_of(scalar, VALUES[type]), repeat=2):
            if group_key(a) == group_key(b):
                assert group_key(fa) == group_key(fb), f"{scalar} tells {a} from {b}"


def test_what_tells_zeros_apart_is_not_determined_by_them() -> None:
    f, x = X[F64], X[I32]
    one = of(1.0, F64)
    assert not is_congruent(Call("/", (one, f), F64))
    assert not is_congruent(Cast(f, STR, False))
    assert not is_congruent(Call("length", (Cast(f, STR, False),), I64))
    assert not is_congruent(Call("random", (), F64))
    assert not is_congruent(Call("/", (one, Cast(x, F64, False)), F64))  # sound, not complete
    assert is_congruent(Call("+", (f, one), F64))
    assert is_congruent(Case(((Call("<", (f, one), BOOL), f),), one, F64))
    assert is_congruent(InList(f, (one, f)))
    assert is_congruent(Cast(x, STR, False))
