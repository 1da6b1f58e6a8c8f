"""What counts as the same result of two plans."""

from decimal import Decimal

import pyarrow as pa
import pytest

from experiments.same_rows import difference

NAN = float("nan")
LIST, INTERVAL = pa.list_(pa.float64()), pa.month_day_nano_interval()


def table(*columns: tuple[pa.DataType, list[object]]) -> pa.Table:
    """Columns of one name: results may have such."""
    arrays = [pa.array(values, type) for type, values in columns]
    return pa.Table.from_arrays(arrays, names=["x"] * len(arrays))


def doubles(*values: float | None) -> pa.Table:
    return table((pa.float64(), list(values)))


def test_bags() -> None:
    a = table((pa.int64(), [1, 2, 2, None]), (pa.string(), ["a", None, "b", "c"]))
    b = table((pa.int64(), [None, 2, 1, 2]), (pa.string(), ["c", "b", "a", None]))
    assert difference(a, b) is None
    assert difference(a, a.slice(0, 3)) == "3 rows, not 4"
    swapped = table((pa.int64(), [None, 2, 1, 2]), (pa.string(), ["c", "a", "b", None]))
    assert difference(a, swapped) == "other rows: 2 of 4 differ"
    more_often = table((pa.int64(), [1, 1, 2, None]), (pa.string(), ["a", "a", "b", "c"]))
    assert difference(a, more_often) == "other rows: 1 of 4 differ"


def test_many_other_rows_are_not_counted_to_the_end() -> None:
    left, right = (doubles(*(number + more for number in range(2000))) for more in (0.0, 0.5))
    assert difference(left, right) == "other rows: 1,000 or more of 2,000 differ"


def test_order_of_keys() -> None:
    a = table((pa.int64(), [1, 1, 2]), (pa.string(), ["a", "b", "c"]))
    ties = table((pa.int64(), [1, 1, 2]), (pa.string(), ["b", "a", "c"]))
    unsorted = table((pa.int64(), [1, 2, 1]), (pa.string(), ["a", "c", "b"]))
    assert difference(a, ties, [0]) is None
    assert difference(a, unsorted) is None
    assert difference(a, unsorted, [0]) == "the same rows in another order: column 1 is not sorted alike"
    assert difference(a, ties, [0, 1]) is not None


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (doubles(0.1 + 0.2, None), doubles(None, 0.3), True),
        (doubles(1.0), doubles(1.0 + 1e-6), False),
        (doubles(NAN, 1.0), doubles(1.0, NAN), True),
        (doubles(NAN), doubles(None), False),
        (doubles(None), doubles(0.0), False),
        (doubles(float("inf")), doubles(float("inf")), True),
        (doubles(float("inf")), doubles(-float("inf")), False),
        (doubles(0.0), doubles(-0.0), True),
        (doubles(), doubles(), True),
        (table((pa.bool_(), [True, None])), table((pa.bool_(), [None, True])), True),
        (table((LIST, [[1.0, NAN], None])), table((LIST, [None, [1.0 + 1e-12, NAN]])), True),
        (table((LIST, [[1.0], [2.0]])), table((LIST, [[1.0], [2.0, None]])), False),
        (table((pa.struct([("a", LIST)]), [{"a": [NAN]}])), table((pa.struct([("a", LIST)]), [{"a": [NAN]}])), True),
        (table((INTERVAL, [(0, 1, 0), None])), table((INTERVAL, [None, (0, 1, 0)])), True),
        (table((pa.bool_(), [True])), table((pa.bool_(), [False])), False),
        (table((pa.int32(), [1])), table((pa.int64(), [1])), False),
        (table((pa.decimal128(9, 2), [Decimal("1.10")])), table((pa.decimal128(9, 2), [Decimal("1.11")])), False),
        (table((pa.date32(), [1, 2])), table((pa.date32(), [2, 1])), True),
        (table((pa.null(), [None, None])), table((pa.null(), [None, None])), True),
    ],
)
def test_values(left: pa.Table, right: pa.Table, same: bool) -> None:
    assert (difference(left, right) is None) is same
    assert (difference(right, left) is None) is same


def test_doubles_that_differ_a_little_may_sort_otherwise() -> None:
    """1 and 1 + ε swap places when sorted, so that the second column no longer lines up; the rows are the same all the same."""
    step = 1e-12
    a = table((pa.float64(), [1.0, 1.0 + step]), (pa.float64(), [5.0, 9.0]))
    b = table((pa.float64(), [1.0 + step, 1.0]), (pa.float64(), [5.0, 9.0]))
    assert difference(a, b) is None
    c = table((pa.float64(), [1.0 + step, 1.0]), (pa.float64(), [5.0, 8.0]))
    assert difference(a, c) == "other rows: 1 of 2 differ"
