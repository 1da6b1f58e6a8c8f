"""Values of columns as text, for files of statistics: what `text` writes, `value` reads back exactly."""

import base64
import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from optimizer.algebra.columns import DataType
from optimizer.catalog.types import type_family


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
    return _READERS.get(type_family(type), _no_value)


def _no_value(value: str) -> Any:
    raise ValueError(f"no values of an opaque type are kept: {value[:50]}")


_READERS: dict[str, Callable[[str], Any]] = {
    "boolean": {"True": True, "False": False}.__getitem__, "integer": int, "floating point": float, "decimal": Decimal,
    "date": datetime.date.fromisoformat, "timestamp": datetime.datetime.fromisoformat, "string": str, "binary": base64.b64decode,
}  # fmt: skip
