"""Constants: what a text means as a value of a type."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from optimizer.algebra.columns import DataType
from optimizer.algebra.scalars import Literal
from optimizer.algebra.types import BOOLEAN, DATE, DOUBLE, HUGEINT, INT32, INT64, STRING, TIMESTAMP
from optimizer.errors import SqlError, Unsupported
from optimizer.sql.bind import bind
from optimizer.sql.literals import DoesNotFit, fold_cast, number_literal, parse_interval
from tests.unit.sql.conftest import make_catalog


@pytest.mark.parametrize(
    ("text", "value", "type"),
    [
        ("7", 7, INT32),
        ("2147483647", 2147483647, INT32),
        ("2147483648", 2147483648, INT64),
        ("9223372036854775808", Decimal(9223372036854775808), HUGEINT),
        ("0.05", Decimal("0.05"), pa.decimal128(3, 2)),
        (".5", Decimal("0.5"), pa.decimal128(1, 1)),
        ("1.", Decimal(1), pa.decimal128(1, 0)),
        ("1.50", Decimal("1.50"), pa.decimal128(3, 2)),
        ("1e3", 1000.0, DOUBLE),
        ("1_000", 1000, INT32),
        ("1" * 38 + ".5", float("1" * 38 + ".5"), DOUBLE),
        ("9" * 38, Decimal("9" * 38), HUGEINT),
        (str(1 << 128), float(1 << 128), DOUBLE),
    ],
)
def test_numbers(text: str, value: object, type: DataType) -> None:
    assert number_literal(text) is Literal(value, type)


@pytest.mark.parametrize("value", [10**38, (1 << 127) - 1, (1 << 128) - 1])
def test_integers_that_only_duckdb_has(value: int) -> None:
    """They must not lose digits in silence: 2^127 - 1 = 2^127 - 2 would be true in DOUBLE."""
    with pytest.raises(DoesNotFit, match="more than 38 digits"):
        number_literal(str(value))
    for sql in (f"select {value}", f"select -{value}", f"select a from t where a = {value}"):
        with pytest.raises(Unsupported, match="more than 38 digits"):
            bind(sql, make_catalog())


@pytest.mark.parametrize(
    ("text", "type", "value"),
    [
        ("1994-01-31", DATE, datetime.date(1994, 1, 31)),
        (" 1994/1/5 ", DATE, datetime.date(1994, 1, 5)),
        ("1994-01-31 10:00:00", DATE, datetime.date(1994, 1, 31)),
        ("1994-01-31x", DATE, datetime.date(1994, 1, 31)),
        ("epoch", DATE, datetime.date(1970, 1, 1)),
        ("1994-01-31", TIMESTAMP, datetime.datetime(1994, 1, 31)),
        ("1994-01-31 10:00:00+02", TIMESTAMP, datetime.datetime(1994, 1, 31, 10)),
        ("1994-01-31 24:00:00", TIMESTAMP, datetime.datetime(1994, 2, 1)),
        ("0x10", INT32, 16),
        ("1_0", DOUBLE, 10.0),
        ("1994-01-31T10:20", TIMESTAMP, datetime.datetime(1994, 1, 31, 10, 20)),
        ("1994-01-31 10:20:30.5Z", TIMESTAMP, datetime.datetime(1994, 1, 31, 10, 20, 30, 500000)),
        ("1.7", INT32, 2),
        ("-2.5", INT32, -3),
        ("1e2", INT32, 100),
        (" 12 ", INT64, 12),
        ("1.555", pa.decimal128(5, 2), Decimal("1.56")),
        ("inf", DOUBLE, float("inf")),
        ("T", BOOLEAN, True),
        ("0", BOOLEAN, False),
    ],
)
def test_texts(text: str, type: DataType, value: object) -> None:
    """As DuckDB and our own CAST of a column read them."""
    assert fold_cast(Literal(text, STRING), type) is Literal(value, type)


def test_a_decimal_without_digits_before_its_point_is_written_without() -> None:
    assert fold_cast(Literal(Decimal("0.5"), pa.decimal128(1, 1)), STRING) is Literal(".5", STRING)
    assert fold_cast(Literal(Decimal("0.5"), pa.decimal128(2, 1)), STRING) is Literal("0.5", STRING)


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("1993-02-29", DATE),
        ("0000-01-01", DATE),
        ("1994-01-31 (BC)", DATE),
        ("1994-01-31 25:00", TIMESTAMP),
        ("1994-01-31t10:00", TIMESTAMP),
        ("x", INT32),
        ("", INT32),
        ("inf", INT32),
        ("3e9", INT32),
        ("1000", pa.decimal128(5, 2)),
        ("1e-" + "9" * 30, pa.decimal128(5, 2)),
        ("1__0", DOUBLE),
        ("maybe", BOOLEAN),
        (" true ", BOOLEAN),
    ],
)
def test_texts_that_do_not_fit(text: str, type: DataType) -> None:
    with pytest.raises(DoesNotFit):
        fold_cast(Literal(text, STRING), type)


@pytest.mark.parametrize(
    ("text", "months", "days", "nanoseconds"),
    [
        ("1 year 2 months", 14, 0, 0),
        ("-3 days", 0, -3, 0),
        ("1 week 36 hours", 0, 7, 129_600_000_000_000),
        ("2 quarters", 6, 0, 0),
        ("1.5 days", 0, 1, 43_200_000_000_000),
        ("1.55 months", 1, 16, 0),
        ("1.7 years", 20, 0, 0),
        ("2 days 1 hour ago", 0, -2, -3_600_000_000_000),
        ("1 day -1:02:03.5", 0, 1, -3_723_500_000_000),
        ("-5", 0, 0, -5_000_000_000),
    ],
)
def test_intervals(text: str, months: int, days: int, nanoseconds: int) -> None:
    assert parse_interval(text) == pa.MonthDayNano([months, days, nanoseconds])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "day",
        "1 fortnight",
        "99999999999 years",
        "- 1 day",
        "+1 day",
        "1 day foo",
        "1 day;",
        "1 day 2",
        "2 1 day",
        "1,5 days",
        "1_0 days",
        "P1D",
        "1 day+2 hours",
        "ago",
        "1 day ago 2 hours",
        "1:60:00",
        "1:00 1 day",
        "1 day 1:00 ago",
        "1e2 days",
        ".5 days",
    ],
)
def test_intervals_that_do_not_fit(text: str) -> None:
    with pytest.raises(DoesNotFit):
        parse_interval(text)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("date '1994-01-31' + interval '1 month'", "1994-02-28"),
        ("date '1996-01-31' + interval '1 month'", "1996-02-29"),
        ("date '1996-02-29' - interval '1 year'", "1995-02-28"),
        ("date '1994-12-15' + interval '1 month'", "1995-01-15"),
        ("date '1994-01-31' + interval '1 month 1 day'", "1994-03-01"),
        ("date '1994-03-31' - interval '13 months'", "1993-02-28"),
        ("date '9998-12-31' + interval '12 months'", "9999-12-31"),
        ("date '1994-01-01' - interval '1 day' + 3 * interval '1 hour'", "1993-12-31 03:00:00"),
        ("interval '1' day + '1994-01-31'::date", "1994-02-01"),
    ],
)
def test_calendar_arithmetic(sql: str, expected: str) -> None:
    (moved,) = bind(f"select {sql} from t", make_catalog()).tree.op.scalars()
    assert moved is Literal(datetime.datetime.fromisoformat(expected), TIMESTAMP)


def test_calendar_has_an_end() -> None:
    with pytest.raises(SqlError, match="the date is beyond years 1 to 9999"):
        bind("select date '9999-12-31' + interval '1 day'", make_catalog())
