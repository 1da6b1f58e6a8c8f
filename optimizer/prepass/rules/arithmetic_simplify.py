"""Operations that give back their operand go, and so do steps of a chain of sums, products, casts or concatenations.

    x + 0, x - 0, x * 1, x // 1 ≡ x (integers)        x * 1.0, x / 1.0, x - 0.0, x + -0.0 ≡ x (doubles)
    ¬¬ of signs: -(-x) ≡ x        x || '' ≡ x        (x || 'a') || 'b' ≡ x || 'ab'        abs(abs(x)) ≡ abs(x)
    (x + 1) + 2, 1 + (2 + x) ≡ x + 3        (x * 2) * 3 ≡ x * 6 (integers)
    CAST(x AS its own type) ≡ x        CAST(CAST(x AS wider) AS t) ≡ CAST(x AS t)

NULLs   exact: both sides are NULL where x is
Guards  every value stays the same, NaN and the sign of zero too: x * 0 is not 0 (NULL, NaN), x + 0.0 is not x (-0.0).
        -(-x) of an integer stays, as it raises on the least one. The inner cast keeps every value and never raises, and the outer
        one cannot see through which type the value went (a decimal as text shows its scale, a float as text its precision).
        A chain overflows where its first step does: both constants of a sum have one sign, the second one of a product is at
        least 1, and the new constant fits the type. Doubles and decimals stay: the one round, the other grow with each step
"""

import math

import pyarrow as pa

from optimizer.algebra.columns import DataType
from optimizer.algebra.scalars import Call, Cast, Literal, Scalar
from optimizer.algebra.types import decimal_of, integer_range, is_date, is_decimal, is_float, is_integer, is_numeric, is_timestamp
from optimizer.prepass.openings import ARITHMETIC
from optimizer.prepass.scalar_rewrite import scalar_rewrite

_IDEMPOTENT = frozenset(("abs", "floor", "ceil", "trim", "ltrim", "rtrim"))


@scalar_rewrite(ARITHMETIC)
def arithmetic_simplify(scalar: Scalar) -> Scalar | None:
    if isinstance(scalar, Cast):
        return _cast(scalar)
    if not isinstance(scalar, Call):
        return None
    if scalar.function in ("+", "-", "*", "/", "//"):
        return _binary(scalar)
    if scalar.function == "concat":
        return _concatenation(scalar)
    if scalar.function == "neg" or scalar.function in _IDEMPOTENT:
        inner = scalar.args[0]
        if isinstance(inner, Call) and inner.function == scalar.function and inner.type == scalar.type:
            if scalar.function != "neg":
                return inner
            if inner.args[0].type == scalar.type and not is_integer(scalar.type):
                return inner.args[0]
    if scalar.function in ("floor", "ceil") and is_integer(scalar.args[0].type) and scalar.args[0].type == scalar.type:
        return scalar.args[0]
    if scalar.function == "date_add_days" and _is(scalar.args[1], 0) and scalar.args[0].type == scalar.type:
        return scalar.args[0]
    return None


def _binary(call: Call) -> Scalar | None:
    a, b = call.args
    if not is_numeric(call.type):
        return None
    if a.type == call.type and isinstance(b, Literal) and _keeps(call.function, b):
        return a
    if call.function in ("+", "*") and b.type == call.type and isinstance(a, Literal) and _keeps(call.function, a):
        return b
    return _chain(call) if is_integer(call.type) else None


def _chain(call: Call) -> Scalar | None:
    """An integer operation with a constant on the result of another one, as one operation where that raises for the same rows."""
    inner, constant = _with_constant(call)
    if not isinstance(inner, Call) or constant is None or inner.type != call.type:
        return None
    x, first = _with_constant(inner)
    if first is None or x.type != call.type or (call.function == "*") != (inner.function == "*"):
        return None
    if call.function == "*":
        value = first * constant
        if constant < 1:
            return None
    else:
        if call.function != inner.function:
            constant = -constant
        value = first + constant
        if first * constant < 0:
            return None
    low, high = integer_range(call.type)
    return Call(inner.function, (x, Literal(value, call.type)), call.type) if low <= value <= high else None


def _with_constant(call: Call) -> tuple[Scalar, int | None]:
    """x and c of x + c, c + x, x - c, x * c, c * x, the constant of the call's type; None for another form."""
    a, b = call.args if call.function in ("+", "-", "*") else (call, call)
    if call.function != "-" and isinstance(a, Literal):
        a, b = b, a
    return a, b.value if isinstance(b, Literal) and b.type == call.type and b.value is not None else None


def _keeps(function: str, operand: Literal) -> bool:
    """Whether every x is the same after the function with `operand` on the right."""
    if is_float(operand.type):
        if function == "+":
            return _is(operand, 0) and math.copysign(1.0, operand.value) < 0
        if function == "-":
            return _is(operand, 0) and math.copysign(1.0, operand.value) > 0
        return _is(operand, 1)
    if not is_numeric(operand.type) or function == "/":
        return False
    return _is(operand, 0 if function in ("+", "-") else 1)


def _is(scalar: Scalar, value: int) -> bool:
    return isinstance(scalar, Literal) and scalar.value is not None and bool(scalar.value == value)


def _concatenation(call: Call) -> Scalar | None:
    a, b = call.args
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Literal) and one.value == "" and other.type == call.type:
            return other
    if isinstance(b, Literal) and isinstance(b.value, str):
        if isinstance(a, Call) and a.function == "concat":
            first, second = a.args
            if isinstance(second, Literal) and isinstance(second.value, str):
                return Call("concat", (first, Literal(second.value + b.value, b.type)), call.type)
    return None


def _cast(cast: Cast) -> Scalar | None:
    arg = cast.arg
    if arg.type == cast.type:
        return arg
    if isinstance(arg, Cast) and keeps_values(arg.arg.type, arg.type) and not _shows_type(arg.arg.type, arg.type, cast.type):
        return arg.arg if arg.arg.type == cast.type else Cast(arg.arg, cast.type, cast.lenient)
    return None


def keeps_values(source: DataType, target: DataType) -> bool:
    """Whether a cast gives an equal value for every value of `source`, never fails, and can be told from no other."""
    if is_integer(source) and is_integer(target):
        signed, into = pa.types.is_signed_integer(source), pa.types.is_signed_integer(target)
        return bool(target.bit_width >= source.bit_width if signed == into else into and target.bit_width > source.bit_width)
    if (is_integer(source) or is_decimal(source)) and is_decimal(target):
        exact = decimal_of(source)
        return bool(target.scale >= exact.scale and target.precision - target.scale >= exact.precision - exact.scale)
    if is_integer(source) and is_float(target):
        return bool(source.bit_width <= (16 if pa.types.is_float32(target) else 32))
    if pa.types.is_float32(source) and pa.types.is_float64(target):
        return True
    return bool(is_date(source) and is_timestamp(target) and target.unit == "us")


def _shows_type(source: DataType, through: DataType, target: DataType) -> bool:
    """Whether a cast to `target` may tell a value of `source` from the equal one of type `through`."""
    if is_integer(source) and is_integer(through):
        return False
    if is_date(source):
        return not is_date(target)
    if is_float(through):
        return bool(target != source)  # to a decimal or an integer floats are rounded in ways of their own
    return not is_numeric(target)
