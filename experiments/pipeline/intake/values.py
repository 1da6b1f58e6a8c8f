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
from optimizer.algebra.types import FALSE_TEXTS, TRUE_TEXTS, is_float, is_integer, is_numeric, is_opaque
from optimizer.catalog.types import canonical_type, type_family

NO_TEXT = "bytes that are no text in this encoding"
_BLANK = r"' \t\r\n'"
_INTEGER = "^[+-]?[0-9]+$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_NO_NUMBER = "^([+-]?(?i:inf|infinity)|(?i:nan))$"
_INFINITE = "CAST('Infinity' AS double)"
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[ T][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6}0*)?)?)?"
_LOCAL = f"^{_DATE}({_TIME})?$"
_ZONED = f"^{_DATE}{_TIME}(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)$"


def stored_type(type: DataType) -> DataType:
    """The canonical type of what Spark reads of a stored type; timestamps, UBIGINT, columns of NULLs and what it does not read
    stay."""
    return type if kinds.is_timestamp(type) or type in (pa.null(), pa.uint64(), pa.float16()) else canonical_type(type)


def read_type(stored: DataType) -> str | None:
    """As what Spark reads a type of `stored_type`, NULLs as texts; None: it does not, or planscope does not."""
    if kinds.is_timestamp(stored):
        return "bigint" if stored.unit == "ns" else "timestamp_ntz" if stored.tz is None else "timestamp"
    if kinds.is_null(stored):
        return "string"
    if kinds.is_uint64(stored):
        return "decimal(20,0)"
    return None if is_opaque(stored) else _spark_type(stored)


def can_become(stored: DataType, type: DataType) -> bool:
    """Whether values stored as `stored` may be declared as the canonical `type`; single values may still not fit."""
    if read_type(stored) is None or kinds.is_string(type) or kinds.is_null(stored):
        return read_type(stored) is not None
    if kinds.is_string(stored):
        return not kinds.is_binary(type)
    return (is_numeric(stored) and is_numeric(type)) or type_family(stored) == type_family(type)


def _spark_type(type: DataType) -> str:
    """Spark's name of a canonical type."""
    name: str = from_arrow_type(type, prefer_timestamp_ntz=True).simpleString()
    return name


def converted(value: str, stored: DataType | None, type: DataType) -> str:
    """`value`, a text (`stored` is None) or stored with a type, as `type`, which is canonical; NULL where that fails."""
    if stored is None or kinds.is_string(stored):
        whole = kinds.is_string(type) or kinds.is_binary(type)
        return f"CAST({value} AS {_spark_type(type)})" if whole else _from_text(trimmed(value), type)
    return _from_stored(value, stored, type)


def _from_text(text: str, type: DataType) -> str:
    to = _spark_type(type)
    cast = f"try_cast({text} AS {to})"
    if kinds.is_boolean(type):
        return f"CASE WHEN lower({text}) IN {TRUE_TEXTS} THEN true WHEN lower({text}) IN {FALSE_TEXTS} THEN false END"
    if kinds.is_integer(type):
        return _if(_is(text, _INTEGER), cast)
    if kinds.is_floating(type):
        within = f"abs({cast}) < {_INFINITE}"  # nothing beyond the type's range
        return f"CASE WHEN {_is(text, _NUMBER)} THEN {_if(within, cast)} WHEN {_is(text, _NO_NUMBER)} THEN {cast} END"
    if kinds.is_decimal(type):
        return _decimal(text, type)
    if kinds.is_date(type):
        return _if(_is(text, f"^{_DATE}$"), cast)
    whole = text  # Spark wants minutes and seconds before a zone
    for part in (r"[ T][0-9]{2}", "[ T][0-9]{2}:[0-9]{2}"):
        whole = f"regexp_replace({whole}, r'({part})([-+Z])', '$1:00$2')"
    utc = f"CAST(try_cast({whole} AS timestamp) AS timestamp_ntz)"
    return f"CASE WHEN {_is(text, _LOCAL)} THEN {cast} WHEN {_is(text, _ZONED)} THEN {utc} END"


def _decimal(text: str, type: DataType) -> str:
    number, scale = f"try_cast({text} AS {_spark_type(type)})", type.scale
    plain = _is(text, rf"^[+-]?([0-9]+([.][0-9]{{0,{scale}}}0*)?|[.][0-9]{{1,{max(1, scale)}}}0*)$")
    most = 38 - (type.precision - scale)  # digits after the point that fit beside as many before it
    if most <= scale:
        return _if(plain, number)
    shift = f"try_cast(regexp_extract({text}, '[eE](.*)', 1) AS int)"
    few = f"length(regexp_extract({text}, '[.]([0-9]*)', 1)) - {shift} <= {most}"
    exact = f"{_is(text, _NUMBER)} AND {few} AND {number} = try_cast({text} AS decimal(38,{most}))"
    return f"CASE WHEN {plain} THEN {number} WHEN {exact} THEN {number} END"


