"""Compiled scalars against the reference semantics of `evaluate`."""

import itertools
import math
import random
from collections.abc import Callable

import pyarrow as pa
import pytest

from executor.arrow.expressions import compile_scalar
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.scalars import Call, ColumnRef, Scalar
from optimizer.errors import ExecutionError


def call(function: str, type: pa.DataType) -> Callable[..., Scalar]:
    return lambda *args: Call(function, args, type)


def check_compiled(make: Callable[..., Scalar], *columns: tuple[pa.DataType, list], close: bool = False) -> None:
    """The compiled scalar gives the reference's value for every combination; where that raises, it raises too."""
    scalar = make(*(ColumnRef(i, type) for i, (type, _) in enumerate(columns)))
    run = compile_scalar(scalar)
    good, bad = [], []
    for row in itertools.product(*(values for _, values in columns)):
        try:
            good.append((row, evaluate(scalar, dict(enumerate(row)))))
        except ExecutionError:
            bad.append(row)
    random.Random(0).shuffle(good)
    for offset in (0, min(3, len(good))):  # a slice of arrays that begin before it
        rows = [row for row, _ in good[:offset]] + [row for row, _ in good]
        answers = run(batch_of(rows, [type for type, _ in columns]).slice(offset))
        assert answers.type == scalar.type, (scalar, answers.type)
        answers.validate(full=True)
        wrong = [
            f"{scalar} of {row}: {got!r}, reference {want!r}"
            for (row, want), got in zip(good, answers.to_pylist(), strict=True)
            if not same(got, want, close)
        ]
        assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:12])
    for row in random.Random(1).sample(bad, min(len(bad), 25)):
        with pytest.raises(ExecutionError):
            run(batch_of([row], [type for type, _ in columns]))
    assert run(batch_of([], [type for type, _ in columns])).type == scalar.type


def batch_of(rows: list[tuple], types: list[pa.DataType]) -> pa.RecordBatch:
    arrays = [pa.array([row[i] for row in rows], type) for i, type in enumerate(types)]
    return pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(types))])


def same(got: object, want: object, close: bool) -> bool:
    if isinstance(got, float) and isinstance(want, float):
        if math.isnan(want) or math.isnan(got):
            return math.isnan(want) and math.isnan(got)
        return got == want or (close and math.isclose(got, want, rel_tol=1e-14))
    return got is want or repr(got) == repr(want)
