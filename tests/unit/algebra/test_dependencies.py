"""Functional dependencies through operators: what survives, and what must not."""

from random import Random

import pyarrow as pa
import pytest

from optimizer.algebra import Join, JoinKind, SetOpKind, column_ids, column_set, compare
from optimizer.algebra.logical import Aggregate, AggregateItem, Filter, Limit, Project, ProjectItem, Scan, ScanColumn, SetOp
from optimizer.algebra.props import Dependency, LogicalProps
from optimizer.algebra.scalars import AggregateCall, Call, Cast, ColumnRef, Literal, Scalar

I64, F64, STR = pa.int64(), pa.float64(), pa.string()
# left: id is its key, 1 and 2 are other columns; right: 4 is its key, 5 and 6 are others
LEFT, RIGHT = 0b111, 0b1110000


def scan(first: int, key: bool = True, not_null: int = 0) -> LogicalProps:
    columns = tuple(ScanColumn(first + i, f"c{i}") for i in range(3))
    return Scan("t", "t", columns, (1 << first,) if key else (), not_null).derive_props([])


def ref(id: int, type: pa.DataType = I64) -> ColumnRef:
    return ColumnRef(id, type)


def equal(a: int, b: int) -> Scalar:
    return compare("=", ref(a), ref(b))


def joined(
    kind: JoinKind, *predicate: Scalar, left: LogicalProps | None = None, right: LogicalProps | None = None
) -> LogicalProps:
    return Join(kind, predicate).derive_props([left or scan(0), right or scan(4)])


def determines(props: LogicalProps, *columns: int) -> set[int]:
    closed = props.closure(column_set(columns))
    return {c for c in range(12) if closed >> c & 1}


