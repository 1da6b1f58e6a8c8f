"""Exact arithmetic on decimal128 arrays whose results have a declared type.

Arrow's own kernels choose a result precision of p1+p2+1 for a product and refuse more than 38, though the values nearly
always are small. Here the unscaled values go through int64 when they and the result fit (always checked against the
largest value of the batch, never assumed), which is also several times faster, and through decimal256 otherwise. Whatever
the way, a result that does not fit its declared type raises ExecutionError, and lost places are rounded half away from zero.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.batches import single_array
from executor.arrow.distinct import Value
from optimizer.algebra.columns import DataType
from optimizer.errors import ExecutionError

_WORD = 1 << 63


def unscaled(array: pa.Array) -> np.ndarray | None:
    """The unscaled values of decimals, or integers, as int64, 0 for NULL; None when one does not fit."""
    if not pa.types.is_decimal(array.type):
        return array.cast(pa.int64()).fill_null(0).to_numpy()
    low = low_words(array)
    valid = pc.is_valid(array).to_numpy(zero_copy_only=False) if array.null_count else None
    if array.type.precision > 18 and len(array):
        fits = both_words(array)[1::2] == low >> 63
        if not (fits if valid is None else fits | ~valid).all():
            return None
    return low if valid is None else np.where(valid, low, 0)


def low_words(array: pa.Array) -> np.ndarray:
    """The lower 64 bits of each unscaled value, which are the value itself up to 18 digits; anything for NULL."""
    return both_words(array)[0::2] if len(array) else np.empty(0, np.int64)


def both_words(array: pa.Array) -> np.ndarray:
    """The lower and the upper 64 bits of each unscaled value, one after the other; of one value at least."""
    return np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset : 2 * (array.offset + len(array))]


def from_unscaled(values: np.ndarray, type: DataType, validity: pa.Buffer | None) -> pa.Array:
    """Decimals of `type` with these unscaled values, which must fit it; `validity` is a bitmap (None: no NULLs)."""
    buffer = pa.allocate_buffer(16 * len(values))  # from Arrow's pool, which reuses memory, unlike a new NumPy array
    words = np.frombuffer(buffer, np.int64)
    words[0::2] = values
    np.right_shift(values, 63, out=words[1::2])
    return pa.Array.from_buffers(type, len(values), [validity, buffer])


def validity_of(*arrays: pa.Array) -> pa.Buffer | None:
    """The bitmap of rows where no array is NULL."""
    valid: pa.Array | None = None
    for array in arrays:
        if array.null_count:
            own = pc.is_valid(array)
            valid = own if valid is None else pc.and_(valid, own)
    if valid is None:
        return None
    # from offset 0, as a bitmap of its own has to be
    return (valid if valid.offset == 0 else pa.concat_arrays([valid])).buffers()[1]


def with_nulls(values: np.ndarray, type: DataType, *of: pa.Array) -> pa.Array:
    """Values in the layout of the type; NULL where an array that they are `of` is."""
    return pa.Array.from_buffers(type, len(values), [validity_of(*of), pa.py_buffer(np.ascontiguousarray(values))])


def largest(values: np.ndarray) -> int:
    """The largest absolute value; 0 for none."""
    return max(int(values.max()), -int(values.min())) if len(values) else 0


def relabelled(array: pa.Array, type: DataType) -> pa.Array:
    """The same values under a type of the same scale that has room for them."""
    return (
        array if array.type == type else pa.Array.from_buffers(type, len(array), array.buffers(), array.null_count, array.offset)
    )


def rescaled(array: pa.Array, type: DataType) -> pa.Array:
    """`array` (decimal128 or decimal256) as decimal128 `type`, rounded half away from zero to its scale."""
    source = array.type
    if source == type:
        return array
    if pa.types.is_decimal128(source):
        if source.scale == type.scale and source.precision <= type.precision:
            return relabelled(array, type)
        values = unscaled(array)
        if values is not None:
            return _rescaled_small(array, values, type)
    wide = array.cast(pa.decimal256(76, source.scale)) if source.precision < 76 else array
    if type.scale < source.scale:
        wide = pc.round(wide, ndigits=type.scale, round_mode="half_towards_infinity")
    try:
        return wide.cast(type)
    except pa.ArrowInvalid as error:
        raise does_not_fit(type) from error


def _rescaled_small(array: pa.Array, values: np.ndarray, type: DataType) -> pa.Array:
    size = largest(values)
    if type.scale >= array.type.scale:
        factor = 10 ** (type.scale - array.type.scale)
        if size * factor >= 10**type.precision:
            raise does_not_fit(type)
        if max(size, 1) * factor >= _WORD:
            return array.cast(type)
        return from_unscaled(values * factor, type, validity_of(array))
    unit = 10 ** (array.type.scale - type.scale)
    if size + unit >= _WORD:
        return rescaled(array.cast(pa.decimal256(76, array.type.scale)), type)
    result = np.sign(values) * ((np.abs(values) + unit // 2) // unit)
    if largest(result) >= 10**type.precision:
        raise does_not_fit(type)
    return from_unscaled(result, type, validity_of(array))


def does_not_fit(type: DataType) -> ExecutionError:
    return ExecutionError(f"a result does not fit decimal({type.precision}, {type.scale})")


def combined(kernel: Callable[[Value, Value], pa.Array], a: Value, b: Value, type: DataType) -> pa.Array | None:
    """The sum or the difference, of which at most one side may be a (valid) scalar; None when not even 76 digits hold both sides'
    scales."""
    scale = max(a.type.scale, b.type.scale)
    digits = max(a.type.precision - a.type.scale, b.type.precision - b.type.scale) + scale + 1
    if digits > 76:
        return None
    if digits > 38:
        a, b = (x.cast(pa.decimal256(x.type.precision, x.type.scale)) for x in (a, b))
    return rescaled(kernel(a, b), type)


def multiply(a: Value, b: Value, type: DataType) -> pa.Array | None:
    """The product, of which at most one side may be a (valid) scalar; None when Arrow has no type for the product of the
    largest values."""
    scale = a.type.scale + b.type.scale
    p, q = (pa.repeat(v, 1) if isinstance(v, pa.Scalar) else v for v in (a, b))
    x, y = unscaled(p), unscaled(q)
    if x is not None and y is not None:
        bound = largest(x) * largest(y)
        if bound < _WORD and scale <= 38:
            fits = scale == type.scale and bound < 10**type.precision
            product = from_unscaled(x * y, type if fits else pa.decimal128(38, scale), validity_of(p, q))
            return product if fits else rescaled(product, type)
    m, n = _digits(p), _digits(q)
    if m + n + 1 > 76:
        return None
    return rescaled(pc.multiply(a.cast(pa.decimal256(m, a.type.scale)), b.cast(pa.decimal256(n, b.type.scale))), type)


def _digits(array: pa.Array) -> int:
    """Digits that the largest value has, at least the type's scale."""
    low, high = (v.as_py() for v in pc.min_max(array).values())
    if low is None:
        return max(1, array.type.scale)
    sizes = [len(v.as_tuple().digits) for v in (low, high)]
    return max(*sizes, array.type.scale, 1)


