"""What a filter leaves of a column's figures."""

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


def test_an_equality_leaves_one_value() -> None:
    after = filtered_figures((compare("=", X, number(7)),), figures())[0]
    assert (after.ndv, after.null_fraction, after.low, after.high) == (1.0, 0.0, 7.0, 7.0)


def test_a_range_leaves_its_share_of_the_values() -> None:
    after = filtered_figures((compare("<=", X, number(50)), compare(">", X, number(40))), figures())[0]
    assert after.ndv == pytest.approx(10.0)
    assert (after.low, after.high, after.null_fraction) == (40.0, 50.0, 0.0)


def test_a_list_leaves_its_values_and_their_shares() -> None:
    items: tuple[Scalar, ...] = (Literal("a", TEXT), Literal("b", TEXT))
    after = filtered_figures((InList(S, items),), figures())[1]
    assert after.ndv == 2.0
    assert after.frequent == pytest.approx({"a": 2 / 3, "b": 1 / 3})


def test_several_columns_change_nothing_but_that_they_are_not_null() -> None:
    before = figures()
    assert (
        filtered_figures((Call("or", (compare("=", X, number(1)), compare("=", S, Literal("a", TEXT))), BOOL),), before) is before
    )
    assert filtered_figures((Call("is_not_null", (X,), BOOL),), before)[0].null_fraction == 0.0
