"""When a predicate is implied by what is filtered below: what inference and join removal ask."""

import pyarrow as pa
import pytest

from optimizer.algebra import Columns, Join, JoinKind, SetOpKind, Tree, compare
from optimizer.algebra.logical import Filter, Limit, Project, ProjectItem, Scan, ScanColumn, SetOp
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, InList, Literal, Scalar
from optimizer.prepass.known import holds, implied, known, settled

INT = pa.int64()
COLUMNS = Columns()
X, Y, Z = (COLUMNS.new(name, INT, True, f"t.{name}").id for name in "xyz")


def column(id: int) -> ColumnRef:
    return ColumnRef(id, INT)


def number(value: int) -> Literal:
    return Literal(value, INT)


def condition(function: str, id: int, value: int) -> Scalar:
    return compare(function, column(id), number(value))


def either(*branches: Scalar) -> Scalar:
    return Call("or", branches, BOOL)


def both(*parts: Scalar) -> Scalar:
    return Call("and", parts, BOOL)


IMPLIED = [
    (condition(">", X, 1), [condition(">", X, 1)]),
    (condition(">", X, 1), [condition(">", X, 2)]),
    (condition(">=", X, 1), [condition(">", X, 1)]),
    (condition("<=", X, 5), [condition("=", X, 5)]),
    (InList(column(X), (number(1), number(2), number(3))), [InList(column(X), (number(1), number(3)))]),
    (either(condition("=", X, 1), condition("<", Y, 0)), [condition("<", Y, -4)]),
    (either(condition("=", X, 1), condition("=", X, 2)), [either(condition("=", X, 2), condition("=", X, 1))]),
    (either(both(condition("=", X, 1), condition("=", Y, 1)), both(condition("=", X, 1), condition("=", Y, 2))),
     [condition("=", X, 1), either(condition("=", Y, 1), condition("=", Y, 2))]),
    (compare("=", column(X), column(Y)), [compare("=", column(X), column(Z)), compare("=", column(Z), column(Y))]),
    (compare("=", column(X), column(Y)), [condition("=", X, 3), condition("=", Y, 3)]),
]  # fmt: skip
NOT_IMPLIED = [
    (condition(">", X, 2), [condition(">", X, 1)]),
    (condition(">", X, 1), [condition(">=", X, 1)]),
    (condition(">", X, 1), [condition("<", X, 0)]),
    (condition(">", X, 1), [condition(">", Y, 1)]),
    (condition("<=", X, 5), [condition("=", X, 6)]),
    (both(condition("=", X, 1), condition("=", Y, 1)), [condition("=", X, 1)]),
    (condition("=", X, 1), [either(condition("=", X, 1), condition("=", Y, 1))]),
    (compare("=", column(X), column(Y)), [condition("=", X, 3), condition("=", Y, 4)]),
]


@pytest.mark.parametrize(
    ("asked", "facts", "expected"), [*((*each, True) for each in IMPLIED), *((*each, False) for each in NOT_IMPLIED)]
)
def test_implied(asked: Scalar, facts: list[Scalar], expected: bool) -> None:
    assert implied(asked, facts) == expected


def scan(predicate: tuple[Scalar, ...] = (), ids: tuple[int, ...] = (X, Y)) -> Tree:
    return Tree(Scan("t", "t", tuple(ScanColumn(id, COLUMNS[id].name) for id in ids), predicate=predicate))


def test_a_null_extended_side_says_something_of_values_but_not_of_rows() -> None:
    joined = Tree(Join(JoinKind.LEFT, (compare("=", column(X), column(Z)),)), (scan(), scan((condition(">", Z, 1),), (Z,))))
    assert known(joined, Z, COLUMNS, whole=False) == [condition(">", Z, 1)]
    assert known(joined, Z, COLUMNS, whole=True) == []
    assert not holds(joined, condition(">", Z, 1), COLUMNS)


def test_equal_columns_know_what_the_other_knows() -> None:
    below = scan((compare("=", column(X), column(Y)), condition(">", Y, 1)))
    assert known(below, X, COLUMNS, whole=True) == [condition(">", X, 1)]


def test_every_branch_of_a_union_has_to_say_it() -> None:
    out = COLUMNS.new("u", INT, True).id
    union = SetOp(SetOpKind.UNION, True, (out,), ((X,), (X,)))
    assert holds(Tree(union, (scan((condition("=", X, 3),)), scan((condition(">", X, 2),)))), condition(">", out, 1), COLUMNS)
    assert not holds(Tree(union, (scan((condition("=", X, 3),)), scan())), condition(">", out, 1), COLUMNS)


def test_a_limit_hides_nothing() -> None:
    assert holds(Tree(Limit((), 0, 3), (scan((condition(">", X, 2),)),)), condition(">", X, 1), COLUMNS)


def test_computed_columns_are_settled_but_hold_nothing() -> None:
    out = COLUMNS.new("p", INT, True).id
    project = Tree(Project((ProjectItem(out, Call("neg", (column(X),), INT)),)), (scan(),))
    assert settled(project, condition(">", out, 1), COLUMNS)
    assert not holds(project, condition(">", out, 1), COLUMNS)
    assert settled(Tree(Filter((condition(">", out, 1),)), (project,)), condition(">", out, 0), COLUMNS)
