"""Calls over columns with NULLs, empty texts, other scripts, signed zeros, NaN and extremes: more are in scalar_calls.cases."""

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa

INF, NAN = float("inf"), float("nan")
# fmt: off
TABLE = pa.table(
    {
        "n": pa.array(range(9), pa.int32()),
        "s": pa.array(["abcb", "", None, "é%b", "a\nb", " b a ", "日本語b", "B", "a,b,,c"], pa.string()),
        "r": pa.array(["b", "", "a.*", None, "^a$", "[ab]+", "(b)|(x)", "B", ","], pa.string()),
        "i": pa.array([0, 1, None, -7, 2147483647, -2147483648, 5, 12, 3], pa.int32()),
        "k": pa.array([0, 1, 2, -1, None, 3, 31, 8, 40], pa.int32()),
        "b": pa.array([0, -1, None, 9223372036854775807, -9223372036854775808, 4, 6, 7, 1], pa.int64()),
        "u": pa.array([0, 255, None, 7, 16, 1, 2, 3, 128], pa.uint8()),
        "ub": pa.array([0, 1, None, 2**63, 2**64 - 1, 7, 10, 3, 8], pa.uint64()),
        "d": pa.array(
            [
                Decimal(x) if x else None
                for x in ("0.00", "-0.50", "", "1.99", "-999.99", "999.99", "2.50", "-3.50", "7.00")
            ],
            pa.decimal128(5, 2),
        ),
        "f": pa.array([0.0, -0.0, None, 1.5, -2.5, 1e300, 0.1, -7.25, 8.0], pa.float64()),
        "x": pa.array([NAN, INF, None, -INF, 0.5, -0.5, 1.0, 2.0, -1.0], pa.float64()),
        "day": pa.array(
            [
                date(2020, 2, 29), date(1, 1, 1), None, date(9999, 12, 31), date(1969, 12, 31), date(2021, 1, 3),
                date(2020, 12, 31), date(1900, 2, 1), date(2019, 12, 30),
            ],
            pa.date32(),
        ),
        "ts": pa.array(
            [
                datetime(2020, 2, 29, 23, 59, 59, 999999), None, None, datetime(1960, 1, 1, 0, 0, 0, 1),
                datetime(1, 1, 1), datetime(9999, 12, 31, 23), datetime(2021, 1, 4),
                datetime(1969, 12, 31, 23, 59, 59, 1), datetime(2000, 6, 1, 12),
            ],
            pa.timestamp("us"),
        ),
    }
)
# fmt: on

UNITS = ("year", "quarter", "month", "week", "day", "hour", "second", "microsecond", "century")
MOMENTS = ("greatest(day, DATE '0002-01-01')", "greatest(ts, TIMESTAMP '0002-01-01')")

# fmt: off
CALLS: tuple[str, ...] = (
    *(f"date_diff('{unit}', ts, TIMESTAMP '2020-03-01 12:30:00')" for unit in (*UNITS, "minute", "ms", "microseconds", "decade")),
    *(f"date_diff('{unit}', day, DATE '2000-01-31')" for unit in ("week", "millennium", "microsecond")),
    *(f"date_sub('{unit}', ts, TIMESTAMP '2020-01-31 12:30:00')" for unit in UNITS),
    *(f"date_sub('{unit}', DATE '2020-01-31', day)" for unit in UNITS),
    *(
        f"strptime(strftime({c}, '{form}'), '{form}')"
        for c, forms in {
            "ts": ("%Y-%m-%d %H:%M:%S.%f", "%d.%m.%y %-I:%M%p", "%A, %-d %B %Y %T", "%Y %j %H%%", "%c"),
            "day": ("%Y%m%d", "%b %-d, %Y", "%a %x %g", "%-m/%-d/%Y %-H %-M %-S %h"),
        }.items()
        for form in forms
    ),
    *(
        f"try_strptime({text}, '{form}')"
        for text in (
            "s", "r", "' 12/' || i || ' '", "'Jan  0' || k || ' 2021'", "CAST(n * 13 AS VARCHAR)", "k || ' pm'", "'2021 ' || b",
            "'é' || n || 'epoch'", "CASE n WHEN 2 THEN 'ſep' WHEN 3 THEN 'sep' WHEN 4 THEN '٣' END",
        )
        for form in ("%d/%m", "%b %d %Y", "%m", "%I %p", "%Y %j", "é%fepoch", "%b")
    ),
    *(
        f"time_bucket(INTERVAL '{width}', {moment})"
        for width in ("1 hour", "7 days", "1 day -1 hours", "3 months", "7 months", "15 minutes", "1 microsecond")
        for moment in MOMENTS
    ),
    *(
        f"time_bucket({width}, {moment}, {origin})"
        for width in ("INTERVAL '5 hours'", "INTERVAL '5 months'", "'1 week'")
        for moment in MOMENTS
        for origin in ("DATE '1999-01-31'", "TIMESTAMP '2019-12-31 13:00:01'", "greatest(day, DATE '1000-01-01')")
    ),
)
# fmt: on
