"""The comparison of results accepts what is the same and nothing else. What the naive evaluator does that DuckDB's answers do not
show; else it is compared with DuckDB wherever SQL is tested."""

import math
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from optimizer.algebra import Aggregate, AggregateCall, AggregateItem, ColumnRef, Columns, Filter, Literal, Tree, Values
from optimizer.errors import ExecutionError
from tests.reference.compare import (
    OrderKey,
    assert_contained,
    assert_same_bag,
    assert_same_kinds,
    assert_same_list,
    assert_sorted,
    rows_of,
    same_value,
)
from tests.reference.naive import run


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (None, None), (1, Decimal("1.00")), (Decimal("1.5"), Decimal("1.50")), (0.1 + 0.2, 0.3), (1e20, 1e20 * (1 + 1e-12)),
        (math.nan, math.nan), (math.inf, math.inf), (0.0, -0.0), (2.0, 2), ("a", "a"), (True, True),
        (date(2020, 1, 1), date(2020, 1, 1)),
    ],
)  # fmt: skip
def test_same(a: object, b: object) -> None:
    assert same_value(a, b)
    assert same_value(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (None, 0), (None, math.nan), (1, True), (1.0, True), (1, "1"), (1.0, 1.0 + 1e-8), (1e-20, 2e-20), (math.inf, -math.inf),
        (math.nan, 0.0), (math.inf, 1e308), (Decimal("1.5"), Decimal("1.51")), (10**18, 10**18 + 1),
        (date(2020, 1, 1), datetime(2020, 1, 1)), (2.5, "2.5"),
    ],
)  # fmt: skip
def test_different(a: object, b: object) -> None:
    assert not same_value(a, b)
    assert not same_value(b, a)


def fails(check: Callable[..., None], *args: object) -> str:
    with pytest.raises(AssertionError) as failure:
        check(*args)
    return str(failure.value)


def test_bags_count_duplicates() -> None:
    assert_same_bag([(1, "a"), (2, None), (1, "a")], [(2, None), (1, "a"), (Decimal("1.0"), "a")])
    assert_same_bag([], [])
    message = fails(assert_same_bag, [(1,), (1,), (None,)], [(1,), (2,), (None,)])
    assert "missing: 1\n  (1)" in message
    assert "too many: 1\n  (2)" in message
    assert "missing: 2\n  (1)  x 2" in fails(assert_same_bag, [(1,), (1,)], [])
    assert fails(assert_same_bag, [(1, 2)], [(1,)])


def test_bags_match_floats_that_are_close() -> None:
    close = 1 + 1e-12
    assert_same_bag([(1, 0.1), (1, 0.3), (2, 0.1)], [(2, 0.1 * close), (1, 0.3 * close), (1, 0.1 / close)])
    # sorting by the floats puts these in different orders, since the first floats only nearly agree
    assert_same_bag([(1.0, 5.0), (1.0 * close, 4.0)], [(1.0 * close, 5.0), (1.0, 4.0)])
    assert_same_bag([(0.5, None), (None, 0.5)], [(None, 0.5), (0.5, None)])
    assert fails(assert_same_bag, [(1, 0.1), (2, 0.2)], [(1, 0.2), (2, 0.1)])
    assert fails(assert_same_bag, [(0.1,), (None,)], [(0.1,), (0.1,)])


def test_lists_have_an_order() -> None:
    assert_same_list([(1,), (2,)], [(1,), (2,)])
    assert "another order" in fails(assert_same_list, [(1,), (2,)], [(2,), (1,)])
    assert "missing" in fails(assert_same_list, [(1,), (2,)], [(1,)])


def test_sortedness() -> None:
    rows = [(3, "a"), (3, "b"), (1, "z"), (None, "a")]
    assert_sorted(rows, [OrderKey(0, descending=True)])
    assert_sorted(rows, [OrderKey(0, descending=True), OrderKey(1)])
    assert_sorted([], [OrderKey(0)])
    assert_sorted([(None,), (math.nan,), (1.0,)], [OrderKey(0, descending=True, nulls_first=True)])
    assert "rows 0 and 1" in fails(assert_sorted, rows, [OrderKey(0, descending=True), OrderKey(1, descending=True)])
    assert fails(assert_sorted, rows, [OrderKey(0, descending=True, nulls_first=True)])
    assert fails(assert_sorted, [(math.nan,), (1.0,)], [OrderKey(0)])


def test_containment() -> None:
    everything = [(1,), (1,), (2,)]
    assert_contained(everything, [(1,), (1,)], 2)
    assert_contained(everything, [], 0)
    assert fails(assert_contained, everything, [(2,), (2,)], 2)
    assert fails(assert_contained, everything, [(1,)], 2)


def test_kinds_ignore_widths_but_not_meaning() -> None:
    def table(*types: pa.DataType, values: tuple = (1,)) -> pa.Table:
        return pa.table([pa.array(values).cast(type) for type in types], names=[f"c{i}" for i in range(len(types))])

    assert_same_kinds(table(pa.int32(), pa.decimal128(38, 0)), table(pa.int64(), pa.int64()))
    assert_same_kinds(table(pa.int32(), values=(None,)), table(pa.string(), values=(None,)))
    assert_same_kinds(table(pa.int32(), values=()), table(pa.string(), values=()))
    assert fails(assert_same_kinds, table(pa.int32()), table(pa.string(), values=(None,)))
    assert fails(assert_same_kinds, table(pa.float64()), table(pa.decimal128(20, 1)))
    assert fails(assert_same_kinds, table(pa.bool_()), table(pa.int8()))
    assert fails(assert_same_kinds, table(pa.bool_()), table(pa.bool_(), pa.bool_()))
    dates = pa.table([pa.array([date(2020, 1, 1)])], names=["c"])
    assert fails(assert_same_kinds, dates, pa.table([dates.column(0).cast(pa.timestamp("us"))], names=["c"]))


def test_rows_of_a_table_with_repeated_names() -> None:
    assert rows_of(pa.table([pa.array([1, 2]), pa.array(["a", None])], names=["x", "x"])) == [(1, "a"), (2, None)]


LARGEST = Literal(Decimal(10**38 - 1), pa.decimal128(38, 0))


def columns() -> Columns:
    result = Columns()
    for name in ("a", "f"):
        result.new(name, LARGEST.type, nullable=True)
    return result


def test_a_sum_that_is_too_large_raises() -> None:
    values = Tree(Values((0,), (LARGEST.type,), ((LARGEST,), (LARGEST,))))

    def over_all(function: str, type: pa.DataType) -> Tree:
        call = AggregateCall(function, (ColumnRef(0, LARGEST.type),), False, None, type)
        return Tree(Aggregate((), (AggregateItem(1, call),)), (values,))

    with pytest.raises(ExecutionError):
        run(over_all("sum", LARGEST.type), columns(), {})
    assert run(over_all("avg", pa.float64()), columns(), {}) == [{1: 1e38}]


def test_deep_trees_need_no_deep_stack() -> None:
    tree = Tree(Values((0,), (LARGEST.type,), ((LARGEST,),)))
    for _ in range(3000):
        tree = Tree(Filter(()), (tree,))
    assert len(run(tree, columns(), {})) == 1
