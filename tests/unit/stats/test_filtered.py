"""What a filter leaves of a column's figures."""

from typing import Any

import pyarrow as pa
import pytest

from optimizer.algebra.predicates import compare
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, InList, Literal, Scalar
from optimizer.stats.filtered import filtered_figures
from optimizer.stats.relation import ColumnFigures

INT, TEXT = pa.int64(), pa.string()
X, S = ColumnRef(0, INT), ColumnRef(1, TEXT)


def figures() -> dict[int, ColumnFigures]:
    common = {"a": 0.5, "b": 0.25, "c": 0.05}
    return {0: ColumnFigures(100.0, 0.2, 1.0, 100.0), 1: ColumnFigures(10.0, frequent=common)}


def number(value: int) -> Literal:
    return Literal(value, INT)


@pytest.mark.parametrize(
    ("conjuncts", "column", "left"),
    [
        ((compare("=", X, number(7)),), 0, {"ndv": 1.0, "null_fraction": 0.0, "low": 7.0, "high": 7.0}),
        (
            (compare("<=", X, number(50)), compare(">", X, number(40))), 0,
            {"ndv": 10.0, "null_fraction": 0.0, "low": 40.0, "high": 50.0},
        ),
        ((InList(S, (Literal("a", TEXT), Literal("b", TEXT))),), 1, {"ndv": 2.0, "frequent": {"a": 2 / 3, "b": 1 / 3}}),
    ],
    ids=["an equality", "a range", "a list"],
)  # fmt: skip
def test_what_is_left(conjuncts: tuple[Scalar, ...], column: int, left: dict[str, Any]) -> None:
    after = filtered_figures(conjuncts, figures())[column]
    assert all(getattr(after, name) == pytest.approx(value) for name, value in left.items())


def test_several_columns_change_nothing_but_that_they_are_not_null() -> None:
    before = figures()
    assert (
        filtered_figures((Call("or", (compare("=", X, number(1)), compare("=", S, Literal("a", TEXT))), BOOL),), before) is before
    )
    assert filtered_figures((Call("is_not_null", (X,), BOOL),), before)[0].null_fraction == 0.0
