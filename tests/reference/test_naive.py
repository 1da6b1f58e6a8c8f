"""The naive evaluator against results written by hand, operator by operator."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from optimizer.algebra.columns import Columns
from optimizer.algebra.kinds import JoinKind, SetOpKind
from optimizer.algebra.logical import (
    Aggregate,
    AggregateItem,
    Filter,
    Limit,
    Project,
    ProjectItem,
    Scan,
    ScanColumn,
    SetOp,
    Values,
)
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.query import BoundQuery, OutputColumn
from optimizer.algebra.scalars import BOOL, AggregateCall, Call, ColumnRef, Literal, Scalar
from optimizer.algebra.traits import SortKey
from optimizer.algebra.trees import Tree
from optimizer.errors import ExecutionError
from tests.reference.naive import run, run_query

INT, TEXT = pa.int32(), pa.string()
TABLES = {
    "l": pa.table({"a": pa.array([1, 1, 2, None], INT), "b": pa.array(["x", "y", "x", None], TEXT)}),
    "r": pa.table({"c": pa.array([1, 3, None, 1], INT)}),
    "none": pa.table({"e": pa.array([], INT)}),
}
A, B, C, E, F = range(5)


def columns() -> Columns:
    result = Columns()
    for name, type in [("a", INT), ("b", TEXT), ("c", INT), ("e", INT), ("f", pa.decimal128(38, 0))]:
        result.new(name, type, nullable=True)
    return result


def ref(id: int) -> Scalar:
    return ColumnRef(id, columns()[id].type)


def number(value: int | None) -> Scalar:
    return Literal(value, INT)


LEFT = Tree(Scan("l", "l", (ScanColumn(A, "a"), ScanColumn(B, "b"))))
RIGHT = Tree(Scan("r", "r", (ScanColumn(C, "c"),)))
NONE = Tree(Scan("none", "none", (ScanColumn(E, "e"),)))


def rows(tree: Tree, *ids: int) -> list[tuple]:
    return sorted((tuple(row[i] for i in ids) for row in run(tree, columns(), TABLES)), key=repr)


def test_scan_filter_project_values() -> None:
    positive = Call(">", (ref(A), number(1)), BOOL)
    assert rows(LEFT, A, B) == [(1, "x"), (1, "y"), (2, "x"), (None, None)]
    assert rows(Tree(Filter((positive,)), (LEFT,)), A) == [(2,)]
    scan = Scan("l", "l", (ScanColumn(A, "a"),), predicate=(Call("=", (ref(A), number(1)), BOOL),), limit=1)
    assert rows(Tree(scan), A) == [(1,)]
    plus = Call("+", (ref(A), number(1)), INT)
    assert rows(Tree(Project((ProjectItem(C, plus),)), (LEFT,)), C) == [(2,), (2,), (3,), (None,)]
    assert rows(Tree(Values((A, B), (INT, TEXT), ((number(1), Literal(None, TEXT)),))), A, B) == [(1, None)]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (JoinKind.INNER, [(1, 1), (1, 1), (1, 1), (1, 1)]),
        (JoinKind.LEFT, [(1, 1), (1, 1), (1, 1), (1, 1), (2, None), (None, None)]),
        (JoinKind.RIGHT, [(1, 1), (1, 1), (1, 1), (1, 1), (None, 3), (None, None)]),
        (JoinKind.FULL, [(1, 1), (1, 1), (1, 1), (1, 1), (2, None), (None, 3), (None, None), (None, None)]),
    ],
)
def test_joins(kind: JoinKind, expected: list[tuple]) -> None:
    join = Join(kind, (Call("=", (ref(A), ref(C)), BOOL),))
    assert rows(Tree(join, (LEFT, RIGHT)), A, C) == expected


def test_joins_that_keep_one_side() -> None:
    equal = (Call("=", (ref(A), ref(C)), BOOL),)
    assert rows(Tree(Join(JoinKind.SEMI, equal), (LEFT, RIGHT)), A) == [(1,), (1,)]
    assert rows(Tree(Join(JoinKind.ANTI, equal), (LEFT, RIGHT)), A) == [(2,), (None,)]
    assert rows(Tree(Join(JoinKind.ANTI, ()), (LEFT, NONE)), A) == [(1,), (1,), (2,), (None,)]
    assert len(rows(Tree(Join(JoinKind.INNER, ()), (LEFT, RIGHT)), A, C)) == 16
    assert rows(Tree(Join(JoinKind.FULL, ()), (LEFT, NONE)), A, E) == [(1, None), (1, None), (2, None), (None, None)]


def call(function: str, *args: Scalar, distinct: bool = False, filter: Scalar | None = None) -> AggregateCall:
    types = {"count": pa.int64(), "sum": pa.decimal128(38, 0), "avg": pa.float64()}
    return AggregateCall(function, args, distinct, filter, types.get(function, args[0].type if args else INT))


@pytest.mark.parametrize(
    ("aggregate", "over_rows", "over_nothing"),
    [
        (call("count"), 4, 0),
        (call("count", ref(A)), 3, 0),
        (call("count", ref(A), distinct=True), 2, 0),
        (call("sum", ref(A)), Decimal(4), None),
        (call("sum", ref(A), distinct=True), Decimal(3), None),
        (call("avg", ref(A), distinct=True), 1.5, None),
        (call("min", ref(B)), "x", None),
        (call("max", ref(A)), 2, None),
        (call("count", filter=Call(">", (ref(A), number(1)), BOOL)), 1, 0),
        (call("sum", ref(A), filter=Call("is_null", (ref(A),), BOOL)), None, None),
    ],
)
def test_aggregates(aggregate: AggregateCall, over_rows: object, over_nothing: object) -> None:
    op = Aggregate((), (AggregateItem(F, aggregate),))
    assert rows(Tree(op, (LEFT,)), F) == [(over_rows,)]
    nothing = Tree(Filter((Literal(False, BOOL),)), (LEFT,))
    assert rows(Tree(op, (nothing,)), F) == [(over_nothing,)]
    assert rows(Tree(Aggregate((A,), (AggregateItem(F, aggregate),)), (nothing,)), F) == []


def test_a_sum_that_is_too_large_raises() -> None:
    largest = Literal(Decimal(10**38 - 1), pa.decimal128(38, 0))
    values = Tree(Values((A,), (largest.type,), ((largest,), (largest,))))
    column = ColumnRef(A, largest.type)
    with pytest.raises(ExecutionError):
        rows(Tree(Aggregate((), (AggregateItem(F, call("sum", column)),)), (values,)), F)
    assert rows(Tree(Aggregate((), (AggregateItem(F, call("avg", column)),)), (values,)), F) == [(1e38,)]


def test_grouping_takes_null_for_a_value() -> None:
    op = Aggregate((B,), (AggregateItem(F, call("count")),))
    assert rows(Tree(op, (LEFT,)), B, F) == [("x", 2), ("y", 1), (None, 1)]


@pytest.mark.parametrize(
    ("kind", "all", "expected"),
    [
        (SetOpKind.UNION, True, [1, 1, 1, 1, 2, 3, None, None]),
        (SetOpKind.UNION, False, [1, 2, 3, None]),
        (SetOpKind.INTERSECT, True, [1, 1, None]),
        (SetOpKind.INTERSECT, False, [1, None]),
        (SetOpKind.EXCEPT, True, [2]),
        (SetOpKind.EXCEPT, False, [2]),
    ],
)
def test_set_operations(kind: SetOpKind, all: bool, expected: list) -> None:
    op = SetOp(kind, all, (E,), ((A,), (C,)))
    assert rows(Tree(op, (LEFT, RIGHT)), E) == [(v,) for v in expected]


def test_except_all_takes_away_one_for_one() -> None:
    one = Tree(Values((C,), (INT,), ((number(1),),)))
    assert rows(Tree(SetOp(SetOpKind.EXCEPT, True, (E,), ((A,), (C,))), (LEFT, one)), E) == [(1,), (2,), (None,)]


def test_limit_and_the_order_of_the_result() -> None:
    last_first = (SortKey(A, descending=True, nulls_first=True), SortKey(B))
    assert rows(Tree(Limit(last_first, 1, 2), (LEFT,)), A, B) == [(1, "x"), (2, "x")]
    assert rows(Tree(Limit(last_first, 3, None), (LEFT,)), A, B) == [(1, "y")]
    assert rows(Tree(Limit((), 0, 0), (LEFT,)), A) == []
    bound = BoundQuery(LEFT, columns(), (OutputColumn("b", B), OutputColumn("a", A), OutputColumn("b", B)), last_first)
    assert run_query(bound, TABLES) == [(None, None, None), ("x", 2, "x"), ("x", 1, "x"), ("y", 1, "y")]


def test_deep_trees_need_no_deep_stack() -> None:
    tree = LEFT
    for _ in range(3000):
        tree = Tree(Filter(()), (tree,))
    assert len(rows(tree, A)) == 4
