"""Arithmetic: integers checked for overflow, decimals exact, floats IEEE 754; semantics as in `algebra.evaluate`."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow import decimals
from executor.arrow.batches import single_array
from executor.arrow.distinct import Value, as_array, by_reference
from optimizer.algebra import evaluate_numbers as reference
from optimizer.algebra.columns import DataType
from optimizer.errors import ExecutionError

_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_DECIMAL: dict[str, Callable[[Value, Value, DataType], pa.Array | None]] = {
    "+": partial(decimals.combined, pc.add),
    "-": partial(decimals.combined, pc.subtract),
    "*": decimals.multiply,
}
_PLAIN = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_REFERENCE = {"+": reference.add, "-": reference.subtract, "*": reference.multiply, "%": reference.remainder}


def basic(function: str, args: Sequence[Value], rows: int, type: DataType) -> Value:
    """+, - and *."""
    a, b = args
    if pa.types.is_floating(type):
        return _PLAIN[function](a, b)
    if not pa.types.is_decimal(type):
        return checked(function, type, _CHECKED[function], a, b)
    if any(isinstance(v, pa.Scalar) and not v.is_valid for v in (a, b)):
        return pa.scalar(None, type)
    if isinstance(a, pa.Scalar) and isinstance(b, pa.Scalar):
        return basic(function, (as_array(a, 1), as_array(b, 1)), 1, type)[0]
    result = _DECIMAL[function](a, b, type)
    return _by_value(function, a, b, rows, type) if result is None else result


def _by_value(function: str, a: Value, b: Value, rows: int, type: DataType) -> pa.Array:
    compute = _REFERENCE[function]
    return by_reference(lambda x, y: compute(x, y, type), (a, b), rows, type)


def checked(function: str, type: DataType, kernel: Callable[..., Value], *args: Value) -> Value:
    """A kernel that raises on overflow. Raises ExecutionError instead."""
    try:
        return kernel(*args)
    except pa.ArrowInvalid as error:
        raise ExecutionError(f"a result of {function} is out of range for {type}") from error


def integer_divide(a: Value, b: Value, rows: int, type: DataType) -> Value:
    """Truncated quotient of integers, plain quotient of floats; NULL when the divisor is 0."""
    if pa.types.is_floating(type):
        return pc.divide(a, _nonzero(b))
    if pa.types.is_decimal(type):
        return by_reference(lambda x, y: reference.integer_divide(x, y, type), (a, b), rows, type)
    return checked("//", type, pc.divide_checked, a, _nonzero(b))


def _nonzero(b: Value) -> Value:
    return pc.if_else(pc.equal(b, pa.scalar(0, b.type)), pa.scalar(None, b.type), b)


def remainder(a: Value, b: Value, rows: int, type: DataType) -> Value:
    """With the sign of the dividend. Divisor 0: NULL for integers and decimals, NaN for floats."""
    if pa.types.is_floating(type):
        x, y = as_array(a, rows), as_array(b, rows)
        with np.errstate(all="ignore"):
            rest = np.fmod(floats(x), floats(y))
        return pa.array(rest, type, mask=_is_null(x) | _is_null(y))
    if pa.types.is_decimal(type):
        x, y = as_array(a, rows), as_array(b, rows)
        result = decimals.remainder(x, y, type)
        return _by_value("%", x, y, rows, type) if result is None else result
    divisor = _nonzero(b)
    quotient = checked("%", type, pc.divide_checked, a, divisor)
    return pc.subtract(a, pc.multiply(quotient, divisor))


def negate(a: Value, rows: int, type: DataType) -> Value:
    if pa.types.is_decimal(type):
        return decimals.rescaled(pc.negate(as_array(a, rows)), type)
    return checked("-", type, pc.negate_checked, a)


def absolute(a: Value, rows: int, type: DataType) -> Value:
    if pa.types.is_decimal(type):
        return decimals.rescaled(pc.abs(as_array(a, rows)), type)
    return checked("abs", type, pc.abs_checked, a)


def sign(a: Value, type: DataType) -> Value:
    """0 also of NaN."""
    zero = pa.scalar(0, a.type)
    return pc.subtract(pc.cast(pc.greater(a, zero), type), pc.cast(pc.less(a, zero), type))


def floor_or_ceil(a: Value, rows: int, type: DataType, up: bool) -> Value:
    if pa.types.is_decimal(a.type):
        return decimals.to_whole(as_array(a, rows), type, up)
    if pa.types.is_integer(a.type):
        return pc.cast(a, type, safe=False)
    return (pc.ceil if up else pc.floor)(a)


def round_to(a: Value, digits: int, rows: int, type: DataType) -> Value:
    """Half away from zero; floats by way of a multiplication by a power of ten, as DuckDB does."""
    x = as_array(a, rows)
    if pa.types.is_decimal(x.type):
        return decimals.round_places(x, digits, type)
    if pa.types.is_floating(x.type):
        rounded = _round_floats(floats(x).astype(np.float64), digits)
        return pa.array(rounded, mask=_is_null(x)).cast(type, safe=False)
    if digits >= 0:
        return x if x.type == type else pc.cast(x, type)
    if digits < -18:
        return by_reference(lambda value: reference.round_to(value, digits, type=type), (x,), rows, type)
    # as decimals, because rounding up may leave the range of the type
    whole = pc.cast(x, pa.int64()).cast(pa.decimal128(19, 0))
    rounded = decimals.round_places(whole, digits, pa.decimal128(38, 0))
    return checked("round", type, single_array(rounded).cast, type)


def _round_floats(x: np.ndarray, digits: int) -> np.ndarray:
    scale = np.inf if abs(digits) > 308 else 10.0 ** abs(digits)
    with np.errstate(all="ignore"):
        result = half_away(x / scale) * scale if digits < 0 else half_away(x * scale) / scale
        return np.where(np.isfinite(result), result, 0.0 if digits < 0 else x)


def half_away(x: np.ndarray) -> np.ndarray:
    """The nearest integral floats, ties away from zero."""
    size = np.abs(x)
    whole = np.floor(size)
    with np.errstate(all="ignore"):
        return np.copysign(whole + (size - whole >= 0.5), x)


def square_root(a: Value) -> Value:
    _refuse(pc.less(a, pa.scalar(0.0, a.type)), "square root of a negative number")
    return pc.sqrt(a)


def logarithm(a: Value, kernel: Callable[[Value], Value] = pc.ln) -> Value:
    _refuse(pc.equal(a, pa.scalar(0.0, a.type)), "logarithm of zero")
    _refuse(pc.less(a, pa.scalar(0.0, a.type)), "logarithm of a negative number")
    return kernel(a)


def _refuse(bad: Value, reason: str) -> None:
    if (bad.as_py() if isinstance(bad, pa.Scalar) else pc.any(bad).as_py()) is True:
        raise ExecutionError(reason)


def floats(array: pa.Array) -> np.ndarray:
    """As NumPy floats; NaN for NULL."""
    return array.to_numpy(zero_copy_only=False)


def _is_null(array: pa.Array) -> np.ndarray:
    return pc.is_null(array).to_numpy(zero_copy_only=False)
