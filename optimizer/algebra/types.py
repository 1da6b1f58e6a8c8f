"""Type rules over Arrow types: which type two operands meet in, and what arithmetic and aggregates return.

They are DuckDB's rules in Arrow's types. DuckDB's 128-bit HUGEINT is `decimal128(38, 0)` here. None means that no common
type exists; the caller words the error. String literals and integer literals bend to the other side before these rules
are asked (`optimizer/sql/coerce.py`).
"""

from collections.abc import Callable, Iterable
from itertools import product

import pyarrow as pa

from optimizer.algebra.columns import DataType

BOOLEAN, STRING, DATE, TIMESTAMP = pa.bool_(), pa.string(), pa.date32(), pa.timestamp("us")
INT32, INT64, FLOAT, DOUBLE = pa.int32(), pa.int64(), pa.float32(), pa.float64()
INT8, UINT32, UINT64 = pa.int8(), pa.uint32(), pa.uint64()
NULL, INTERVAL = pa.null(), pa.month_day_nano_interval()
HUGEINT = pa.decimal128(38, 0)

TRUE_TEXTS, FALSE_TEXTS = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")  # where BOOLEAN is declared, in any case


def arrow_truth(true: Iterable[str] = TRUE_TEXTS, false: Iterable[str] = FALSE_TEXTS) -> dict[str, list[str]]:
    """These texts, in any case, as options of Arrow's reader of CSV."""
    return {
        f"{word}_values": ["".join(spelled) for text in texts for spelled in product(*({c, c.upper()} for c in text))]
        for word, texts in (("true", true), ("false", false))
    }


ARROW_TRUTH = arrow_truth()

MAX_PRECISION = 38
_NARROW_PRECISION = 18  # decimals that fit 64 bits stay there: arithmetic raises on overflow rather than widening

_NAMES = {
    pa.null(): "NULL", pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INTEGER",
    pa.int64(): "BIGINT", pa.uint8(): "UTINYINT", pa.uint16(): "USMALLINT", pa.uint32(): "UINTEGER", pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.string(): "VARCHAR", pa.large_string(): "VARCHAR", pa.date32(): "DATE",
    pa.binary(): "BLOB", pa.month_day_nano_interval(): "INTERVAL",
}  # fmt: skip
_SIMPLE = frozenset(type.id for type in _NAMES)  # none of them has parameters; to hash a type takes longer
_DIGITS = {8: 3, 16: 5, 32: 10}  # decimal digits of an integer of that many bits


def type_name(type: DataType) -> str:
    """The SQL name of a type, for messages."""
    if pa.types.is_decimal(type):
        return f"DECIMAL({type.precision},{type.scale})"
    if pa.types.is_timestamp(type):
        return "TIMESTAMP WITH TIME ZONE" if type.tz is not None else "TIMESTAMP" if is_timestamp(type) else "TIMESTAMP_NS"
    if pa.types.is_time(type):
        return "TIME"
    if pa.types.is_map(type):
        return "MAP"
    if pa.types.is_struct(type):
        return "STRUCT"
    if is_opaque(type) and hasattr(type, "value_type"):
        return f"{type_name(type.value_type)}[]"
    if isinstance(type, pa.BaseExtensionType):
        return str(type.extension_name).removeprefix("arrow.").upper()
    return _NAMES.get(type, str(type).upper())


def is_opaque(type: DataType) -> bool:
    """Whether values of the type are only passed on: nothing is computed of them, they are not compared, sorted or grouped."""
    if type.id in _SIMPLE:
        return bool(type == INTERVAL)
    return not (is_timestamp(type) or pa.types.is_date(type) or (pa.types.is_decimal128(type) and type.scale >= 0))


is_integer: Callable[[DataType], bool] = pa.types.is_integer
is_decimal: Callable[[DataType], bool] = pa.types.is_decimal
is_float: Callable[[DataType], bool] = pa.types.is_floating
is_date: Callable[[DataType], bool] = pa.types.is_date


def is_exact(type: DataType) -> bool:
    return is_integer(type) or is_decimal(type)


def is_numeric(type: DataType) -> bool:
    return is_integer(type) or is_decimal(type) or is_float(type)


def is_string(type: DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type))


def is_timestamp(type: DataType) -> bool:
    """A timestamp without time zone, but for one that counts nanoseconds."""
    return bool(pa.types.is_timestamp(type) and type.tz is None and type.unit != "ns")


def integer_digits(type: DataType) -> int:
    """The decimal digits that hold every value of an integer type."""
    if type.bit_width == 64:
        return 19 if pa.types.is_signed_integer(type) else 20
    return _DIGITS[type.bit_width]


def decimal_of(type: DataType) -> DataType:
    """The decimal type that holds every value of an integer or decimal type."""
    return type if is_decimal(type) else pa.decimal128(integer_digits(type), 0)


def integer_range(type: DataType) -> tuple[int, int]:
    """The smallest and the largest value of an integer type."""
    if pa.types.is_signed_integer(type):
        return -(1 << type.bit_width - 1), (1 << type.bit_width - 1) - 1
    return 0, (1 << type.bit_width) - 1


