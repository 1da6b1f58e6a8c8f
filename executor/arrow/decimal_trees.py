"""Sums, differences and products of decimals, several of them at once, on unscaled values as 64-bit integers.

Each value's largest absolute size is known from its inputs', so no operator has to look whether it overflowed; decimals are made
of the outcome alone. Where a size is beyond 64 bits, or a value beyond its declared type, the batch is computed the general way,
operator by operator, which is exact or says what does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import add, mul, sub
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from executor.arrow import decimals
from executor.arrow.distinct import Value
from optimizer.algebra.columns import DataType
from optimizer.algebra.scalars import Call, Literal, Scalar

Evaluator = Callable[[pa.RecordBatch], Value]
_OPERATORS: dict[str, Callable[..., np.ndarray]] = {"+": add, "-": sub, "*": mul}
_WORD = 1 << 63


class _Words(NamedTuple):
    """Unscaled values, 0 for NULL, or one for all rows; none of them is larger than `size`, which is below 2^63."""

    values: np.ndarray | int
    size: int


_Compute = Callable[[pa.RecordBatch, list[pa.Array]], _Words | None]  # appends the arrays whose NULLs matter


def is_tree(scalar: Scalar) -> bool:
    """Whether it is an operation that this computes."""
    if not isinstance(scalar, Call) or scalar.function not in _OPERATORS:
        return False
    types = [arg.type for arg in (scalar, *scalar.args)]
    if len(types) != 3 or not all(map(pa.types.is_decimal128, types)):
        return False
    whole, left, right = (type.scale for type in types)
    return bool(whole == (left + right if scalar.function == "*" else max(left, right)))


def compile_tree(call: Call, compile: Callable[[Scalar], Evaluator], general: Callable[[], Evaluator]) -> Evaluator:
    """`compile` is for parts of `call` that are no such operations, `general` for batches that do not fit."""
    compute, otherwise, type = _compiled(call, compile), cache(general), call.type

    def run(batch: pa.RecordBatch) -> Value:
        arrays: list[pa.Array] = []
        words = compute(batch, arrays)
        if words is None or isinstance(words.values, int):
            return otherwise()(batch)
        return decimals.from_unscaled(words.values, type, decimals.validity_of(*arrays))

    return run


def _compiled(scalar: Scalar, compile: Callable[[Scalar], Evaluator]) -> _Compute:
    if isinstance(scalar, Call) and is_tree(scalar):
        return _operation(scalar, compile)
    if isinstance(scalar, Literal) and scalar.value is not None:
        value = int(scalar.value.scaleb(scalar.type.scale))
        constant = _Words(value, abs(value)) if abs(value) < _WORD else None
        return lambda batch, arrays: constant
    evaluate = compile(scalar)

    def run(batch: pa.RecordBatch, arrays: list[pa.Array]) -> _Words | None:
        array = evaluate(batch)
        words = decimals.unscaled(array) if isinstance(array, pa.Array) else None
        if words is None:
            return None
        arrays.append(array)
        values = np.ascontiguousarray(words)
        return _within(values, decimals.largest(values))

    return run


def _operation(call: Call, compile: Callable[[Scalar], Evaluator]) -> _Compute:
    multiplies, combine, type = call.function == "*", _OPERATORS[call.function], call.type
    sides = [_compiled(arg, compile) for arg in call.args]
    factors = [1 if multiplies else 10 ** (type.scale - arg.type.scale) for arg in call.args]

    def run(batch: pa.RecordBatch, arrays: list[pa.Array]) -> _Words | None:
        a, b = (_times(side(batch, arrays), factor) for side, factor in zip(sides, factors, strict=True))
        if a is None or b is None:
            return None
        made = _within(a.values, a.size * b.size if multiplies else a.size + b.size)
        return None if made is None else _fitting(_Words(combine(a.values, b.values), made.size), type)

    return run


def _times(words: _Words | None, factor: int) -> _Words | None:
    if words is None or factor == 1:
        return words
    made = _within(words.values, words.size * factor)
    return None if made is None else _Words(words.values * factor, made.size)


def _within(values: np.ndarray | int, size: int) -> _Words | None:
    return _Words(values, size) if size < _WORD else None


def _fitting(words: _Words, type: DataType) -> _Words | None:
    """None where a value may not fit the type: of an array it is looked at."""
    if words.size < 10**type.precision or isinstance(words.values, int):
        return words
    size = decimals.largest(words.values)
    return _Words(words.values, size) if size < 10**type.precision else None
