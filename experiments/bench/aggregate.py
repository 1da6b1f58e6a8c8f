"""Rows of results put together, for reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from experiments.bench.experiment import Row


def by(rows: Iterable[Row], *columns: str) -> list[tuple[tuple[Any, ...], list[Row]]]:
    """Rows with equal values in these columns together, in the order in which the values first appear."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[column] for column in columns), []).append(row)
    return list(found.items())


def geometric_mean(values: Sequence[float]) -> float:
    """Of one or more positive values."""
    return math.exp(sum(map(math.log, values)) / len(values))


def table(rows: Sequence[Row]) -> pa.Table:
    """All rows have the columns of the first."""
    return pa.Table.from_pylist(list(rows))
