"""Which types can be cast to which, and what to say where a cast would be advice that is itself refused."""

import pyarrow as pa

from optimizer.algebra.columns import DataType
from optimizer.algebra.scalars import ColumnRef, Scalar
from optimizer.algebra.types import INTERVAL, is_date, is_numeric, is_opaque, is_string, is_timestamp

OPAQUE = "a column of this type can be selected, tested by IS NULL and counted; EXCLUDE leaves it out of *"
SECONDS = "EXTRACT(EPOCH FROM a - b) is a number"


def castable(source: DataType, target: DataType) -> bool:
    """Whether any value of `source` can be cast to `target`."""
    if source == target or pa.types.is_null(source) or is_string(source):
        return True
    if is_string(target):
        return not pa.types.is_nested(source) and source != INTERVAL
    numbers = is_numeric(source) or pa.types.is_boolean(source), is_numeric(target) or pa.types.is_boolean(target)
    moments = is_date(source) or is_timestamp(source), is_date(target) or is_timestamp(target)
    return all(numbers) or all(moments)


def cast_hint(scalar: Scalar, target: DataType, cast: str) -> str | None:
    """`cast`, the advice to cast, where a value of the scalar's type can be cast to `target`; else what can be done with it."""
    if scalar.type == INTERVAL and not isinstance(scalar, ColumnRef):
        return SECONDS
    if is_opaque(scalar.type):
        return OPAQUE
    return cast if castable(scalar.type, target) else None
