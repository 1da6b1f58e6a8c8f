"""Values worth computing with, by type: NULL, zero, both signs, extremes, ties of rounding, NaN, odd text, odd days."""

import math
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa

I8, I16, I32, I64, F32, F64, STR = pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string()
DATE, TS = pa.date32(), pa.timestamp("us")


def dec(precision: int, scale: int) -> pa.DataType:
    return pa.decimal128(precision, scale)


def decimals(*texts: str | None) -> list[Decimal | None]:
    return [None if t is None else Decimal(t) for t in texts]


BOOLS = [None, False, True]
INTS = [None, 0, 1, -1, 2, -2, 3, 7, -7, 100, 2147483647, -2147483648, 2147483646]
BIGS = [None, 0, 1, -1, 3, -5, 10, 9223372036854775807, -9223372036854775808, 4611686018427387904, 3037000500]
TINY = [None, 0, 1, -1, 5, 44, 100, -100, 127, -128]
DECS = decimals(None, "0.00", "1.00", "-1.00", "0.01", "-0.01", "2.50", "-2.50", "3.49", "999999.99", "-999999.99", "125.55")
DOUBLES = [
    None, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.5, 0.1, 2.675, 1.005, 123456789.123, 1e15, 1e16, 1e17, 1e20, 1e-4,
    1e-5, 1.5e-7, 1e300, -1e300, 1e308, math.inf, -math.inf, math.nan, 1234567890123456.7, 0.49999999999999994,
]  # fmt: skip
STRINGS = [
    None, "", "a", "A", "abc", "aBc", " a b ", "äÖß", "%", "_", "a%c", "a_c", "e\u0301x", "\u00a0x\u2003", "\tx\n", "日本語",
    "abcabc", "a🦆b",
]  # fmt: skip
DATES = [None, *map(date.fromisoformat, ("2020-01-31", "2020-02-29", "2021-02-28", "1970-01-01", "1969-12-31", "2020-12-31",
                                         "2021-01-01", "1900-03-01", "0001-01-01", "9999-12-31", "2021-01-03",
                                         "2024-03-31"))]  # fmt: skip
TIMES = [None, *map(datetime.fromisoformat, ("2020-01-31 10:11:12", "2020-02-29 23:59:59.999999", "1969-12-31 23:59:59.5",
                                             "2021-01-01 00:00:00", "2000-02-29 12:34:56.120"))]  # fmt: skip

# texts that are, or nearly are, numbers, booleans, dates and times; texts and patterns of LIKE
NUMBER_TEXTS = [
    "", " ", "12", " 12 ", "\t1\n", "\u00a01", "+5", "-5", "--1", "+-1", "- 1", "1.5", "2.5", "-2.5", "0.5", "-0.5", "-0.4",
    "1e3", "1E3", "1e+3", "1e-1", "5e-1", "15e-1", "15e-3", "1e", "e3", ".5", "-.5", "+.5", "5.", ".", "-", "1.e2", ".e2",
    ".5e1", "1_000", "1__0", "_1", "1_", "1_.5", "1._5", "1.5_5", "1e1_0", "0x1F", "0X1f", "-0x1F", "+0x1", "0x", "0x1_0", "0xFF",
    "0b11", "007", "1f", "1 2", "1,5", "1.5.5", "1e100", "0e100", "99e-100", "1e400", "1e-400", "2147483647", "2147483648",
    "2147483647.5", "-2147483648", "9.995", "9.994", "1.00455e2", "nan", "NaN ", "NAN", "-nan", "nan(1)", "NAN(a_1) ", "nan(-)",
    "inf", "+inf", "-Infinity", "inf(1)", "infinit", "abc", "true", "12345e-3", "2.449e1",
]  # fmt: skip
BOOL_TEXTS = [
    "true", "T", "t", "yes", "YES", "y", "Y", "1", "0", "f", "False", "no", "n", "N", "on", "off", " true", "true ", "", "2",
    "tr", None,
]  # fmt: skip
DATE_TEXTS = [
    "2020-01-02", " 2020-01-02 ", "2020-1-2", "2020/01/02", "2020 01 02", "2020\\01\\02", "2020-01/02", "2020-02-30",
    "2021-02-29", "2020-001-02", "2020-01-002", "2020-01-022", "2020-1-", "2020-1", "0001-01-01", "1-1-1", "20-01-02",
    "\t2020-01-02\n", "2020- 01-02", "2020-13-02", "2020-00-02", "2020-01-00", "", "+2020-01-02", "2020--1-02", "02-01-2020",
    "20200102", "epoch", "EPOCH", "2020-01-02x", "2020-01-02 junk", "2020-01-02T00:00:00", "2020-01-02 03:04:05", None,
]  # fmt: skip
TIME_TEXTS = [
    "2020-01-02", "2020-01-02 03:04", "2020-01-02 03:04:05", "2020-01-02T03:04:05", "2020-01-02t03:04:05",
    "2020-01-02  03:04:05", " 2020-01-02 03:04:05 ", "2020-01-02 03:04:05.", "2020-01-02 03:04:05.1",
    "2020-01-02 03:04:05.1234567", "2020-01-02 03:04:05.9999999", "2020-01-02 3:4:5", "2020-01-02 003:04", "2020-01-02 03",
    "2020-01-02 24:00:00", "2020-01-02 24:00:01", "2020-01-02 25:00:00", "2020-01-02 03:60:00", "2020-01-02 03:04:60",
    "2020-01-02 03:04:05x", "2020-01-02x", "2020-01-02 ", "2020-01-02T", "2020-01-02 030405", "2020-01-02 03:04:05Z",
    "2020-01-02 03:04:05z", "2020-01-02 03:04:05 UTC", "2020-01-02 03:04:05+02", "2020-01-02 03:04:05-08:00",
    "2020-01-02 03:04:05+2", "2020-01-02 03:04Z", "2020-01-02Z", "2020-01-02 03:04:05 +02", "2020/01/02 03:04:05", "epoch",
    "2020-02-30 01:02:03", "", "abc", None,
]  # fmt: skip
LIKE_TEXTS = [
    None, "", "a", "b", "ab", "abc", "aab", "abcabc", "a%c", "a_c", "a#c", "ä", "Ab", "a\nb", "%", "#", "a\\c",
]  # fmt: skip
PATTERNS = [
    None, "", "%", "%%", "_", "__", "a%", "%b", "%b%", "_b_", "a%c", "a_c", "%a%b%", "a%b%c", "ä", "AB", "%_", "_%_",
    "a\\%c", "%bc", "%%a%%", "ab%b", "b%b%", "%b%b", "%b%b%",
]  # fmt: skip
DATE_PARTS = [
    "year", "quarter", "month", "day", "dayofweek", "dayofyear", "week", "hour", "minute", "second",
]  # fmt: skip
DATE_UNITS = [
    "microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade",
    "century", "millennium",
]  # fmt: skip


def extremes(type: pa.DataType) -> list[Decimal | None]:
    unit = Decimal(1).scaleb(-type.scale)
    largest = Decimal((0, (9,) * type.precision, -type.scale))
    return [None, 0 * unit, unit, -unit, 150 * unit, -251 * unit, largest, largest.copy_negate()]
