"""Rows summed up, as reports need it."""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from statistics import median
from typing import TypeVar

from experiments.bench.experiment import Row

Key = TypeVar("Key", bound=Hashable)


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """The rows by key, keys in the order in which they first appear."""
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Of the values that are there and above 0; None without any."""
    logs = [math.log(value) for value in values if value]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def shares(values: Sequence[float | None]) -> list[tuple[float, float]]:
    """(value, the share of all that are at most this), in order; a value that is None is larger than any."""
    return [(value, place / len(values)) for place, value in enumerate(sorted(v for v in values if v is not None), 1)]


def median_of(rows: Sequence[Row], name: str) -> float | None:
    """The median of a column, None without values."""
    values = [row[name] for row in rows if row.get(name) is not None]
    return median(values) if values else None
