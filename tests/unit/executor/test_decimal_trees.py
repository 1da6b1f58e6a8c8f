"""Arithmetic of decimals on 64-bit integers: values and errors are the reference's, where sizes fit and where they do not."""

import random
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from executor.arrow.comparisons import KERNELS, compare
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


COMPARED = {
    dec(15, 2): [Decimal("1.10"), None, Decimal("-9999999999999.99"), Decimal(0), Decimal("9999999999999.99")],
    dec(18, 0): [Decimal(10) ** 18 - 1, None, 1 - Decimal(10) ** 18, Decimal(0)],
    dec(38, 2): [Decimal(10) ** 30, None, Decimal(0)],
    pa.int64(): [-(2**63), None, 2**63 - 1, 0],
    pa.int8(): [-128, None, 127, 0],
    pa.uint64(): [2**64 - 1, None, 0, 2**63],
    pa.date32(): [0, None, -719162, 2932896],
    pa.timestamp("us"): [0, None, -(2**60), 2**60],
    pa.string(): ["", None, "a", "b"],
    pa.bool_(): [True, None, False],
}


@pytest.mark.parametrize("type", COMPARED, ids=str)
@pytest.mark.parametrize("function", KERNELS)
def test_comparisons_are_arrows(type: pa.DataType, function: str) -> None:
    values = COMPARED[type]
    pairs = [(a, b) for a in values for b in values]
    left, right = (pa.array([None, *side], type) for side in zip(*pairs, strict=True))
    kernel = KERNELS[function]
    for a, b in ((left, right), (left.slice(3), right.slice(3)), (left.drop_null(), left.drop_null()), (left[:0], right[:0])):
        assert compare(function, a, b).equals(kernel(a, b))
    for constant in pa.array(values, type):
        for array in (left, left.slice(2, 5), left.drop_null()):
            assert compare(function, array, constant).equals(kernel(array, constant))
            assert compare(function, constant, array).equals(kernel(constant, array))
        assert compare(function, constant, constant).equals(kernel(constant, constant))
    assert compare(function, left, right).null_count == pc.sum(pc.is_null(kernel(left, right))).as_py()