def _is(text: str, form: str) -> str:
    return f"{text} RLIKE r'{form}'"


def _if(condition: str, value: str) -> str:
    return f"CASE WHEN {condition} THEN {value} END"


def _from_stored(value: str, stored: DataType, type: DataType) -> str:
    to = _spark_type(type)
    there = f"try_cast({value} AS {to})"
    if kinds.is_timestamp(stored) and stored.unit == "ns":  # read as a count of nanoseconds
        return _if(f"pmod({value}, 1000) = 0", f"CAST(timestamp_micros(({value} - pmod({value}, 1000)) div 1000) AS {to})")
    if kinds.is_binary(stored) and kinds.is_string(type):
        return _if(f"is_valid_utf8(CAST({value} AS string))", f"CAST({value} AS string)")
    if is_numeric(stored) and is_numeric(type) and not (is_float(type) and not is_integer(stored)):
        return _if(f"try_cast({there} AS {read_type(stored)}) = {value}", there)
    if kinds.is_float32(type) and kinds.is_float64(stored):
        return _if(f"abs({there}) < {_INFINITE} OR NOT abs({value}) < {_INFINITE}", there)
    return there


# what values may be, a bit each, the narrowest type first; NESTED: an object or an array
_INT, _LONG, _TRUTH, _DAY, _MOMENT, _UTC, FLOAT, NESTED = (1 << i for i in range(8))
_TYPES = {
    _INT: pa.int64(), _LONG: pa.decimal128(38, 0), _TRUTH: pa.bool_(), _DAY: pa.date32(), _MOMENT: pa.timestamp("us"),
    _UTC: pa.timestamp("us"), FLOAT: pa.float64(),
}  # fmt: skip
TIMES = _DAY | _MOMENT | _UTC


def possible(text: str) -> str:
    """Which of the types a text may have, as bits; NULL for NULL. A column may have what all its texts may: `bit_and`. `text`
    is without blanks around it. A number of 17 digits or more before its point is no DOUBLE, which might not hold it."""

    def fits(type: DataType, found: int) -> str:
        return f"if({_from_text(text, type)} IS NOT NULL, {found}, 0)"

    whole = f"if(try_cast({text} AS bigint) IS NOT NULL, {_INT | _LONG}, {fits(_TYPES[_LONG], _LONG)})"
    cases = [  # what is common comes first
        (f"{text} IS NULL", "NULL"),
        (_is(text, "^-?(0|[1-9][0-9]{0,15})$"), str(_INT | _LONG | FLOAT)),
        (f"{text} >= ':' AND NOT {_is(text, '^(?i:true|false|inf|infinity|nan)$')}", "0"),
        (_is(text, "^-?(0|[1-9][0-9]{0,14})[.][0-9]{1,15}$"), str(FLOAT)),
        (_is(text, f"^{_DATE}$"), f"if(try_cast({text} AS date) IS NOT NULL, {_DAY | _MOMENT}, 0)"),
        (_is(text, "^([+]|-?0[0-9]+([.eE]|$))"), "0"),  # 00501 and +49 are codes
        (_is(text, _INTEGER), whole),
        (_is(text, "^(?i:true|false)$"), str(_TRUTH)),
        (_is(text, f"^{_DATE}"), f"if({_is(text, _LOCAL)}, {_MOMENT}, {_UTC}) & {fits(_TYPES[_UTC], _MOMENT | _UTC)}"),
        (_is(text, "^-?[0-9]{17}"), "0"),
    ]
    listed = " ".join(f"WHEN {condition} THEN {found}" for condition, found in cases)
    return f"CASE {listed} ELSE {fits(_TYPES[FLOAT], FLOAT)} END"


def trimmed(text: str) -> str:
    return f"btrim({text}, {_BLANK})"


def type_of(mask: int | None) -> DataType:
    """The narrowest type of a mask; VARCHAR when there is none, or no value."""
    return next((type for bit, type in _TYPES.items() if (mask or 0) & bit), pa.string())


def literal(text: str | None) -> str:
    """A text in Spark SQL."""
    return "CAST(NULL AS string)" if text is None else "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quoted(name: str) -> str:
    """A name in Spark SQL."""
    return "`" + name.replace("`", "``") + "`"
