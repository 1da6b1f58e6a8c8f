"""Values of a column as numbers, so that a histogram can be drawn along a line."""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

_DAY = datetime.timedelta(days=1)
_EPOCH = datetime.datetime(1970, 1, 1)


def is_discrete(value: Any) -> bool:
    """Whether values like this one have a next one: whole numbers, dates, truth values."""
    return isinstance(value, int) or (isinstance(value, datetime.date) and not isinstance(value, datetime.datetime))


def positions(values: Iterable[Any]) -> Callable[[Any], float] | None:
    """A function that keeps the order of values like these and, where the type has distances, the distances in proportion.

    Whole numbers and dates are one apart. Texts lie as their bytes read as digits after what all `values` begin with.
    Infinities stand at the ends, NaN at the upper one. None when no value has a place on a line.
    """
    values = list(values)
    if not values:
        return None
    first = values[0]
    if isinstance(first, bytes | str):
        return _text_positions([_bytes(value) for value in values])
    if isinstance(first, datetime.datetime):
        return lambda value: (value - _EPOCH) / _DAY
    if isinstance(first, datetime.date):
        return lambda value: float(value.toordinal())
    if isinstance(first, int | float | Decimal):
        return _number_positions([float(value) for value in values if math.isfinite(value)])
    return None


def _number_positions(finite: list[float]) -> Callable[[Any], float] | None:
    if not finite:
        return None
    low, high = min(finite), max(finite)
    return lambda value: high if math.isnan(value) else min(max(float(value), low), high)


def _text_positions(texts: list[bytes]) -> Callable[[Any], float]:
    """The digits are the bytes that occur, so that no gap in the alphabet takes room."""
    low, high = min(texts), max(texts)
    common = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    used = sorted({byte for text in texts for byte in text[common : common + 8]})
    base = len(used) + 1  # 0 stands for the end of a text

    def position(value: Any) -> float:
        digits = _bytes(value)[common : common + 8]
        return math.fsum((bisect_left(used, byte) + 1) / base ** (i + 1) for i, byte in enumerate(digits))

    return position


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
