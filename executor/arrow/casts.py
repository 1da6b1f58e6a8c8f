"""CAST and TRY_CAST of whole arrays.

Each pair of types has a vectorized way that either agrees with the reference semantics or raises. When it raises, the
distinct values are cast one by one by the reference: that reads loosely written text, gives TRY_CAST its NULLs, and names
the value that cannot be cast.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow import decimals
from executor.arrow.arithmetic import floats, half_away
from executor.arrow.batches import single_array
from executor.arrow.distinct import by_reference
from optimizer.algebra import evaluate_casts
from optimizer.algebra.columns import DataType
from optimizer.algebra.types import integer_range
from optimizer.errors import ExecutionError

# texts that Arrow and the reference certainly read alike; Arrow also takes a bare hour, and the year 0000
_YEAR = r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_PLAIN_DATE = rf"^{_YEAR}-[0-9]{{2}}-[0-9]{{2}}$"
_PLAIN_TIMESTAMP = rf"^{_YEAR}-[0-9]{{2}}-[0-9]{{2}}( [0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,6}})?)?)?$"


def cast(array: pa.Array, target: DataType, lenient: bool) -> pa.Array:
    """Raises ExecutionError for a value without counterpart; `lenient` makes it NULL."""
    source = array.type
    if source == target:
        return array
    if pa.types.is_null(source):
        return pa.nulls(len(array), target)
    try:
        return _cast(array, source, target)
    except (ExecutionError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return by_reference(lambda value: _one(value, source, target, lenient), (array,), len(array), target)


def _one(value: object, source: DataType, target: DataType, lenient: bool) -> object:
    try:
        return evaluate_casts.cast(value, source, target)
    except ExecutionError:
        if lenient:
            return None
        raise


def _cast(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    t = pa.types
    if t.is_string(target):
        return _to_text(array, source)
    if t.is_string(source):
        return _from_text(array, target)
    if t.is_boolean(target):
        return pc.not_equal(array, pa.scalar(0, source))
    if t.is_boolean(source):
        return cast(array.cast(pa.int8()), target, lenient=False)
    if t.is_decimal(source):
        if t.is_decimal(target):
            return decimals.rescaled(array, target)
        if t.is_integer(target):
            return _whole_decimals(array, target)
        return decimals.to_double(array) if t.is_float64(target) else _to_float32(decimals.to_double(array))
    if t.is_decimal(target):
        if t.is_floating(source):
            return _floats_to_decimals(array, target)
        return decimals.rescaled(_integers_as_decimals(array), target)
    if t.is_integer(target) and t.is_floating(source):
        return _floats_to_integers(array, target)
    if t.is_float32(target):
        return _to_float32(array)
    if t.is_float64(target):
        return array.cast(target, safe=False)
    if t.is_date(target) and t.is_timestamp(source):
        return pc.floor_temporal(array, unit="day").cast(target)
    return array.cast(target)


def _integers_as_decimals(array: pa.Array) -> pa.Array:
    wide = array.cast(pa.int64())
    return decimals.from_unscaled(wide.fill_null(0).to_numpy(), pa.decimal128(19, 0), decimals.validity_of(wide))


def _whole_decimals(array: pa.Array, target: DataType) -> pa.Array:
    whole = decimals.rescaled(array, pa.decimal128(38, 0))
    values = decimals.unscaled(whole)
    if values is None:
        raise ExecutionError(f"a value is out of range for {target}")
    return decimals.with_nulls(values, pa.int64(), whole).cast(target)


def _floats_to_integers(array: pa.Array, target: DataType) -> pa.Array:
    rounded = np.rint(floats(array.fill_null(0)).astype(np.float64))  # half to even
    low, high = integer_range(target)
    # the upper end as a float may be one too large: compare strictly with high + 1, a power of two
    if not ((rounded >= low) & (rounded < high + 1)).all():
        raise ExecutionError(f"a value is out of range for {target}")
    values = pa.array(rounded.astype(np.int64)).cast(target)
    return _with_nulls_of(array, values)


def _floats_to_decimals(array: pa.Array, target: DataType) -> pa.Array:
    with np.errstate(all="ignore"):
        scaled = half_away(floats(array.fill_null(0)).astype(np.float64) * 10.0**target.scale)
    if not (np.abs(scaled) < min(10.0**target.precision, 2.0**63)).all():
        raise ExecutionError(f"a value does not fit {target}")  # or needs more than int64
    return decimals.from_unscaled(scaled.astype(np.int64), target, decimals.validity_of(array))


def _to_float32(array: pa.Array) -> pa.Array:
    result = array.cast(pa.float32(), safe=False)
    if pa.types.is_floating(array.type) and pc.any(pc.and_(pc.is_inf(result), pc.is_finite(array))).as_py():
        raise ExecutionError("a value does not fit a 4-byte float")
    return result


def _with_nulls_of(array: pa.Array, values: pa.Array) -> pa.Array:
    return values if not array.null_count else pc.if_else(pc.is_valid(array), values, pa.scalar(None, values.type))


def _from_text(array: pa.Array, target: DataType) -> pa.Array:
    t = pa.types
    if t.is_date(target) or t.is_timestamp(target):
        pattern = _PLAIN_DATE if t.is_date(target) else _PLAIN_TIMESTAMP
        if pc.all(pc.match_substring_regex(array, pattern)).as_py() is False:
            raise ExecutionError("not every text is plain")
    if t.is_integer(target) and pc.any(pc.match_substring_regex(array, "^0[xX]")).as_py():
        raise ExecutionError("Arrow wraps hexadecimal numbers around")
    if t.is_decimal(target):  # whose overflow Arrow does not see
        array = array.cast(pa.decimal256(76, target.scale))
    return array.cast(target)


def _to_text(array: pa.Array, source: DataType) -> pa.Array:
    t = pa.types
    if t.is_floating(source):
        if t.is_float32(source):
            raise ExecutionError("the reference writes 4-byte floats")
        texts = floats(array).astype(str)  # NumPy writes a double as Python does, shortest digits that read back
        return _with_nulls_of(array, pa.array(texts, pa.string()))
    if t.is_decimal(source):
        return _decimal_texts(array, source)
    texts = array.cast(pa.string())
    if t.is_temporal(source) and pc.any(pc.match_substring_regex(texts, "^([<-]|0000)")).as_py():  # <value out of range>, BC
        raise ExecutionError(f"a {'date' if t.is_date(source) else 'timestamp'} is out of range (years 1 to 32767)")
    if t.is_timestamp(source) and pc.any(pc.match_substring(texts, ".")).as_py():  # without trailing zeros of the fraction
        return pc.replace_substring_regex(texts, r"\.?0*$", "")
    return texts


def _decimal_texts(array: pa.Array, source: DataType) -> pa.Array:
    digits = pc.abs(array.cast(pa.decimal256(76, source.scale)))
    negative = pc.less(array, pa.scalar(0, pa.int64()).cast(pa.decimal128(38, source.scale)))
    whole = pa.Array.from_buffers(pa.decimal256(76, 0), len(digits), digits.buffers(), offset=digits.offset).cast(pa.string())
    if source.scale:
        places = source.scale + (source.precision > source.scale)  # ".50" where the type has no place before the point
        padded = pc.utf8_lpad(whole, width=places, padding="0")
        whole = pc.binary_join_element_wise(
            pc.utf8_slice_codeunits(padded, 0, -source.scale), pc.utf8_slice_codeunits(padded, -source.scale), "."
        )
    return single_array(pc.binary_join_element_wise(pc.if_else(negative, "-", ""), whole, ""))
