"""Selectivities where the most common values of a column are known."""

import math

import pyarrow as pa
import pytest

from optimizer.algebra.predicates import compare
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, InList, Literal, Scalar
from optimizer.catalog.table import ColumnStats
from optimizer.stats.relation import ColumnFigures, frequent_values
from optimizer.stats.selectivity import GUESS_LIKE, GUESS_PREFIX, selectivity

TEXT = ColumnRef(0, pa.string())
NUMBER, REAL = ColumnRef(1, pa.int32()), ColumnRef(3, pa.float64())
# of the values that are not NULL half are [us], a fifth [gb]; the other 0.3 are 30 values
FIGURES = {
    0: ColumnFigures(32, 0.1, frequent={"[us]": 0.5, "[gb]": 0.2}),
    1: ColumnFigures(6, 0.0, 1, 7, frequent={7: 0.6, 1: 0.25}),
    2: ColumnFigures(18),
    3: ColumnFigures(4, 0.0, 1.0, 3.0, frequent={math.nan: 0.4, 1.0: 0.3, 3.0: 0.3}),
    4: ColumnFigures(4),
    5: ColumnFigures(3, frequent={"a": 0.1, "b": 0.1}),
}
# NaN is above all numbers
OF_NAN = (("=", math.nan, 0.4), ("=", 1.0, 0.3), ("<>", math.nan, 0.6), (">", 3.0, 0.4), (">=", 3.0, 0.7), ("<", 3.0, 0.3))


def text(value: str | None) -> Literal:
    return Literal(value, pa.string())


def like(pattern: str, column: Scalar = TEXT) -> Scalar:
    return Call("like", (column, text(pattern)), BOOL)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (compare("=", TEXT, text("[us]")), 0.45),
        (compare("=", TEXT, text("[fr]")), 0.009),
        (compare("<>", TEXT, text("[us]")), 0.45),
        (InList(TEXT, (text("[us]"), text("[fr]"), text("[gb]"))), 0.639),
        (InList(TEXT, (text("[us]"), text(None))), 0.45),  # NULL matches nothing
        (like("[us]"), 0.45),
        (like("[u%"), 0.9 * (0.5 + 0.3 * GUESS_PREFIX)),
        (like("%b]"), 0.9 * (0.2 + 0.3 * GUESS_LIKE)),
        (Call("ilike", (TEXT, text("[US]")), BOOL), 0.9 * (0.5 + 0.3 / FIGURES[0].ndv)),
        (like("%]"), 0.9 * (0.7 + 0.3 * GUESS_LIKE)),
        (Call("not", (like("%s%"),), BOOL), 0.9 * (0.5 - 0.3 * GUESS_LIKE)),
        (compare("=", NUMBER, Literal(7, pa.int32())), 0.6),
        (compare("=", NUMBER, Literal(3, pa.int32())), 0.15 / 4),
        (compare("=", NUMBER, Literal(9, pa.int32())), 0.0),
        (compare("=", ColumnRef(2, pa.string()), text("x")), 1 / 18),
        (like("%x%", ColumnRef(2, pa.string())), 0.1),
        *((compare(function, REAL, Literal(value, pa.float64())), share) for function, value, share in OF_NAN),
        *((like(pattern, ColumnRef(4, pa.string())), 0.25) for pattern in ("%x%", "x%")),  # one value at least of a few
        (compare("=", ColumnRef(5, pa.string()), text("c")), 0.1),  # no more than the common ones have
    ],
)
def test_shares(condition: Scalar, expected: float) -> None:
    assert selectivity(condition, FIGURES) == pytest.approx(expected)


def test_a_pattern_that_may_raise_is_not_tried() -> None:
    assert 0 < selectivity(Call("like", (TEXT, text("100!"), text("!")), BOOL), FIGURES) < 1


@pytest.mark.parametrize(
    ("frequent", "true", "false"),
    [({False: 1.0}, 0.0, 0.8), ({True: 1.0}, 0.8, 0.0), ({False: 0.25, True: 0.75}, 0.6, 0.2), ({}, 0.4, 0.4)],
)
def test_conditions_that_are_columns(frequent: dict[bool, float], true: float, false: float) -> None:
    """A column of nothing but FALSE was taken to be TRUE in half of its rows."""
    column, figures = ColumnRef(0, BOOL), {0: ColumnFigures(2, 0.2, frequent=frequent)}
    assert selectivity(column, figures) == pytest.approx(true)
    assert selectivity(Call("not", (column,), BOOL), figures) == pytest.approx(false)


def test_shares_of_rows_become_shares_of_values() -> None:
    stats = ColumnStats(nulls=25, mcv=(("a", 0.5), ("b", 0.25)))
    assert frequent_values(stats, 0.25) == pytest.approx({"a": 2 / 3, "b": 1 / 3})
    assert frequent_values(None, 0.0) == frequent_values(ColumnStats(), 0.0) == frequent_values(stats, 1.0) == {}


def test_null_extension_leaves_them() -> None:
    assert FIGURES[0].with_nulls(0.5).frequent == FIGURES[0].frequent
    assert selectivity(compare("=", TEXT, text("[us]")), {0: FIGURES[0].with_nulls(0.5)}) == pytest.approx(0.225)
