"""The Arrow types a column may have: one canonical type for each SQL type, whatever encoding the files use.

    int8 … int64, float, double, decimal128, bool, string, binary, date32, timestamp[us] without zone

Unsigned integers become the next wider type, so that every value fits. Timestamps with a zone become those of the same moments
in UTC. All other types stay as they are: such a column is opaque (`algebra/types.py`).
"""

import pyarrow as pa
import pyarrow.types as kinds

from optimizer.algebra.columns import DataType
from optimizer.algebra.types import HUGEINT, is_opaque

_WIDER = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): HUGEINT}


def canonical_type(stored: DataType) -> DataType:
    """The canonical type that holds every value of `stored`; `stored` itself when there is none (lists, structs, times …).

    Timestamps of another unit become microseconds; reading one that has no such value (nanoseconds) fails then. A column of
    which that is known keeps its type.
    """
    if isinstance(stored, pa.BaseExtensionType):
        return stored
    if kinds.is_dictionary(stored):
        return canonical_type(stored.value_type)
    if stored in _WIDER:
        return _WIDER[stored]
    if kinds.is_signed_integer(stored) or kinds.is_float32(stored) or kinds.is_float64(stored) or kinds.is_boolean(stored):
        return stored
    if kinds.is_float16(stored):
        return pa.float32()
    if kinds.is_decimal(stored) and stored.precision <= 38 and stored.scale >= 0:
        return pa.decimal128(stored.precision, stored.scale)
    if kinds.is_string(stored) or kinds.is_large_string(stored) or kinds.is_string_view(stored):
        return pa.string()
    if any(test(stored) for test in (kinds.is_binary, kinds.is_large_binary, kinds.is_binary_view, kinds.is_fixed_size_binary)):
        return pa.binary()
    if kinds.is_date(stored):
        return pa.date32()
    if kinds.is_timestamp(stored):
        return pa.timestamp("us")
    if kinds.is_null(stored):
        return pa.int32()  # nothing but NULLs
    return stored


def is_nanoseconds(stored: DataType) -> bool:
    return bool(kinds.is_timestamp(stored) and stored.unit == "ns")


def type_family(type: DataType) -> str:
    """Which kind of SQL type a canonical type is: a declaration fits a file when the families are the same."""
    for family, test in _FAMILIES:
        if test(type):
            return family
    return str(type)


_FAMILIES = (
    ("integer", kinds.is_integer), ("decimal", kinds.is_decimal), ("floating point", kinds.is_floating),
    ("boolean", kinds.is_boolean), ("string", kinds.is_string), ("binary", kinds.is_binary), ("date", kinds.is_date),
    ("timestamp", kinds.is_timestamp),
)  # fmt: skip


def fixed_width(type: DataType) -> float | None:
    """Bytes a value of a canonical type takes in memory, without its validity bit; None where they differ, as of strings."""
    if kinds.is_string(type) or kinds.is_binary(type) or is_opaque(type):
        return None
    return float(type.bit_width) / 8
