"""Which rows break a key or a foreign key, found by Spark: for imports and analyses alike. NaN is NaN, and -0.0 is 0.0.

That few rows break none is seen sooner here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def none_breaks(rows: pa.Table, others: pa.Table | None = None) -> bool:
    """Whether no two of `rows` are the same or, given `others` with as many columns, each without NULL is one of them.
    False proves nothing: only values of types that are equal just when they are the same are compared."""
    types, t = rows.schema.types, pa.types
    plain = (t.is_integer, t.is_string, t.is_date, t.is_timestamp)
    if not all(any(test(type) for test in plain) for type in types) or (others is not None and types != others.schema.types):
        return False
    if others is None:
        return bool(rows.group_by(rows.column_names).aggregate([]).num_rows == rows.num_rows)
    return bool(rows.drop_null().join(others, rows.column_names, others.column_names, join_type="left anti").num_rows == 0)


def repeated(rows: DataFrame, key: Sequence[str], *more: Column) -> DataFrame:
    """The values of `key` that several rows have, NULL being a value; their `count`; `more` aggregates."""
    from pyspark.sql import functions as f

    return rows.groupBy(*key).agg(f.count(f.lit(1)).alias("count"), *more).where("count > 1")


def dangling(rows: DataFrame, key: Sequence[str], others: DataFrame) -> DataFrame:
    """The rows without NULL in `key` whose values no row of `others` has in its columns of the same names."""
    return with_values(rows, key).join(others, list(key), "left_anti")


def with_values(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """The rows without NULL in `key`."""
    from pyspark.sql import functions as f

    return rows.where(reduce(lambda a, b: a & b, (f.col(name).isNotNull() for name in key)))
