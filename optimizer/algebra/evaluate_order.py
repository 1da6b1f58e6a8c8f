"""Equality and order of SQL values, NULL apart: DuckDB's, where NaN equals itself and is above every other number.

Strings are ordered by code point (which is also the order of their UTF-8 bytes), FALSE is below TRUE, intervals compare
with months of 30 days and days of 24 hours, and 0.0 equals -0.0.
"""

import math
from typing import Any

import pyarrow as pa

_DAY = 86_400_000_000_000  # nanoseconds


def order_key(value: Any) -> Any:
    """A key that orders the non-NULL values of one type, equal exactly for values that SQL calls equal; hashable."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    if isinstance(value, pa.MonthDayNano):
        return (value.months * 30 + value.days) * _DAY + value.nanoseconds
    return value


def group_key(value: Any) -> Any:
    """`order_key` for grouping, DISTINCT and set operations, where NULL equals NULL: None is a key of its own."""
    return None if value is None else order_key(value)


def compare_values(a: Any, b: Any) -> int:
    """-1, 0 or 1 as `a` is below, equal to or above `b`; neither is NULL."""
    left, right = order_key(a), order_key(b)
    return int(left > right) - int(left < right)
