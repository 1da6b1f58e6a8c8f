"""Constants: what a text means as a value of a type."""

from datetime import datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from optimizer.algebra.columns import DataType
from optimizer.algebra.scalars import Literal
from optimizer.algebra.types import BOOLEAN, DATE, DOUBLE, HUGEINT, INT32, INT64, STRING, TIMESTAMP, type_name
from optimizer.errors import SqlError, Unsupported
from optimizer.sql.bind import bind
from optimizer.sql.literals import DoesNotFit, fold_cast, number_literal, parse_interval
from tests.unit.sql.conftest import make_catalog


def by_duckdb(expression: str, *parameters: str) -> object:
    """A value; an interval in Arrow's three parts."""
    with duckdb.connect() as connection:
        return connection.execute(f"select {expression}", parameters).to_arrow_table().column(0)[0].as_py()


@pytest.mark.parametrize(
    ("text", "value", "type"),
    [
        ("7", 7, INT32), ("2147483647", 2147483647, INT32), ("2147483648", 2147483648, INT64),
        ("9223372036854775808", Decimal(9223372036854775808), HUGEINT), ("0.05", Decimal("0.05"), pa.decimal128(3, 2)),
        (".5", Decimal("0.5"), pa.decimal128(1, 1)), ("1.", Decimal(1), pa.decimal128(1, 0)),
        ("1.50", Decimal("1.50"), pa.decimal128(3, 2)), ("1e3", 1000.0, DOUBLE), ("1_000", 1000, INT32),
        ("1" * 38 + ".5", float("1" * 38 + ".5"), DOUBLE), ("9" * 38, Decimal("9" * 38), HUGEINT),
        (str(1 << 128), float(1 << 128), DOUBLE),
    ],
)  # fmt: skip
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


MONEY = pa.decimal128(5, 2)
INTERVAL = pa.month_day_nano_interval()
TEXTS: dict[DataType, tuple[str, ...]] = {
    DATE: ("1994-01-31", " 1994/1/5 ", "1994-01-31 10:00:00", "1994-01-31x", "epoch"),
    TIMESTAMP: (
        "1994-01-31", "1994-01-31 10:00:00+02", "1994-01-31 24:00:00", "1994-01-31T10:20", "1994-01-31 10:20:30.5Z",
    ),
    INT32: ("0x10", "1.7", "-2.5", "1e2"),
    INT64: (" 12 ",),
    DOUBLE: ("1_0", "inf"),
    MONEY: ("1.555",),
    BOOLEAN: ("T", "0"),
    INTERVAL: (
        "1 year 2 months", "-3 days", "1 week 36 hours", "2 quarters", "1.5 days", "1.55 months", "1.7 years",
        "2 days 1 hour ago", "1 day -1:02:03.5", "-5",
    ),
}  # fmt: skip
NOT_FIT: dict[DataType, tuple[str, ...]] = {
    DATE: ("1993-02-29",), TIMESTAMP: ("1994-01-31 25:00", "1994-01-31t10:00"), INT32: ("x", "", "inf", "3e9"), DOUBLE: ("1__0",),
    MONEY: ("1000", "1e-" + "9" * 30), BOOLEAN: ("maybe", " true "),
    INTERVAL: (
        "", "day", "1 fortnight", "99999999999 years", "- 1 day", "+1 day", "1 day foo", "1 day;", "1 day 2", "2 1 day",
        "1,5 days", "1_0 days", "P1D", "1 day+2 hours", "ago", "1 day ago 2 hours", "1:60:00", "1:00 1 day",
        "1 day 1:00 ago", "1e2 days", ".5 days",
    ),
}  # fmt: skip


def of_types(texts: dict[DataType, tuple[str, ...]]) -> list[tuple[str, DataType]]:
    return [(text, type) for type, of_type in texts.items() for text in of_type]


def read(text: str, type: DataType) -> object:
    return parse_interval(text) if type == INTERVAL else fold_cast(Literal(text, STRING), type)


@pytest.mark.parametrize(("text", "type"), of_types(TEXTS))
def test_texts(text: str, type: DataType) -> None:
    """As DuckDB and our own CAST of a column read them."""
    value = by_duckdb(f"cast($1 as {type_name(type)})", text)
    assert read(text, type) == (value if type == INTERVAL else Literal(value, type))


@pytest.mark.parametrize(("text", "type"), of_types(NOT_FIT))
def test_texts_that_do_not_fit(text: str, type: DataType) -> None:
    with pytest.raises((duckdb.ConversionException, duckdb.InvalidInputException)):
        by_duckdb(f"cast($1 as {type_name(type)})", text)
    with pytest.raises(DoesNotFit):
        read(text, type)


@pytest.mark.parametrize("text", ["0000-01-01", "1994-01-31 (BC)"])
def test_dates_before_the_year_1_do_not_fit(text: str) -> None:
    """DuckDB has them."""
    with pytest.raises(DoesNotFit):
        fold_cast(Literal(text, STRING), DATE)


def test_a_decimal_without_digits_before_its_point_is_written_without() -> None:
    assert fold_cast(Literal(Decimal("0.5"), pa.decimal128(1, 1)), STRING) is Literal(".5", STRING)
    assert fold_cast(Literal(Decimal("0.5"), pa.decimal128(2, 1)), STRING) is Literal("0.5", STRING)


@pytest.mark.parametrize(
    "sql",
    [
        "date '1994-01-31' + interval '1 month'", "date '1996-01-31' + interval '1 month'",
        "date '1996-02-29' - interval '1 year'", "date '1994-12-15' + interval '1 month'",
        "date '1994-01-31' + interval '1 month 1 day'", "date '1994-03-31' - interval '13 months'",
        "date '9998-12-31' + interval '12 months'", "date '1994-01-01' - interval '1 day' + 3 * interval '1 hour'",
        "interval '1' day + '1994-01-31'::date",
    ],
)  # fmt: skip
def test_calendar_arithmetic(sql: str) -> None:
    (moved,) = bind(f"select {sql} from t", make_catalog()).tree.op.scalars()
    expected = by_duckdb(sql)
    assert isinstance(expected, datetime) and moved is Literal(expected, TIMESTAMP)


def test_calendar_has_an_end() -> None:
    with pytest.raises(SqlError, match="the date is beyond years 1 to 9999"):
        bind("select date '9999-12-31' + interval '1 day'", make_catalog())
