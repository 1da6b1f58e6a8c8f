"""Comparisons of equally typed values, NULL if a side is NULL.

Floats compare as in DuckDB: NaN equals itself and is above every other number. IEEE comparisons are FALSE there, so they
are corrected, unless a literal shows that NaN cannot change the answer.
"""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.decimals import low_words, validity_of
from executor.arrow.distinct import Value
from executor.arrow.intervals import comparable
from executor.arrow.selection import mask_of
from optimizer.algebra.columns import DataType

KERNELS = {"=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}
_OF_WORDS: dict[str, np.ufunc] = dict(
    zip(KERNELS, (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal), strict=True)
)


def compare(function: str, a: Value, b: Value) -> Value:
    """`function` is one of =, <>, <, <=, >, >=."""
    if pa.types.is_null(a.type):
        return pc.cast(a, pa.bool_())
    if pa.types.is_interval(a.type):
        a, b = _as_numbers(a), _as_numbers(b)
    if not pa.types.is_floating(a.type):
        made = _by_words(function, a, b)
        return KERNELS[function](a, b) if made is None else made
    match function:
        case "=":
            return _equal(a, b)
        case "<>":
            return pc.invert(_equal(a, b))
        case "<":
            return _less(a, b)
        case ">":
            return _less(b, a)
        case "<=":
            return pc.invert(_less(b, a))
    return pc.invert(_less(a, b))


def plain_value(value: pa.Scalar) -> Any:
    """What compares as the value does, None for NULL: of dates and timestamps the stored number, as Python has no far ones."""
    t = pa.types
    return value.value if t.is_date32(value.type) or t.is_timestamp(value.type) else value.as_py()


def distinct_from(a: Value, b: Value) -> Value:
    """TRUE where the values differ, NULL being a value of its own; never NULL."""
    differ = pc.fill_null(compare("<>", a, b), False)
    return pc.or_(differ, pc.xor(pc.is_null(a), pc.is_null(b)))


def normalized(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Floats that SQL calls equal become one bit pattern (no -0.0, one NaN), as hashing needs; others pass."""
    if not pa.types.is_floating(array.type):
        return array
    array = pc.add(array, pa.scalar(0.0, array.type))
    is_nan = pc.is_nan(array)
    return pc.if_else(is_nan, pa.scalar(math.nan, array.type), array) if pc.any(is_nan).as_py() else array


def _by_words(function: str, a: Value, b: Value) -> pa.Array | None:
    """The same of integers, and of what is stored as such, in a quarter of the time of Arrow's kernels; None for other values."""
    t, type = pa.types, a.type
    if a.type != b.type or not (_is_small(type) or t.is_integer(type) or t.is_date32(type) or t.is_timestamp(type)):
        return None
    arrays = [value for value in (a, b) if isinstance(value, pa.Array)]
    if not arrays or not all(isinstance(value, pa.Array) or value.is_valid for value in (a, b)):
        return None
    bits = mask_of(_OF_WORDS[function](_words(a), _words(b))).buffers()[1]
    return pa.Array.from_buffers(pa.bool_(), len(arrays[0]), [validity_of(*arrays), bits])


def _is_small(type: DataType) -> bool:
    return bool(pa.types.is_decimal128(type) and type.precision <= 18)


def _words(value: Value) -> np.ndarray | int:
    type = value.type
    if isinstance(value, pa.Array):
        return stored_words(value)
    if _is_small(type):
        return int(value.as_py().scaleb(type.scale))
    return value.as_py() if pa.types.is_integer(type) else value.value


def stored_words(array: pa.Array) -> np.ndarray:
    """Integers, and what is stored as such, as they are stored: nothing is copied. Anything for NULL."""
    type = array.type
    if pa.types.is_decimal128(type):
        return low_words(array)
    kind = np.dtype(f"{'u' if pa.types.is_unsigned_integer(type) else 'i'}{type.bit_width // 8}")
    return np.frombuffer(array.buffers()[1], kind)[array.offset : array.offset + len(array)] if len(array) else np.empty(0, kind)


def _as_numbers(value: Value) -> Value:
    return comparable(pa.array([value.as_py()], value.type))[0] if isinstance(value, pa.Scalar) else comparable(value)


def _never_nan(value: Value) -> bool:
    return isinstance(value, pa.Scalar) and (not value.is_valid or not math.isnan(value.as_py()))


def _equal(a: Value, b: Value) -> Value:
    plain = pc.equal(a, b)
    return plain if _never_nan(a) or _never_nan(b) else pc.or_(plain, pc.and_(pc.is_nan(a), pc.is_nan(b)))


def _less(a: Value, b: Value) -> Value:
    plain = pc.less(a, b)
    if _never_nan(b):
        return plain
    if _never_nan(a):
        return pc.or_(plain, pc.and_(pc.is_nan(b), pc.is_valid(a)))
    return pc.or_(plain, pc.and_(pc.invert(pc.is_nan(a)), pc.is_nan(b)))
