"""Values of a source as values of a column's type, each one exactly or not at all: expressions of Spark SQL, as text.

A text has to have the form that a type asks for, and the cast has to succeed: Spark's own casts round decimals, cut what is
beyond microseconds and take 2020-1-5 for a date, and here such values fail. Stored values are cast there and back. Blanks around
anything but texts do not count. A time with a zone becomes UTC.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as kinds
from pyspark.sql.pandas.types import from_arrow_type

from optimizer.algebra.columns import DataType

_BLANK = r"' \t\r\n'"
_INTEGER = r"^[+-]?[0-9]+$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_NO_NUMBER = r"^([+-]?(?i:inf|infinity)|(?i:nan))$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_LOCAL = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6}0*)?)?)?$"
_ZONED = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6}0*)?)?([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)$"
_TRUE = "'true', 't', 'yes', 'y', 'on', '1'"
_FALSE = "'false', 'f', 'no', 'n', 'off', '0'"

_UNSIGNED = {pa.uint8(): "smallint", pa.uint16(): "int", pa.uint32(): "bigint", pa.uint64(): "decimal(20,0)"}
_PLAIN = (kinds.is_signed_integer, kinds.is_float32, kinds.is_float64, kinds.is_boolean, kinds.is_date32)


def _spark_type(type: DataType) -> str:
    """Spark's name of a canonical type."""
    name: str = from_arrow_type(type, prefer_timestamp_ntz=True).simpleString()
    return name


def converted(value: str, stored: DataType | None, type: DataType) -> str:
    """`value`, a text (`stored` is None) or stored with a type, as `type`, which is canonical; NULL where that fails."""
    if stored is not None and kinds.is_dictionary(stored):
        return converted(value, stored.value_type, type)
    if stored is None or is_text(stored):
        return value if kinds.is_string(type) else _from_text(trimmed(value), type)
    return _from_stored(value, stored, type)


def _from_text(text: str, type: DataType) -> str:
    to = _spark_type(type)
    cast = f"try_cast({text} AS {to})"
    if kinds.is_binary(type):
        return f"CAST({text} AS binary)"
    if kinds.is_boolean(type):
        return f"CASE WHEN lower({text}) IN ({_TRUE}) THEN true WHEN lower({text}) IN ({_FALSE}) THEN false END"
    if kinds.is_integer(type):
        return _if(_is(text, _INTEGER), cast)
    if kinds.is_floating(type):
        within = f"abs({cast}) < CAST('Infinity' AS double)"  # nothing beyond the type's range
        return f"CASE WHEN {_is(text, _NUMBER)} THEN {_if(within, cast)} WHEN {_is(text, _NO_NUMBER)} THEN {cast} END"
    if kinds.is_decimal(type):
        return _decimal(text, type)
    if kinds.is_date(type):
        return _if(_is(text, _DATE), cast)
    cut = f"regexp_replace({text}, r'([.][0-9]{{6}})0+', '$1')"
    seconds = f"regexp_replace(upper({cut}), r'([ T][0-9]{{2}}:[0-9]{{2}})([-+Z])', '$1:00$2')"
    hours = f"regexp_replace({seconds}, r'([+-][0-9]{{2}})$', '$1:00')"
    zoned = f"regexp_replace({hours}, r'([+-][0-9]{{2}})([0-9]{{2}})$', '$1:$2')"
    utc = f"CAST(try_cast({zoned} AS timestamp) AS timestamp_ntz)"
    return f"CASE WHEN {_is(text, _LOCAL)} THEN try_cast({cut} AS {to}) WHEN {_is(text, _ZONED)} THEN {utc} END"


def _decimal(text: str, type: DataType) -> str:
    number, scale = f"try_cast({text} AS {_spark_type(type)})", type.scale
    plain = _is(text, rf"^[+-]?([0-9]+([.][0-9]{{0,{scale}}}0*)?|[.][0-9]{{1,{max(1, scale)}}}0*)$")
    most = 38 - (type.precision - scale)  # digits after the point that fit beside as many before it
    if most <= scale:
        return _if(plain, number)
    exact = f"{_is(text, _NUMBER)} AND length({text}) < 38 AND {number} = try_cast({text} AS decimal(38,{most}))"
    return f"CASE WHEN {plain} THEN {number} WHEN {text} RLIKE '[eE]' AND {exact} THEN {number} END"


def _is(text: str, form: str) -> str:
    return f"{text} RLIKE r'{form}'"


def _if(condition: str, value: str) -> str:
    return f"CASE WHEN {condition} THEN {value} END"


def _from_stored(value: str, stored: DataType, type: DataType) -> str:
    to = _spark_type(type)
    there = f"try_cast({value} AS {to})"
    if kinds.is_timestamp(stored) and stored.unit == "ns" and kinds.is_timestamp(type):  # read as a count of nanoseconds
        return _if(f"pmod({value}, 1000) = 0", f"CAST(timestamp_micros(({value} - pmod({value}, 1000)) div 1000) AS {to})")
    if is_bytes(stored) and kinds.is_string(type):
        return _if(f"is_valid_utf8(CAST({value} AS string))", f"CAST({value} AS string)")
    if _is_number(stored) and _is_number(type) and not (kinds.is_floating(type) and not kinds.is_integer(stored)):
        return _if(f"try_cast({there} AS {read_type(stored)}) = {value}", there)
    return there