def to_whole(array: pa.Array, type: DataType, up: bool) -> pa.Array:
    """Floor or ceiling."""
    wide = array.cast(pa.decimal256(76, array.type.scale))
    return rescaled((pc.ceil if up else pc.floor)(wide), type)


def round_places(array: pa.Array, digits: int, type: DataType) -> pa.Array:
    """Rounded half away from zero to `digits` places after the point, before it when negative."""
    if digits >= array.type.scale or digits == type.scale:
        return rescaled(array, type)
    wide = array.cast(pa.decimal256(76, array.type.scale))
    rounded = pc.round(wide, ndigits=max(digits, -37), round_mode="half_towards_infinity")
    return rescaled(rounded, type)


def remainder(a: pa.Array, b: pa.Array, type: DataType) -> pa.Array | None:
    """Remainder with the sign of `a`, NULL where `b` is 0; None when the values need more than int64."""
    scale = max(a.type.scale, b.type.scale)
    x, y = unscaled(a), unscaled(b)
    if x is None or y is None:
        return None
    x_factor, y_factor = 10 ** (scale - a.type.scale), 10 ** (scale - b.type.scale)
    if max(largest(x), 1) * x_factor >= _WORD or max(largest(y), 1) * y_factor >= _WORD:
        return None
    zero = y == 0
    rest = np.fmod(x * x_factor, np.where(zero, 1, y * y_factor))
    valid = pc.and_(pc.and_(pc.is_valid(a), pc.is_valid(b)), pa.array(~zero))
    result = from_unscaled(rest, pa.decimal128(38, scale), valid.buffers()[1])
    return rescaled(result, type)


def mean(sums: pa.Array, counts: pa.Array) -> pa.Array:
    """Of decimals or doubles."""
    return pc.divide(to_double(sums) if pa.types.is_decimal(sums.type) else sums, counts.cast(pa.float64()))


def to_double(array: pa.Array) -> pa.Array:
    """The nearest double of each value; of unscaled values beyond 2^53 what DuckDB makes, which nearly always is that too.

    A value has one double, whatever others are beside it.
    """
    scale = array.type.scale
    if not pa.types.is_decimal128(array.type) or scale > 22:
        return single_array(array.cast(pa.float64()))
    values = low_words(array)
    doubles = values.astype(np.float64)
    if scale:
        doubles /= 10.0**scale
        large = np.flatnonzero(np.abs(values) > 1 << 53)
        if len(large) and scale <= 18:  # beyond it there is nothing before the point
            whole, rest = np.divmod(np.abs(values[large]), 10**scale)
            doubles[large] = np.sign(values[large]) * (whole + rest / 10.0**scale)
    if array.type.precision > 18 and len(array):
        wide = np.flatnonzero(both_words(array)[1::2] != values >> 63)
        doubles[wide] = single_array(array.take(pa.array(wide)).cast(pa.float64())).fill_null(0).to_numpy()
    return with_nulls(doubles, pa.float64(), array)