INNER = joined(JoinKind.INNER, equal(1, 5))
BELOW_5 = [compare("<", ref(c), Literal(5, I64)) for c in range(7)]
SEVENS = Filter((compare("=", ref(6), Literal(7, I64)),)).derive_props([scan(4)])
X, ONE = ref(1, F64), Literal(1.0, F64)
ZEROS = Filter((compare("=", X, Literal(0.0, F64)),)).derive_props([scan(0, key=False)])
BY_ZERO = Project((ProjectItem(1, X), ProjectItem(8, Call("/", (ONE, X), F64)), ProjectItem(9, Call("+", (ONE, X), F64))))
SUM = Call("+", (ref(1), ref(2)), I64)
DETERMINED: dict[str, list[tuple[LogicalProps, dict[tuple[int, ...], set[int]]]]] = {
    "dependencies chain through equalities": [
        (joined(JoinKind.INNER, equal(1, 4)), {(1,): {1, 4, 5, 6}, (0,): {0, 1, 2, 4, 5, 6}}),
    ],
    # 1 decides whether there is a match, and then equals 5, which is NULL for all left rows without a match
    "a left join keeps the left side": [
        (joined(JoinKind.LEFT, equal(1, 5), right=right), {(0,): {0, 1, 2, 5}, (1,): {1, 5}, (5,): {5}})
        for right in (scan(4), scan(4, not_null=1 << 4))
    ],
    "a key that is NULL itself looks like a row that a left join extended": [
        (joined(JoinKind.LEFT, equal(1, 5), right=scan(4, not_null=1 << 4)), {(4,): {4, 5, 6}}),
        (joined(JoinKind.LEFT, equal(1, 5)), {(4,): {4}}),
        (joined(JoinKind.LEFT, equal(1, 4)), {(4,): {4, 5, 6}, (1,): {1, 4, 5, 6}}),  # no match has NULL
    ],
    "a condition on other left columns decides about matches too": [
        (joined(JoinKind.LEFT, equal(1, 5), BELOW_5[2]), {(1,): {1}}),
        (joined(JoinKind.LEFT, equal(1, 5), BELOW_5[6]), {(1,): {1, 5}}),
    ],
    "constants of an extended side follow what is never NULL there": [
        (joined(JoinKind.LEFT, equal(1, 5), right=SEVENS), {(): set(), (5,): {5, 6}}),
    ],
    "the left side of a right or full join is that of its rows where its key is never NULL": [
        (joined(kind, equal(1, 5), left=scan(0, not_null=not_null)), {(0,): {0, 1, 2} if not_null else {0}})
        for kind in (JoinKind.RIGHT, JoinKind.FULL) for not_null in (0, 1)
    ],
    # key 0 may be NULL in one unmatched left row, and is NULL in every unmatched right row
    "a full join keeps rows that the condition says nothing of": [(joined(JoinKind.FULL, equal(0, 4)), {(0,): {0}})],
    "semi and anti joins keep the left side": [
        (joined(kind, equal(1, 5)), {(0,): {0, 1, 2}}) for kind in (JoinKind.SEMI, JoinKind.ANTI)
    ],
    "computed columns are determined by what they read": [
        (
            Project((*(ProjectItem(c, ref(c)) for c in (1, 2)), ProjectItem(8, SUM), ProjectItem(9, SUM))).derive_props(
                [scan(0, key=False)]
            ),
            {(1, 2): {1, 2, 8, 9}, (1,): {1}, (8,): {8, 9}},  # the same value twice
        ),
        (
            Project((ProjectItem(1, ref(1)), ProjectItem(8, Call("random", (), F64)))).derive_props([scan(0)]),
            {(): set(), (1,): {1}},
        ),
    ],
    # 0.0 and -0.0 are equal, 1 / 0.0 and 1 / -0.0 are not; nor is the quotient constant where x = 0.0
    "what tells zeros apart is not determined": [
        (BY_ZERO.derive_props([scan(0, key=False)]), {(1,): {1, 9}}),
        (BY_ZERO.derive_props([ZEROS]), {(): {1, 9}}),
        (Project((ProjectItem(1, X), ProjectItem(8, Cast(X, STR, False)))).derive_props([ZEROS]), {(): {1}}),
    ],
    "an equality with a computed value is a dependency": [
        (
            Filter((compare("=", ref(1), Call("+", (ref(2), Literal(1, I64)), I64)),)).derive_props([scan(0, key=False)]),
            {(2,): {1, 2}, (1,): {1}},
        ),
    ],
    "rows of a difference are rows of the first input, those of a union are not": [
        (SetOp(kind, all, (8, 9, 10), ((0, 2, 6), (4, 5, 6))).derive_props([INNER, scan(4)]), {(8,): found})
        for kind, all, found in (
            (SetOpKind.EXCEPT, True, {8, 9}), (SetOpKind.INTERSECT, False, {8, 9}), (SetOpKind.UNION, True, {8}),
        )
    ],
    "a limit keeps what its input has": [(Limit((), 0, 5).derive_props([INNER]), {(0,): {0, 1, 2, 5}})],
}  # fmt: skip


@pytest.mark.parametrize("claim", DETERMINED)
def test_what_columns_determine(claim: str) -> None:
    for props, expected in DETERMINED[claim]:
        assert {asked: determines(props, *asked) for asked in expected} == expected


def test_a_key_still_determines_its_row_when_rows_repeat() -> None:
    props = joined(JoinKind.INNER, equal(1, 5))
    assert not props.unique_on(1)
    assert determines(props, 0) >= {0, 1, 2, 5}
    assert determines(props, 4) >= {4, 5, 6, 1}
    assert determines(props, 2) == {2}
    assert props.unique_on(column_set((0, 4)))


def test_left_joins_in_either_order_leave_the_same_dependencies() -> None:
    """Both sides of the inner one of A left join (B left join C) are NULL in the rows that the outer one adds."""
    a, b, c = scan(0), scan(4), scan(8)
    first, second = (equal(1, 4),), (equal(5, 9),)
    left = Join(JoinKind.LEFT, second).derive_props([Join(JoinKind.LEFT, first).derive_props([a, b]), c])
    right = Join(JoinKind.LEFT, first).derive_props([a, Join(JoinKind.LEFT, second).derive_props([b, c])])
    for column in range(11):
        if column not in (3, 7):
            assert determines(left, column) == determines(right, column)
    assert determines(left, 5) == {5, 9}