def read_type(stored: DataType) -> str | None:
    """As what Spark reads a stored type, NULLs as texts; None: it does not."""
    if kinds.is_dictionary(stored):
        return read_type(stored.value_type)
    if kinds.is_decimal(stored):
        return _spark_type(stored) if stored.precision <= 38 else None
    if kinds.is_timestamp(stored):
        return "bigint" if stored.unit == "ns" else "timestamp_ntz" if stored.tz is None else "timestamp"
    if is_text(stored) or kinds.is_null(stored):
        return "string"
    if is_bytes(stored):
        return "binary"
    return _spark_type(stored) if any(test(stored) for test in _PLAIN) else _UNSIGNED.get(stored)


def can_become(stored: DataType, type: DataType) -> bool:
    """Whether values stored as `stored` may be declared as the canonical `type`; single values may still not fit."""
    if kinds.is_dictionary(stored):
        return can_become(stored.value_type, type)
    if read_type(stored) is None:
        return False
    if kinds.is_string(type) or kinds.is_null(stored):
        return True
    if is_text(stored):
        return not kinds.is_binary(type)
    groups = (_is_number, kinds.is_boolean, kinds.is_date, kinds.is_timestamp, is_bytes)
    return any(test(stored) and test(type) for test in groups)


def is_text(type: DataType) -> bool:
    return bool(kinds.is_string(type) or kinds.is_large_string(type) or kinds.is_string_view(type))


def is_bytes(type: DataType) -> bool:
    tests = (kinds.is_binary, kinds.is_large_binary, kinds.is_fixed_size_binary, kinds.is_binary_view)
    return any(test(type) for test in tests)


def _is_number(type: DataType) -> bool:
    return bool(kinds.is_integer(type) or kinds.is_floating(type) or kinds.is_decimal(type))


# what texts may be, a bit each, the narrowest type first
_BITS: tuple[tuple[str, DataType], ...] = (
    ("integer", pa.int64()),
    ("long integer", pa.decimal128(38, 0)),
    ("truth", pa.bool_()),
    ("date", pa.date32()),
    ("time", pa.timestamp("us")),
    ("time with zone", pa.timestamp("us")),
    ("number", pa.float64()),
)
TIMES = ("date", "time", "time with zone")


def possible(text: str) -> str:
    """Which of the types a text may have, as bits; NULL for NULL. A column may have what all its texts may: `bit_and`.

    `text` is without blanks around it. A whole number of 17 digits or more is no DOUBLE, which might not hold it.
    """
    short, long = bits("integer", "long integer", "number"), bits("integer", "long integer")

    def fits(type: DataType, found: int) -> str:
        return f"CASE WHEN {_from_text(text, type)} IS NOT NULL THEN {found} ELSE 0 END"

    cases = [  # what is common comes first
        (f"{text} IS NULL", "NULL"),
        (_is(text, "^[+-]?[0-9]{1,16}$"), str(short)),
        (f"NOT {_is(text, '^[-+.0-9tTfFiInN]')}", "0"),
        (_is(text, "^[+-]?[0-9]{1,15}[.][0-9]{1,15}$"), str(bits("number"))),
        (_is(text, _DATE), fits(pa.date32(), bits("date", "time"))),
        (_is(text, _LOCAL), fits(pa.timestamp("us"), bits("time"))),
        (f"{_is(text, _INTEGER)} AND try_cast({text} AS bigint) IS NOT NULL", str(long)),
        (_is(text, _INTEGER), fits(pa.decimal128(38, 0), bits("long integer"))),
        (_is(text, _NUMBER), fits(pa.float64(), bits("number"))),
        (f"lower({text}) IN ('true', 'false')", str(bits("truth"))),
        (_is(text, _ZONED), fits(pa.timestamp("us"), bits("time with zone"))),
    ]
    listed = " ".join(f"WHEN {condition} THEN {found}" for condition, found in cases)
    return f"CASE {listed} ELSE {fits(pa.float64(), bits('number'))} END"


def trimmed(text: str) -> str:
    return f"btrim({text}, {_BLANK})"


def bits(*names: str) -> int:
    return sum(1 << i for i, (name, _) in enumerate(_BITS) if name in names)


def type_of(mask: int | None, among: int = -1) -> DataType:
    """The narrowest type of a mask that is among others; VARCHAR when there is none, or no value."""
    return next((type for i, (_, type) in enumerate(_BITS) if mask is not None and mask & among & 1 << i), pa.string())


def literal(text: str | None) -> str:
    """A text in Spark SQL."""
    return "CAST(NULL AS string)" if text is None else "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quoted(name: str) -> str:
    """A name in Spark SQL."""
    return "`" + name.replace("`", "``") + "`"
