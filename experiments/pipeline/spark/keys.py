"""Which rows break a key or a foreign key, found by Spark: for imports and analyses alike. NaN is NaN, and -0.0 is 0.0."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


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