def test_a_semi_join_keeps_what_holds_of_the_pairs_that_match() -> None:
    """The left column that equals a constant is one, two that equal one column are equal, and a key of the pairs is one."""
    seven = Filter((compare("=", ref(5), Literal(7, I64)),)).derive_props([scan(4)])
    found = joined(JoinKind.SEMI, equal(1, 5), equal(2, 6), equal(0, 6), right=seven)
    assert found.columns == LEFT and found.constants == 0b010 and found.equivalences == (0b101,)
    assert joined(JoinKind.SEMI, equal(1, 5), equal(2, 6), left=scan(0, key=False)).keys == ()
    one = Limit((), 0, 1).derive_props([scan(4)])
    assert joined(JoinKind.SEMI, equal(1, 5), left=scan(0, key=False), right=one).keys == ()
    anti = joined(JoinKind.ANTI, equal(1, 5), right=seven)
    assert not anti.constants and not anti.equivalences


def test_columns_that_equal_one_literal_are_equal() -> None:
    """Not those that equal NULL, which no row does, or literals of two types."""
    seven, eight, none = (Literal(value, I64) for value in (7, 8, None))
    for values, classes in (
        ((seven, seven, seven), (0b111,)),
        ((seven, eight, seven), (0b101,)),
        ((none, none, seven), ()),
        ((seven, Literal(7, pa.int32()), eight), ()),
    ):
        tests = tuple(Call("=", (ref(i, value.type), value), pa.bool_()) for i, value in enumerate(values))
        assert Filter(tests).derive_props([scan(0)]).equivalences == classes


def test_a_dependency_outlives_the_columns_between() -> None:
    """0 determines 1, 1 equals 4, 4 determines 6: without 1 and 4, 0 still determines 6."""
    below = joined(JoinKind.INNER, equal(1, 4), left=joined(JoinKind.INNER, equal(2, 9), right=scan(8, key=False)))
    props = Project((ProjectItem(0, ref(0)), ProjectItem(6, ref(6)), ProjectItem(9, ref(9)))).derive_props([below])
    assert determines(props, 0) == {0, 6, 9}
    assert not props.unique_on(1)


def test_grouping_keys_determine_the_aggregates_and_one_another() -> None:
    total = AggregateItem(8, AggregateCall("count", (), False, None, I64))
    below = joined(JoinKind.INNER, equal(1, 5))
    props = Aggregate((0, 2, 6), (total,)).derive_props([below])
    assert props.unique_on(column_set((0, 6)))  # 0 determines 2
    assert determines(props, 0) == {0, 2}
    assert determines(props, 0, 6) == {0, 2, 6, 8}
    assert not props.unique_on(column_set((2, 6)))


def test_a_reduced_set_is_the_same_whatever_it_was_reduced_from() -> None:
    props = joined(JoinKind.INNER, equal(1, 4))
    assert props.without_determined(LEFT | RIGHT) == 1
    assert props.without_determined(props.closure(1 << 4)) == props.without_determined(props.closure(1 << 1)) == 0b10


def test_runs_have_the_same_columns_whatever_they_are_asked_by() -> None:
    """Random equivalences, dependencies, keys and constants over eight columns: all sets against one another."""
    for seed in range(30):
        random = Random(seed)
        some = [random.randrange(1, 256) for _ in range(5)]
        keys = tuple(some[:1]) if seed % 2 else ()
        equal = (0b10010,) if seed % 3 else (0b10010, 0b1100000)
        props = LogicalProps(0xFF, 0, keys, seed % 5 & 1, equal, (Dependency(some[1], some[2]), Dependency(some[3], some[4])))
        found: dict[int, set[int]] = {}
        for columns in range(256):
            runs = props.run_columns(columns)
            assert props.closure(runs) == props.closure(columns)
            assert all(not props.closure(runs ^ 1 << c) >> c & 1 for c in column_ids(runs))
            found.setdefault(props.closure(columns), set()).add(runs)
        assert all(len(runs) == 1 for runs in found.values())


def test_what_else_determines_columns() -> None:
    """ID 0 determines 1 to 3, and 4 (equal to 7) determines 5 and 6: one of these in the place of two or more."""
    props = LogicalProps(0xFF, 0, (), 0, (0b10010000,), (Dependency(1, 0b1110), Dependency(1 << 7, 0b1100000)))
    assert props.finer(0b0010) == props.finer(0b100010) == ()
    assert props.finer(0b0110) == (0b1,)
    assert props.finer(0b100110) == (0b100001,)
    assert props.finer(0b1100110) == (0b1100001, 0b10110, 0b10001)
