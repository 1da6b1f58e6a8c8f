"""Values of a source as values of a column's type, each one exactly or not at all.

Texts are read as DuckDB casts them, with these differences, so that nothing is changed on the way: a decimal with more digits
than its type has is refused rather than rounded, and so is a time with more than microseconds. Blanks around anything but
texts do not count. A time with a zone becomes UTC.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from optimizer.algebra.columns import DataType

Converted = tuple[pa.Array, np.ndarray]  # values, NULL where there are none or it failed; where it failed

_TRUE = pa.array(["true", "t", "yes", "y", "on", "1"])
_FALSE = pa.array(["false", "f", "no", "n", "off", "0"])
_INTEGER = r"^[+-]?[0-9]+$"
_INFINITE = r"(?i)^[+-]?inf(inity)?$"
_ZONE = r"[0-9:.]([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)$"
_SPARE_ZEROS = r"(\.[0-9]{6})0+([Zz]|[+-][0-9:]+)?$"


def from_text(texts: pa.Array, type: DataType) -> Converted:
    """`texts` (strings, NULLs allowed) as `type`, which is canonical."""
    if kinds.is_string(type) or kinds.is_binary(type):
        return texts.cast(type), np.zeros(len(texts), bool)
    texts = pc.utf8_trim(texts, " \t\r\n")
    if kinds.is_boolean(type):
        return _truths(texts)
    if kinds.is_integer(type):
        return _guarded(texts, _INTEGER, lambda t: pc.utf8_ltrim(t, "+").cast(type))
    if kinds.is_floating(type):
        return _floats(texts, type)
    if kinds.is_timestamp(type):
        return _times(texts)
    return one_by_one(texts, lambda t: t.cast(type))


def from_values(values: pa.Array, type: DataType) -> Converted:
    """Stored values as `type`, which is canonical and one of those that `can_become` allows."""
    if kinds.is_dictionary(values.type):
        values = values.dictionary_decode()
    if is_text(values.type) and not kinds.is_string(type):
        return from_text(values.cast(pa.string()), type)
    if kinds.is_timestamp(values.type) and kinds.is_timestamp(type):
        zone = values.type.tz
        return one_by_one(values, lambda v: v.cast(pa.timestamp("us", zone)).view(pa.int64()).view(pa.timestamp("us")))
    if kinds.is_binary(values.type) and kinds.is_string(type):
        return one_by_one(values, lambda v: _checked_utf8(v))
    return one_by_one(values, lambda v: v.cast(type))


def can_become(stored: DataType, type: DataType) -> bool:
    """Whether values stored as `stored` may be declared as the canonical `type`; single values may still not fit."""
    if kinds.is_dictionary(stored):
        return can_become(stored.value_type, type)
    if kinds.is_nested(stored):
        return False
    if kinds.is_string(type):
        return not kinds.is_duration(stored) and not kinds.is_interval(stored)
    if is_text(stored):
        return not kinds.is_binary(type)
    groups = (_is_number, kinds.is_boolean, kinds.is_date, kinds.is_timestamp, _is_bytes, kinds.is_null)
    return any(test(stored) and test(type) for test in groups) or kinds.is_null(stored)


def is_text(type: DataType) -> bool:
    return bool(kinds.is_string(type) or kinds.is_large_string(type) or kinds.is_string_view(type))


def one_by_one(values: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> Converted:
    """`convert` of all values for which it does not fail; halves what fails until the single values are found."""
    failed = np.zeros(len(values), bool)
    parts: list[pa.Array] = []
    waiting = [(0, values)]
    while waiting:
        start, piece = waiting.pop()
        try:
            parts.append(convert(piece))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError):
            if len(piece) == 1:
                failed[start] = True
                parts.append(None)
            else:
                middle = len(piece) // 2
                waiting += [(start + middle, piece[middle:]), (start, piece[:middle])]
    type = next((part.type for part in parts if part is not None), None)
    if type is None:
        type = convert(values[:0]).type
    return pa.concat_arrays([pa.nulls(1, type) if part is None else part for part in parts]), failed


def _guarded(texts: pa.Array, pattern: str, convert: Callable[[pa.Array], pa.Array]) -> Converted:
    """`convert` where the texts have this form."""
    wrong = pc.fill_null(pc.invert(pc.match_substring_regex(texts, pattern)), False)
    converted, failed = one_by_one(_without(texts, wrong), convert)
    return converted, failed | _mask(wrong)


def _truths(texts: pa.Array) -> Converted:
    lower = pc.utf8_lower(texts)
    true, false = pc.is_in(lower, _TRUE), pc.is_in(lower, _FALSE)
    known = pc.or_(true, false)
    return pc.if_else(known, true, pa.scalar(None, pa.bool_())), _mask(pc.and_(pc.invert(known), pc.is_valid(texts)))


def _floats(texts: pa.Array, type: DataType) -> Converted:
    numbers, failed = one_by_one(texts, lambda t: t.cast(type))
    infinite = pc.fill_null(pc.is_inf(numbers), False)
    if pc.any(infinite).as_py():  # a number beyond the type's range, unless the text says so
        failed |= _mask(pc.and_not(infinite, pc.fill_null(pc.match_substring_regex(texts, _INFINITE), False)))
    return _without(numbers, pa.array(failed)), failed


def _times(texts: pa.Array) -> Converted:
    texts = pc.replace_substring_regex(texts, _SPARE_ZEROS, r"\1\2")
    zoned = pc.fill_null(pc.match_substring_regex(texts, r":.*" + _ZONE), False)
    local, failed = one_by_one(_without(texts, zoned), lambda t: t.cast(pa.timestamp("us")))
    if pc.any(zoned).as_py():
        inside = _without(texts, pc.invert(zoned))
        utc, wrong = one_by_one(inside, lambda t: t.cast(pa.timestamp("us", "UTC")).view(pa.int64()).view(pa.timestamp("us")))
        return pc.if_else(zoned, utc, local), failed | wrong
    return local, failed


def _without(values: pa.Array, mask: pa.Array) -> pa.Array:
    return pc.if_else(mask, pa.scalar(None, values.type), values)


def _mask(values: pa.Array) -> np.ndarray:
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=bool).copy()


def _checked_utf8(values: pa.Array) -> pa.Array:
    texts = values.cast(pa.binary()).cast(pa.string())
    texts.validate(full=True)
    return texts


def _is_number(type: DataType) -> bool:
    return bool(kinds.is_integer(type) or kinds.is_floating(type) or kinds.is_decimal(type))


def _is_bytes(type: DataType) -> bool:
    return bool(
        kinds.is_binary(type) or kinds.is_large_binary(type) or kinds.is_fixed_size_binary(type) or kinds.is_binary_view(type)
    )
