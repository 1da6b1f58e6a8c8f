"""Values of columns as text, for files of statistics: what `text` writes, `value` reads back exactly."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow.types as kinds

from optimizer.algebra.columns import DataType


def text(value: Any) -> str:
    """A value as its column's type gives it to Python."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime.date):
        return value.isoformat()
    return repr(value) if isinstance(value, float) else str(value)


def reader(type: DataType) -> Callable[[str], Any]:
    """What reads values of a type; it raises ValueError (ArithmeticError for decimals) for texts that are none, and for every
    text where the type is opaque."""
    for test, read in _READERS:
        if test(type):
            return read
    return _no_value


def _no_value(value: str) -> Any:
    raise ValueError(f"no values of an opaque type are kept: {value[:50]}")


def _boolean(value: str) -> bool:
    return {"True": True, "False": False}[value]


_READERS: tuple[tuple[Callable[[DataType], bool], Callable[[str], Any]], ...] = (
    (kinds.is_boolean, _boolean),
    (kinds.is_integer, int),
    (kinds.is_floating, float),
    (kinds.is_decimal, Decimal),
    (kinds.is_date, datetime.date.fromisoformat),
    (kinds.is_timestamp, datetime.datetime.fromisoformat),
    (kinds.is_string, str),
    (kinds.is_binary, base64.b64decode),
)
