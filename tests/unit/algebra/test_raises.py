"""What does not say that it may raise never does: each function and cast of the values at the ends of its types."""

import itertools
import math
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest

from optimizer.algebra import Call, Cast, ColumnRef
from optimizer.algebra.evaluate import called
from optimizer.algebra.evaluate_casts import cast
from optimizer.algebra.scalars import Literal
from optimizer.algebra.types import arithmetic_type, integer_range
from optimizer.sql.cast_hints import castable

_DECIMALS = (pa.decimal128(3, 2), pa.decimal128(2, 1), pa.decimal128(2, 2), pa.decimal128(38, 0), pa.decimal128(4, 0))
_INTEGERS = (pa.int8(), pa.int32(), pa.int64(), pa.uint8())
_TYPES = (pa.bool_(), *_INTEGERS, pa.float32(), pa.float64(), *_DECIMALS, pa.date32(), pa.timestamp("us"))
_SIZES = tuple(pa.decimal128(*size) for size in ((4, 2), (10, 2), (18, 2), (18, 0), (19, 4), (38, 2)))
_SPECIAL = [math.inf, -math.inf, math.nan, 0.0, -1.0, 5e-324]


def ends(type: Any) -> list[Any]:
    if pa.types.is_boolean(type):
        return [True, False]
    if pa.types.is_integer(type):
        return [*integer_range(type), 0, 1, *([-1] if pa.types.is_signed_integer(type) else [])]
    if pa.types.is_decimal(type):
        most = Decimal("9" * type.precision).scaleb(-type.scale, Context(prec=60))
        return [most, most.copy_negate(), Decimal(0)]
    if pa.types.is_floating(type):
        return [*_SPECIAL, 3e38 if type == pa.float32() else 1e308]
    if pa.types.is_date(type):
        return [date(1, 1, 1), date(9999, 12, 31)]
    return [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)]


@pytest.mark.parametrize("source", _TYPES, ids=str)
def test_casts(source: Any) -> None:
    for target in _TYPES:
        if castable(source, target) and not Cast(ColumnRef(0, source), target, False).raises:
            for value in ends(source):
                cast(value, source, target)


@pytest.mark.parametrize("type", [*_INTEGERS, pa.float64()], ids=str)
def test_arithmetic(type: Any) -> None:
    column, other = ColumnRef(0, type), ColumnRef(1, type)
    for name in ("neg", "abs", "floor", "ceil"):
        never_raises(Call(name, (column,), type), ends(type))
    for name in ("+", "-", "*", "//", "%"):
        never_raises(Call(name, (column, other), type), ends(type), ends(type))
        for value in ends(type):
            never_raises(Call(name, (column, Literal(value, type)), type), ends(type), [value])


@pytest.mark.parametrize(("one", "other"), itertools.combinations_with_replacement(_SIZES, 2), ids=str)
def test_decimals(one: Any, other: Any) -> None:
    """Results of 18 digits and of 38 may be cut."""
    for name in ("+", "-", "*"):
        type = arithmetic_type(name, one, other)
        assert type is not None
        call = Call(name, (ColumnRef(0, one), ColumnRef(1, other)), type)
        never_raises(call, ends(one), ends(other))
        assert call.raises == (type.precision in (18, 38))
    never_raises(Call("neg", (ColumnRef(0, one),), one), ends(one))


@pytest.mark.parametrize("digits", [-1, 0, 2])
@pytest.mark.parametrize("type", [*_INTEGERS, pa.float64(), pa.decimal128(38, 0), pa.decimal128(4, 0)], ids=str)
def test_round(type: Any, digits: int) -> None:
    never_raises(Call("round", (ColumnRef(0, type), Literal(digits, pa.int32())), type), ends(type), [digits])


def never_raises(call: Call, *values: Iterable[Any]) -> None:
    """Unless it says so, of any of the values for each operand."""
    for each in [] if call.raises else itertools.product(*values):
        called(call.function, each, call.type)
