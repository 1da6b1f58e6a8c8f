"""Values worth computing with, by type: NULL, zero, both signs, extremes, ties of rounding, NaN, odd text, odd days."""

from __future__ import annotations

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
    None,
    "",
    "a",
    "A",
    "abc",
    "aBc",
    " a b ",
    "äÖß",
    "%",
    "_",
    "a%c",
    "a_c",
    "e\u0301x",
    "\u00a0x\u2003",
    "\tx\n",
    "日本語",
    "abcabc",
    "a🦆b",
]
DATES = [None, *map(date.fromisoformat, ("2020-01-31", "2020-02-29", "2021-02-28", "1970-01-01", "1969-12-31", "2020-12-31",
                                         "2021-01-01", "1900-03-01", "0001-01-01", "9999-12-31", "2021-01-03",
                                         "2024-03-31"))]  # fmt: skip
TIMES = [None, *map(datetime.fromisoformat, ("2020-01-31 10:11:12", "2020-02-29 23:59:59.999999", "1969-12-31 23:59:59.5",
                                             "2021-01-01 00:00:00", "2000-02-29 12:34:56.120"))]  # fmt: skip
