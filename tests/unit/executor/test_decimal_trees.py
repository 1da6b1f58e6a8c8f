"""Arithmetic of decimals on 64-bit integers: values and errors are the reference's, where sizes fit and where they do not."""

import random
from decimal import Decimal

import pyarrow as pa
import pytest

from executor.arrow.decimal_trees import is_tree
from executor.arrow.expressions import compile_scalar
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.scalars import Call, ColumnRef, Literal, Scalar
from optimizer.errors import ExecutionError


def dec(precision: int, scale: int) -> pa.DataType:
    return pa.decimal128(precision, scale)


EDGES = ["0", "0.01", "-0.01", "1", "-1", "9999999.99", "-9999999.99", "9999999999999.99", "-9999999999999.99", None]


def call(function: str, a: Scalar, b: Scalar, type: pa.DataType) -> Call:
    made = Call(function, (a, b), type)
    assert is_tree(made)
    return made


def literal(text: str, type: pa.DataType) -> Literal:
    return Literal(Decimal(text), type)


A, B = ColumnRef(1, dec(15, 2)), ColumnRef(2, dec(15, 2))
WIDE = ColumnRef(3, dec(38, 2))
ONE = literal("1", dec(1, 0))
TREES = {
    "price": call("*", A, call("-", ONE, B, dec(18, 2)), dec(18, 4)),
    "charge": call("*", call("*", A, call("-", ONE, B, dec(16, 2)), dec(38, 4)), call("+", ONE, B, dec(16, 2)), dec(38, 6)),
    "narrow": call("+", A, B, dec(9, 2)),
    "scales": call("-", call("*", A, A, dec(38, 4)), B, dec(38, 4)),
    "wide": call("+", WIDE, A, dec(38, 2)),
    "large constant": call("+", A, literal("8" * 36, dec(38, 0)), dec(38, 2)),
    "constants": call("*", ONE, literal("2.5", dec(2, 1)), dec(3, 1)),
    "null": call("+", A, Literal(None, dec(15, 2)), dec(16, 2)),
}


def _outcome(compute):
    try:
        return repr(compute())
    except ExecutionError:
        return "error"


@pytest.mark.parametrize("name", TREES)
def test_values_and_errors_are_the_references(name: str) -> None:
    tree, draw = TREES[name], random.Random(name)
    run, seen = compile_scalar(tree), set()
    values = [None if edge is None else Decimal(edge) for edge in EDGES]
    wide = [*values, Decimal("9" * 36), Decimal("-1e30")]
    for _ in range(60):
        few = draw.sample(values, draw.randint(1, 10))
        rows = [{1: draw.choice(few), 2: draw.choice(few), 3: draw.choice(wide)} for _ in range(draw.randint(1, 20))]
        types = {1: A.type, 2: B.type, 3: WIDE.type}
        batch = pa.record_batch([pa.array([None, *(row[c] for row in rows)], types[c]) for c in types], [f"c{c}" for c in types])
        found = _outcome(lambda batch=batch: run(batch.slice(1)).to_pylist())
        assert found == _outcome(lambda rows=rows: [evaluate(tree, row) for row in rows])
        seen.add(found == "error")
    assert seen == ({False} if name in ("constants", "null", "scales", "large constant") else {False, True})


def test_no_rows() -> None:
    batch = pa.record_batch([pa.array([], A.type), pa.array([], B.type)], ["c1", "c2"])
    made = compile_scalar(TREES["price"])(batch)
    assert len(made) == 0 and made.type == dec(18, 4)
