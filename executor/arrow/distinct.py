"""Work done once for each distinct combination of values instead of once a row.

Two uses: arguments that are constants in nearly every query but need not be (a LIKE pattern), and values so irregular that
only the reference semantics knows them (text read as a number, capitals beyond ASCII).
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.batches import single_array
from optimizer.algebra.columns import DataType

Value: TypeAlias = pa.Array | pa.Scalar
_FEW_ROWS = 8  # that a kernel's call is not worth


def as_array(value: Value, rows: int) -> pa.Array:
    return pa.repeat(value, rows) if isinstance(value, pa.Scalar) else value


def distinct_rows(arrays: Sequence[pa.Array]) -> tuple[np.ndarray, np.ndarray]:
    """For equally long arrays (at least one): the first row of each distinct combination, and each row's combination.

    Combinations are numbered 0, 1, …; NULL is a value like others; 0.0 and -0.0 are two values.
    """
    codes: np.ndarray | None = None
    for array in arrays:
        encoded = array.dictionary_encode(null_encoding="encode")
        own = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        if codes is not None:
            own = codes * (len(encoded.dictionary) + 1) + own
        codes = pa.array(own).dictionary_encode().indices.to_numpy().astype(np.int64)
    assert codes is not None
    first = np.empty(codes.max(initial=-1) + 1, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # the last one that is written stays
    return first, codes


def by_reference(compute: Callable[..., Any], args: Sequence[Value], rows: int, type: DataType) -> pa.Array:
    """`compute` on Python values, once for each distinct combination of the arguments; NULL where one of them is NULL."""
    arrays = [arg for arg in args if isinstance(arg, pa.Array)]
    if not arrays:
        values = [arg.as_py() for arg in args]
        return pa.repeat(pa.scalar(None if None in values else compute(*values), type), rows)
    first, inverse = distinct_rows(arrays)
    chosen = pa.array(first)
    columns = [arg.take(chosen).to_pylist() if isinstance(arg, pa.Array) else [arg.as_py()] * len(first) for arg in args]
    results = [None if None in values else compute(*values) for values in zip(*columns, strict=True)]
    return pa.array(results, type).take(pa.array(inverse))


def per_control(
    subject: pa.Array, controls: Sequence[Value], apply: Callable[..., pa.Array], compute: Callable[..., Any], type: DataType
) -> pa.Array:
    """`apply(subject rows, *control values)` once for each distinct combination of control values, for its rows only; where that
    were a few rows at a time, `compute` on Python values. Rows with a NULL control are NULL without a call.
    """
    arrays = [c for c in controls if isinstance(c, pa.Array)]
    if not arrays:
        values = [c.as_py() for c in controls]
        return pa.nulls(len(subject), type) if None in values else apply(subject, *values)
    if len(subject) == 0:
        return pa.array([], type)
    first, inverse = distinct_rows(arrays)
    if len(first) * _FEW_ROWS > len(subject):
        return by_reference(compute, (subject, *controls), len(subject), type)
    order = np.argsort(inverse, kind="stable")
    ends = np.cumsum(np.bincount(inverse, minlength=len(first)))
    parts = []
    for start, end, example in zip([0, *ends[:-1]], ends, first, strict=True):
        values = [c[int(example)].as_py() if isinstance(c, pa.Array) else c.as_py() for c in controls]
        rows = pa.array(order[start:end])
        parts.append(pa.nulls(end - start, type) if None in values else apply(subject.take(rows), *values))
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return pa.concat_arrays(parts).take(pa.array(back))


def once_each(apply: Callable[..., pa.Array], text: pa.Array, *controls: Any) -> pa.Array:
    """`apply(text, *controls)`, which makes NULL of NULL, for no text twice where many of them repeat."""
    encoded = text.dictionary_encode()
    if 2 * len(encoded.dictionary) > len(text):
        return apply(text, *controls)
    return apply(encoded.dictionary, *controls).take(encoded.indices)


def split_rows(
    mask: pa.Array, subject: pa.Array, one: Callable[[pa.Array], pa.Array], other: Callable[[pa.Array], pa.Array]
) -> pa.Array:
    """`one` of the rows where `mask` is TRUE, `other` of the rest (with the NULLs), in the order of the rows."""
    chosen = mask.fill_null(False)
    if chosen.true_count == len(chosen):
        return one(subject)
    if chosen.true_count == 0:
        return other(subject)
    flags = chosen.to_numpy(zero_copy_only=False)
    parts = pa.concat_arrays([one(subject.filter(chosen)), other(subject.filter(pc.invert(chosen)))])
    place = np.where(flags, np.cumsum(flags) - 1, flags.sum() + np.cumsum(~flags) - 1)
    return parts.take(pa.array(place))


def spread(values: pa.Array, mask: pa.Array) -> pa.Array:
    """`values`, one for each TRUE of `mask` (no NULLs), at those rows; NULL elsewhere."""
    flags = mask.to_numpy(zero_copy_only=False)
    return single_array(values.take(pa.array(np.cumsum(flags) - 1, mask=~flags)))
