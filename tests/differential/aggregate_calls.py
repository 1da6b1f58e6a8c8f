"""Calls of every aggregate function, over columns with NULLs, duplicates, signed zeros, NaN and extremes.

Where rows are equal in what decides (first, last, any_value), the calls say by ORDER BY which is meant.
"""

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa

D = Decimal
# fmt: off
TABLE = pa.table(
    {
        "n": pa.array(range(12), pa.int32()),  # a different number in each row
        "g": pa.array([1, 1, 1, 2, 2, None, None, 3, 4, 4, 1, 2], pa.int32()),
        "i": pa.array([3, 3, -7, None, 2147, 5, 0, None, -2148, 3, 12, 2], pa.int32()),
        "u": pa.array([1, 255, 7, None, 0, 16, 16, 3, 2, None, 7, 9], pa.uint8()),
        "b": pa.array([9223372036854775807, 1, None, -5, 4, 4, 6, None, 0, 1, 2, 3], pa.int64()),
        "d": pa.array(
            [
                D("1.01"), D("1.02"), D("-3.50"), None, D("0.00"), D("1.01"), None, D("9.99"), D("-9.99"), D("1.00"),
                None, D("2.5"),
            ],
            pa.decimal128(5, 2),
        ),
        "f": pa.array([0.0, -0.0, 1.5, None, 2.5, 1e4, -3.25, 7.0, 1.5, 1.5, None, 0.1], pa.float64()),
        "x": pa.array(
            [
                1.0, float("nan"), float("inf"), None, -float("inf"), 2.0, 2.0, 4.0, 0.5, -1.0, float("nan"), None,
            ],
            pa.float64(),
        ),
        "s": pa.array(["b", "", "a", None, "é", "b", "a b", None, "", "Z", "b", "a"], pa.string()),
        "t": pa.array([True, False, None, None, True, True, True, False, None, False, True, None], pa.bool_()),
        "day": pa.array(
            [
                date(2020, 2, 29), date(1, 1, 1), date(9999, 12, 31), None, date(2020, 3, 1), date(1969, 12, 31), None,
                date(2020, 1, 1), date(1960, 1, 2), date(1960, 1, 1), None, date(2020, 3, 2),
            ],
            pa.date32(),
        ),
        "ts": pa.array(
            [
                datetime(2020, 2, 29, 12), None, datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2020, 1, 1),
                datetime(2020, 1, 1, 0, 0, 0, 1), datetime(1970, 1, 1), None, datetime(1960, 1, 1),
                datetime(1960, 1, 1, 0, 0, 0, 1), None, datetime(2000, 1, 1), None,
            ],
            pa.timestamp("us"),
        ),
    }
)
# fmt: on

NUMBERS = ("i", "u", "d", "f")
ONE = ("var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp", "sem", "skewness", "kurtosis", "kurtosis_pop")
TWO = [
    "covar_pop", "covar_samp", "corr", "regr_count", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy", "regr_slope",
    "regr_intercept", "regr_r2",
]  # fmt: skip
FRACTIONS = ("0", "0.25", "0.5", "0.9", "1", "-0.3", "0.1 + 0.2")
EVERYTHING = ("i", "u", "d", "f", "x", "s", "t", "day", "ts")

CALLS: tuple[str, ...] = (
    *(f"{name}({c})" for name in ONE for c in NUMBERS if (name, c) not in (("skewness", "f"), ("sem", "u"))),
    *(f"{name}({pair})" for name in TWO for pair in ("i, f", "f, d", "d, 2.0", "u, NULL")),
    "stddev(DISTINCT f)",
    "corr(f, d) FILTER (WHERE i > 0)",
    "sum(f ORDER BY n)",
    *(f"mode({c} ORDER BY n)" for c in EVERYTHING if c != "x"),  # to DuckDB each NaN is another value there
    "mode() WITHIN GROUP (ORDER BY s)",
    "mode() WITHIN GROUP (ORDER BY i DESC)",
    *(f"median({c})" for c in ("i", "u", "d", "f", "s", "t", "day", "ts", "b")),
    *(f"quantile_cont({c}, {q})" for c in ("i", "d", "f", "ts") for q in FRACTIONS),
    *(f"quantile_disc({c}, {q})" for c in EVERYTHING for q in ("0.25", "0.5", "-0.3")),
    "quantile(i, 0.75)",
    "percentile_cont(0.3) WITHIN GROUP (ORDER BY i)",
    "percentile_cont(0.3) WITHIN GROUP (ORDER BY i DESC)",
    "percentile_disc(0.3) WITHIN GROUP (ORDER BY s DESC)",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY f) FILTER (WHERE i > 0)",
    "median(DISTINCT i)",
    "median(CAST(i AS HUGEINT))",
    "quantile_cont(CAST(b AS HUGEINT), 0.3)",
    "quantile_cont(CAST(d AS DECIMAL(38, 20)), -0.5)",
    "string_agg(s ORDER BY n)",
    "string_agg(s, '-' ORDER BY n DESC)",
    "string_agg(s, '' ORDER BY i NULLS FIRST, n)",
    "string_agg(s, NULL ORDER BY n)",
    "string_agg(i, ', ' ORDER BY n)",
    "string_agg(DISTINCT s, ', ' ORDER BY s)",
    "string_agg(DISTINCT i, ', ' ORDER BY i)",
    "string_agg(DISTINCT i % 3, ', ' ORDER BY i % 3 DESC NULLS FIRST) FILTER (WHERE n > 1)",
    "group_concat(DISTINCT s, ', ' ORDER BY s DESC)",
    "listagg(s, 'a' || 'b' ORDER BY n) FILTER (WHERE t)",
    *(f"{name}({c} ORDER BY n)" for name in ("first", "last", "any_value", "arbitrary") for c in EVERYTHING),
    "first(n ORDER BY i, n)",
    "first(n ORDER BY i DESC NULLS FIRST, n)",
    "first(i ORDER BY n) FILTER (WHERE n > 3)",
    "last(n ORDER BY x, n)",
    "first(n ORDER BY x DESC, n)",
    "any_value(i ORDER BY s, n)",
    *(
        f"{name}({pair} ORDER BY n)"
        for name in ("arg_min", "max_by")
        for pair in ("n, i", "n, x", "s, d", "i, s", "f, day", "NULL, i", "i, t")
    ),
    *(f"{name}({c})" for name in ("bit_and", "bit_or", "bit_xor") for c in ("i", "u", "b")),
    "bit_xor(DISTINCT i)",
    "bool_and(t)",
    "bool_or(t)",
    "bool_and(i > 0) FILTER (WHERE f > 0)",
    "bool_or(NULL)",
    "count_if(t)",
    "countif(i > 1)",
    "product(f)",
    "product(d)",
    "fsum(d)",
    "favg(d)",
    "entropy(i)",
    "entropy(s)",
    "count(*)",
    "count(i)",
    "count(DISTINCT i)",
    "sum(i)",
    "avg(i)",
    "min(x)",
    "max(x)",
)

REFUSED_VALUES = (*(f"{name}(x)" for name in ONE), "corr(x, f)", "regr_r2(x, i)", "regr_slope(i, x)", "regr_syy(x, f)")
"""Of infinities and NaN."""