def common_type(a: DataType, b: DataType) -> DataType | None:
    """The type in which values of `a` and `b` are compared, or returned from one CASE or COALESCE.

    Numbers go integer, decimal, FLOAT, DOUBLE; a date and a timestamp meet in the timestamp; NULL takes any type.
    """
    if a == b:
        return a
    for one, other in ((a, b), (b, a)):
        if pa.types.is_null(one) or (pa.types.is_boolean(one) and is_integer(other)) or (is_date(one) and is_timestamp(other)):
            return other
    if is_numeric(a) and is_numeric(b):
        return _common_number(a, b)
    if is_string(a) and is_string(b):
        return STRING
    if is_date(a) and is_date(b):
        return DATE
    if is_timestamp(a) and is_timestamp(b):
        units = ("s", "ms", "us", "ns")
        return a if units.index(a.unit) > units.index(b.unit) else b
    return None


def _common_number(a: DataType, b: DataType) -> DataType:
    if is_float(a) or is_float(b):
        # an exact number and a FLOAT meet in FLOAT, as in DuckDB
        return DOUBLE if DOUBLE in (a, b) else FLOAT
    if is_integer(a) and is_integer(b):
        return _common_integer(a, b)
    a, b = decimal_of(a), decimal_of(b)
    scale = max(a.scale, b.scale)
    whole = max(a.precision - a.scale, b.precision - b.scale)
    return pa.decimal128(min(whole + scale, MAX_PRECISION), scale)


def _common_integer(a: DataType, b: DataType) -> DataType:
    if pa.types.is_signed_integer(a) == pa.types.is_signed_integer(b):
        return a if a.bit_width >= b.bit_width else b
    signed, unsigned = (a, b) if pa.types.is_signed_integer(a) else (b, a)
    if signed.bit_width > unsigned.bit_width:
        return signed
    wider = {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}
    return wider.get(unsigned.bit_width, HUGEINT)


def arithmetic_type(function: str, a: DataType, b: DataType) -> DataType | None:
    """The result type of `a + b`, `a - b`, `a * b` or `a % b` of two numbers; None where an operand is no number or the
    product of two decimals would need more than 38 digits after the point."""
    if not (is_numeric(a) and is_numeric(b)):
        return None
    if is_float(a) or is_float(b):
        return _common_number(a, b)
    if is_integer(a) and is_integer(b):
        type = _common_integer(a, b)
        mixed = pa.types.is_signed_integer(a) != pa.types.is_signed_integer(b)
        return INT64 if mixed and type not in (a, b) and type != HUGEINT else type
    if function == "%":
        return _common_number(a, b)
    a, b = decimal_of(a), decimal_of(b)
    precision, scale = _digits(function, a, b)
    if scale > MAX_PRECISION:
        return None
    narrow = function != "*" or scale < _NARROW_PRECISION
    if precision > _NARROW_PRECISION and narrow and max(a.precision, b.precision) <= _NARROW_PRECISION:
        precision = _NARROW_PRECISION
    return pa.decimal128(min(precision, MAX_PRECISION), scale)


def _digits(function: str, a: DataType, b: DataType) -> tuple[int, int]:
    """The precision and the scale that every sum, difference or product of two decimals has room in."""
    if function == "*":
        return a.precision + b.precision, a.scale + b.scale
    scale = max(a.scale, b.scale)
    return max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale


def decimals_may_overflow(function: str, a: DataType, b: DataType, result: DataType) -> bool:
    """Whether `a + b`, `a - b` or `a * b` may not fit the decimal type that `arithmetic_type` gives it."""
    return bool(result.precision == MAX_PRECISION or _digits(function, decimal_of(a), decimal_of(b))[0] > result.precision)


def type_width(type: DataType) -> float:
    """Bytes of a value in memory; strings are taken as 16."""
    try:
        return float(max(1, type.bit_width // 8))
    except ValueError:
        return 16.0


def cast_may_fail(source: DataType, target: DataType) -> bool:
    """Whether some value of `source` has no counterpart in `target`."""
    t = pa.types
    if source == target or t.is_null(source) or t.is_string(target):
        return False
    if t.is_integer(source) and t.is_integer(target):
        return bool(source.bit_width > target.bit_width or t.is_signed_integer(source) != t.is_signed_integer(target))
    if (t.is_integer(source) or t.is_decimal(source)) and (t.is_floating(target) or t.is_boolean(target)):
        return False
    if t.is_integer(source) and t.is_decimal(target):
        largest = 1 << source.bit_width - t.is_signed_integer(source)
        return bool(len(str(largest)) > target.precision - target.scale)
    if t.is_decimal(source) and t.is_decimal(target):
        whole, room = source.precision - source.scale, target.precision - target.scale
        return bool(whole > room or (whole == room and source.scale > target.scale))  # 9.99 rounded has a digit more
    if t.is_boolean(source) and t.is_decimal(target):
        return bool(target.precision == target.scale)
    widens = t.is_float32(source) and t.is_float64(target)
    moments = (t.is_date32(source) and t.is_timestamp(target)) or (t.is_timestamp(source) and t.is_date32(target))
    return not (widens or moments or t.is_boolean(source))
