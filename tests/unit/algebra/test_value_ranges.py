"""Ranges of scalars hold all values that the reference semantics give, and an operation that has one raises for no operands."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.scalars import AggregateCall, Call, Case, Cast, ColumnRef, Literal, Scalar, WindowCall
from optimizer.algebra.types import BOOLEAN, DATE, HUGEINT, INT8, INT32, INT64, INTERVAL, TIMESTAMP, arithmetic_type
from optimizer.algebra.value_ranges import ROWS, Range, Ranges
from optimizer.errors import ExecutionError

DEC, WIDE = pa.decimal128(6, 2), pa.decimal128(38, 3)
COLUMNS: list[DataType] = [INT8, INT32, INT64, DEC, WIDE, DATE, TIMESTAMP]


def some_range(random: Random, type: DataType) -> tuple[Any, Any]:
    """Small, at an end of the type, or everything."""
    if type in (DATE, TIMESTAMP):
        first = random.choice([date(1, 1, 1), date(1999, 12, 31), date(2024, 1, 29), date(9999, 12, 1)])
        last = min(first.toordinal() + random.choice([0, 1, 40, 4000]), date.max.toordinal())
        if type == DATE:
            return first, date.fromordinal(last)
        low = datetime(first.year, first.month, first.day, random.randrange(24))
        return low, max(low, datetime(*date.fromordinal(last).timetuple()[:3], random.randrange(24)))
    if type in (DEC, WIDE):
        scale = Decimal(1).scaleb(-type.scale)
        most = 10**type.precision - 1
    else:
        scale, most = 1, (1 << type.bit_width - 1) - 1
    low = random.choice([-most, -5, 0, 3, most - 4, most // 2])
    high = min(most, low + random.choice([0, 1, 9, most]))
    if type in (DEC, WIDE):
        return tuple(Decimal(end).scaleb(-type.scale) for end in (low, high)) if type == DEC else (scale * 0, scale * 7)
    return low, high


def within(random: Random, low: Any, high: Any) -> Any:
    if random.random() < 0.4:
        return random.choice([low, high])
    if isinstance(low, datetime):
        return low + timedelta(microseconds=random.randrange((high - low) // timedelta(microseconds=1) + 1))
    if isinstance(low, date):
        return date.fromordinal(random.randint(low.toordinal(), high.toordinal()))
    if isinstance(low, Decimal):
        places = low.as_tuple().exponent
        return Decimal(random.randint(int(low.scaleb(-places)), int(high.scaleb(-places)))).scaleb(places)
    return random.randint(low, high)


def expression(random: Random, refs: list[ColumnRef], depth: int) -> Scalar:
    if depth == 0 or random.random() < 0.15:
        if random.random() < 0.3:
            value = random.choice([-128, -1, 0, 1, 2, 7, 127])
            return Literal(value, random.choice([INT8, INT32, INT64]))
        return random.choice(refs)
    a, b = (expression(random, refs, depth - 1) for _ in range(2))
    form = random.choice(
        ["+", "-", "*", "neg", "abs", "%", "//", "case", "coalesce", "cast", "days", "interval", "part", "least"]
    )
    moments = (DATE, TIMESTAMP)
    if form == "case":
        return Case(((Call("<", (a, a), BOOLEAN), a),), Cast(b, a.type, True) if b.type != a.type else b, a.type)
    if form in ("coalesce", "least"):
        return Call(form, (a, b), a.type) if a.type == b.type else a
    if a.type in moments:
        match form:
            case "days" if a.type == DATE and b.type == INT32:
                return Call("date_add_days", (a, b), DATE)
            case "interval":
                some = pa.MonthDayNano([random.choice([-13, -1, 0, 1, 2]), random.choice([-40, 0, 1]), 0])
                interval: Scalar = Literal(some, INTERVAL)
                if b.type == INT64:
                    interval = Call("interval_times", (interval, b), INTERVAL)
                return Call("date_add", (a, interval), TIMESTAMP)
            case "part":
                return Call(random.choice(["year", "month", "dayofyear"]), (a,), INT64)
            case "cast":
                return Cast(a, random.choice(moments), False)
        return a
    if form == "cast":
        return Cast(a, random.choice([INT8, INT32, INT64, DEC, WIDE, HUGEINT]), random.random() < 0.3)
    if form in ("neg", "abs"):
        return Call(form, (a,), a.type)
    if form in ("+", "-", "*", "%", "//") and a.type == b.type and pa.types.is_integer(a.type):
        return Call(form, (a, b), a.type)
    if form in ("+", "-", "*") and b.type not in moments and (pa.types.is_decimal(a.type) or pa.types.is_decimal(b.type)):
        type = arithmetic_type(form, a.type, b.type)
        if type is not None and pa.types.is_decimal(type):
            return Call(form, (a, b), type)
    return a


def raises(scalar: Scalar, row: dict[int, Any]) -> bool:
    try:
        evaluate(scalar, row)
    except ExecutionError:
        return True
    return False


@pytest.mark.parametrize("seed", range(4))
def test_no_value_is_outside_and_no_operation_raises(seed: int) -> None:
    random = Random(seed)
    refs = [ColumnRef(i, type) for i, type in enumerate(COLUMNS)]
    found = computed = 0
    for _ in range(1500):
        ranges = {ref.id: Range(*some_range(random, ref.type)) for ref in refs}
        scalar = expression(random, refs, random.choice([1, 2, 3]))
        known = Ranges(ranges.get).of(scalar)
        if known is None:
            continue
        found += 1
        computed += scalar.raises
        for _ in range(12):
            row = {id: None if random.random() < 0.05 else within(random, *ends) for id, ends in ranges.items()}
            if raises(scalar, row):
                assert any(raises(part, row) for part in scalar.children), f"{scalar} of {row} raises, though it is in {known}"
                continue
            value = evaluate(scalar, row)
            assert value is None or known.low <= value <= known.high, f"{scalar} of {row} is {value}, not in {known}"
    assert found > 500 and computed > 100


@pytest.mark.parametrize(("low", "high", "safe"), [(0, 2**63 - 2, True), (0, 2**63 - 1, False), (-(2**63), 0, True)])
def test_a_sum_is_safe_to_the_last_value(low: int, high: int, safe: bool) -> None:
    found = Ranges(lambda _: Range(low, high)).of(Call("+", (ColumnRef(0, INT64), Literal(1, INT64)), INT64))
    assert found == (Range(low + 1, high + 1) if safe else None)


def test_an_absolute_value_is_not_below_zero_and_not_above_the_farther_end() -> None:
    column = ColumnRef(0, INT32)
    assert Ranges(lambda _: Range(-9, 4)).of(Call("abs", (column,), INT32)) == Range(0, 9)
    assert Ranges(lambda _: Range(-(2**31), 4)).of(Call("abs", (column,), INT32)) is None


def test_a_month_later_the_day_is_cut_off() -> None:
    """31 January 01:00 comes before 28 February 23:00 of the 28th."""
    column, month = ColumnRef(0, TIMESTAMP), Literal(pa.MonthDayNano([1, 0, 0]), INTERVAL)
    ends = Range(datetime(2023, 1, 28, 23), datetime(2023, 1, 31, 1))
    known = Ranges(lambda _: ends).of(Call("date_add", (column, month), TIMESTAMP))
    assert known is not None and known.low <= datetime(2023, 2, 28, 1) and known.high >= datetime(2023, 2, 28, 23)
    last = Range(datetime(9999, 11, 1), datetime(9999, 12, 1))
    assert Ranges(lambda _: last).of(Call("date_add", (column, month), TIMESTAMP)) is None


def test_what_is_computed_over_rows() -> None:
    column = ColumnRef(0, INT64)

    def of(call: Scalar) -> Range | None:
        return Ranges(lambda _: Range(-3, 5)).of(call)

    assert of(AggregateCall("count", (), False, None, INT64)) == ROWS
    assert of(AggregateCall("max", (column,), False, None, INT64)) == Range(-3, 5)
    assert of(AggregateCall("sum", (column,), False, None, HUGEINT)) == Range(Decimal(-3 * ROWS.high), Decimal(5 * ROWS.high))
    lag = WindowCall("lag", (column, Literal(1, INT64), Literal(9, INT64)), False, None, False, None, INT64)
    assert of(lag) == Range(-3, 9)
    assert of(AggregateCall("bit_xor", (column,), False, None, INT64)) == Range(-(2**63), 2**63 - 1)
