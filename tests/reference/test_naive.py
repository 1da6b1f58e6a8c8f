"""What the naive evaluator does that DuckDB's answers do not show; else it is compared with DuckDB wherever SQL is tested."""

from decimal import Decimal

import pyarrow as pa
import pytest

from optimizer.algebra import Aggregate, AggregateCall, AggregateItem, ColumnRef, Columns, Filter, Literal, Tree, Values
from optimizer.errors import ExecutionError
from tests.reference.naive import run

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
