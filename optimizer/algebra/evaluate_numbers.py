"""Reference semantics of arithmetic: exact where the type is exact, IEEE 754 where it is floating.

Integers raise on leaving the range of their type, decimals on needing more digits than their precision; nothing wraps
around. Every result passes through `fit`, so a value always looks as Arrow would give it back.
"""

import math
import struct
from decimal import ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation
from typing import Any

import pyarrow as pa

from optimizer.algebra.columns import DataType
from optimizer.algebra.types import integer_range
from optimizer.errors import ExecutionError

# 38 digits by 38 digits need 76; a result that did not fit would raise rather than be rounded
EXACT = Context(prec=200, rounding=ROUND_HALF_UP, traps=[InvalidOperation, Inexact])
# ROUND_HALF_UP is half away from zero
ROUNDING = Context(prec=200, rounding=ROUND_HALF_UP, traps=[InvalidOperation])


def fit(value: Any, type: DataType) -> Any:
    """`value`, a number, as `type` holds it; decimals are rounded half away from zero to the type's scale.

    Raises ExecutionError where the type is too narrow. A float becomes a float32 by rounding, infinite if need be.
    """
    t = pa.types
    if t.is_integer(type):
        low, high = integer_range(type)
        if not low <= value <= high:
            raise ExecutionError(f"{value} is out of range for {type} ({low} to {high})")
        return int(value)
    if t.is_decimal(type):
        return fit_decimal(value, type)
    return to_float32(float(value)) if t.is_float32(type) else float(value)


def fit_decimal(value: int | Decimal, type: DataType) -> Decimal:
    """Raises ExecutionError where the rounded value has more than precision - scale digits before the point."""
    exact = Decimal(value)
    # an exponent this far off would not even fit ROUNDING's 200 digits
    if exact and exact.adjusted() > 80:
        raise _too_wide(exact, type)
    if exact.adjusted() < -80:
        exact = Decimal(0)
    rounded = ROUNDING.quantize(exact, Decimal(1).scaleb(-type.scale))
    if not rounded:
        return abs(rounded)  # there is no negative zero among SQL decimals
    if rounded.adjusted() >= type.precision - type.scale:
        raise _too_wide(exact, type)
    return rounded


def _too_wide(value: Decimal, type: DataType) -> ExecutionError:
    return ExecutionError(f"{value} does not fit decimal({type.precision}, {type.scale})")


def to_float32(value: float) -> float:
    """The nearest float32 (ties to even), as a Python float."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def add(a: Any, b: Any, type: DataType) -> Any:
    return fit(EXACT.add(a, b) if isinstance(a, Decimal) else a + b, type)


def subtract(a: Any, b: Any, type: DataType) -> Any:
    return fit(EXACT.subtract(a, b) if isinstance(a, Decimal) else a - b, type)


def multiply(a: Any, b: Any, type: DataType) -> Any:
    return fit(EXACT.multiply(a, b) if isinstance(a, Decimal) else a * b, type)


def divide(a: float, b: float, type: DataType) -> float:
    """IEEE 754 division: x/0 is ±inf, 0/0 NaN."""
    if b != 0:
        return float(fit(a / b, type))
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def integer_divide(a: Any, b: Any, type: DataType) -> Any:
    """Truncated quotient of integers; of floats the plain quotient, as in DuckDB. NULL when `b` is 0."""
    if b == 0:
        return None
    if isinstance(a, float):
        return divide(a, b, type)
    if isinstance(a, Decimal):
        return fit(ROUNDING.divide_int(a, b), type)
    quotient = abs(a) // abs(b)
    return fit(quotient if (a < 0) == (b < 0) else -quotient, type)


def remainder(a: Any, b: Any, type: DataType) -> Any:
    """Remainder with the sign of `a`. When `b` is 0: NULL for integers and decimals, NaN for floats."""
    if isinstance(a, float):
        if b == 0 or math.isinf(a):
            return math.nan
        return fit(math.fmod(a, b), type)
    if b == 0:
        return None
    if isinstance(a, Decimal):
        return fit(ROUNDING.remainder(a, b), type)
    if b == -1:
        fit(-a, type)  # DuckDB divides to get the remainder, and the quotient may overflow
    rest = abs(a) % abs(b)
    return fit(-rest if a < 0 else rest, type)


def negate(a: Any, type: DataType) -> Any:
    return fit(EXACT.minus(a) if isinstance(a, Decimal) else -a, type)


def absolute(a: Any, type: DataType) -> Any:
    return fit(EXACT.abs(a) if isinstance(a, Decimal) else abs(a), type)


def round_half_away(value: float) -> float:
    """The nearest integral float, ties away from zero."""
    if not math.isfinite(value):
        return value
    size = abs(value)
    whole = math.floor(size)
    return math.copysign(float(whole + (size - whole >= 0.5)), value)


def round_to(value: Any, digits: int = 0, *, type: DataType) -> Any:
    """`value` to `digits` places after the point (before it when negative), ties away from zero.

    Floats go through multiplication by a power of ten, as in DuckDB, so that round(1.005, 2) is 1.0
    and an infinity or NaN rounded to tens is 0.0.
    """
    if isinstance(value, float):
        scale = math.inf if abs(digits) > 308 else math.pow(10, abs(digits))
        result = round_half_away(value / scale) * scale if digits < 0 else round_half_away(value * scale) / scale
        if math.isfinite(result):
            return fit(result, type)
        return 0.0 if digits < 0 else value
    if isinstance(value, Decimal):
        if digits >= -value.as_tuple().exponent:  # type: ignore[operator]  # a finite decimal has an integer exponent
            return fit(value, type)
        if digits < -80:
            return fit(Decimal(0), type)
        return fit(ROUNDING.quantize(value, Decimal(1).scaleb(-digits)), type)
    if digits >= 0:
        return fit(value, type)
    unit = 10 ** min(-digits, 80)
    size = (abs(value) + unit // 2) // unit * unit
    return fit(-size if value < 0 else size, type)


def floor_or_ceil(value: Any, up: bool, type: DataType) -> Any:
    """A float stays a float (and -0.5 rounded up is -0.0); a decimal becomes a whole one."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    whole = math.ceil(value) if up else math.floor(value)
    if isinstance(value, float):
        return fit(math.copysign(float(whole), value), type)
    return fit(Decimal(whole) if isinstance(value, Decimal) else whole, type)


def square_root(x: float) -> float:
    if x < 0:
        raise ExecutionError(f"square root of a negative number ({x})")
    return math.sqrt(x)


def logarithm(x: float) -> float:
    if x <= 0:
        raise ExecutionError(f"logarithm of {'zero' if x == 0 else f'a negative number ({x})'}")
    return math.log(x)


def exponential(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def power(base: float, exponent: float) -> float:
    """C's pow: no error, but NaN for a negative base with a fractional exponent, and infinities."""
    odd = exponent % 2 == 1
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:
        if base == 0:  # with a negative exponent
            return math.copysign(math.inf, base) if odd else math.inf
        return math.nan
