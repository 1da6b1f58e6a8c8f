"""Mark joins, single joins and null-safe keys against nested loops in Python, on random rows with NULLs and duplicates."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from hand_made_plans import (
    DATE,
    DEC,
    F64,
    I32,
    I64,
    STR,
    TUNINGS,
    Plans,
    bag,
    less,
    listed,
    literal,
    node,
    random_rows,
    values,
)

from executor.arrow.key_index import KeyIndex
from optimizer.algebra.columns import column_ids
from optimizer.algebra.kinds import PLAIN_JOINS, JoinKind
from optimizer.algebra.logical import Join, LogicalOperator, MarkJoin, SingleJoin
from optimizer.algebra.physical import HashJoin, NestedLoopJoin, PhysicalOperator
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.scalars import BOOL, Call, Predicate, Scalar, conjunction
from optimizer.errors import ExecutionError
from optimizer.rules.implement.join_to_hash_join import split_keys
from tests.reference.naive import joined_rows

SIZES = [(0, 9), (9, 0), (0, 0), (23, 17), (17, 40)]
TYPES = [(I64,), (STR,), (I32, STR), (DEC, I64), (F64,), (DATE, pa.bool_()), (pa.decimal128(30, 2), F64, STR)]


def same(a: Scalar, b: Scalar) -> Scalar:
    return Call("is_not_distinct_from", (a, b), BOOL)


def equal(a: Scalar, b: Scalar) -> Scalar:
    return Call("=", (a, b), BOOL)


class Case:
    """Two random tables: key columns and one more integer column each."""

    def __init__(self, folder: Path, rng: random.Random, keys: Sequence[pa.DataType], sizes: tuple[int, int]) -> None:
        self.plans = Plans(folder)
        types = [*keys, I64]
        spread = rng.choice([2, 5])
        self.left, self.right = (self.plans.table(types, random_rows(rng, types, size, spread)) for size in sizes)
        refs = [self.plans.ref(i) for i in range(2 * len(types))]
        self.pairs = list(zip(refs[: len(keys)], refs[len(types) : -1], strict=True))
        self.extra = less(refs[len(keys)], refs[-1])
        self.mark = self.plans.new(BOOL)

    def want(self, op: LogicalOperator, predicate: Predicate) -> list[dict[int, object]]:
        sides = [list(column_ids(side.columns)) for side in (self.left, self.right)]
        return joined_rows(op, predicate, self.plans.rows(self.left), self.plans.rows(self.right), *sides)

    def plan(self, op: PhysicalOperator, columns: int) -> PlanNode:
        return node(op, self.left, self.right, columns=columns)


def hashed(kind: JoinKind, case: Case, predicate: Predicate, mark: int | None = None, build_left: bool = False) -> HashJoin:
    keys, null_safe, residual = split_keys(predicate, case.left.columns, case.right.columns)
    return HashJoin(kind, keys, residual, build_left, null_safe, mark)


@pytest.mark.parametrize("types", TYPES, ids=str)
def test_mark_joins(tmp_path: Path, types: tuple[pa.DataType, ...]) -> None:
    rng = random.Random(str(types))
    for sizes, with_extra in product(SIZES, (False, True)):
        case = Case(tmp_path, rng, types, sizes)
        predicate = conjunction(
            [*(rng.choice([equal, equal, same])(*pair) for pair in case.pairs), *([case.extra] if with_extra else [])]
        )
        want = case.want(MarkJoin(predicate, case.mark), predicate)
        for op in (hashed(JoinKind.MARK, case, predicate, case.mark), NestedLoopJoin(JoinKind.MARK, predicate, case.mark)):
            for columns in (case.left.columns | 1 << case.mark, 1 << case.mark, case.left.columns):
                for tuning in rng.sample(TUNINGS, 1):
                    got = case.plans.run(case.plan(op, columns), tuning)
                    assert listed(got) == listed(values(want, columns)), (sizes, predicate, op.name)


def test_mark_joins_without_keys(tmp_path: Path) -> None:
    rng = random.Random(8)
    seen = set()
    for sizes in SIZES:
        case = Case(tmp_path, rng, (I64,), sizes)
        a, b = case.pairs[0]
        null = literal(None, BOOL)
        for predicate in ((), (case.extra,), (case.extra, Call("<>", (a, b), BOOL)), (null,), (literal(False, BOOL), null)):
            want = case.want(MarkJoin(predicate, case.mark), predicate)
            columns = case.left.columns | 1 << case.mark
            plan = case.plan(NestedLoopJoin(JoinKind.MARK, predicate, case.mark), columns)
            seen |= {row[case.mark] for row in want}
            for tuning in TUNINGS:
                assert listed(case.plans.run(plan, tuning)) == listed(values(want, columns)), (sizes, predicate)
    assert seen == {True, False, None}


def test_marks_where_a_condition_beside_the_keys_raises_only_for_rows_that_reach_it(tmp_path: Path) -> None:
    plans = Plans(tmp_path)
    left = plans.table([I64, STR], [(1, "5"), (2, "x"), (None, "7")])
    right = plans.table([I64, I64], [(1, 5), (1, None), (3, 7)])
    from optimizer.algebra.scalars import Cast

    number = Cast(plans.ref(1), I64, False)
    mark = plans.new(BOOL)
    op = HashJoin(JoinKind.MARK, ((plans.ref(0), plans.ref(2)),), (equal(number, plans.ref(3)),), False, 0, mark)
    for tuning in TUNINGS:  # row 2 finds no equal key, so its text is not read
        assert plans.run(node(op, left, right, columns=1 << mark), tuning) == [(True,), (False,), (None,)]


@pytest.mark.parametrize("types", TYPES, ids=str)
def test_single_joins(tmp_path: Path, types: tuple[pa.DataType, ...]) -> None:
    rng = random.Random(str(types))
    raised = 0
    for (sizes, with_extra), round in product(product([*SIZES, (9, 2), (5, 4)], (False, True)), range(3)):
        case = Case(tmp_path, rng, types, sizes)
        pairs = [rng.choice([equal, same])(*pair) for pair in case.pairs]
        predicate = conjunction([*pairs, *([case.extra] if with_extra else [])])
        columns = case.left.columns | case.right.columns
        for op in (hashed(JoinKind.SINGLE, case, predicate), NestedLoopJoin(JoinKind.SINGLE, predicate)):
            plan = case.plan(op, columns)
            for tuning in rng.sample(TUNINGS, 1):
                try:
                    want = case.want(SingleJoin(predicate), predicate)
                except ExecutionError:
                    raised += 1
                    with pytest.raises(ExecutionError, match=f"^{op.name}: More than one row returned by a subquery"):
                        case.plans.run(plan, tuning)
                    continue
                got = case.plans.run(plan, tuning)
                assert bag(got) == bag(values(want, columns)), (sizes, predicate, round)
                kept = [row[: len(types) + 1] for row in got]  # every left row once, in order
                assert listed(kept) == listed(values(case.plans.rows(case.left), case.left.columns))
    assert raised


def test_a_single_join_without_a_predicate(tmp_path: Path) -> None:
    for count, ok in ((0, True), (1, True), (2, False)):
        plans = Plans(tmp_path)
        left, right = plans.table([I64], [(1,), (2,)]), plans.table([I64], [(i,) for i in range(count)])
        plan = node(NestedLoopJoin(JoinKind.SINGLE, ()), left, right, columns=0b11)
        if ok:
            assert plans.run(plan) == [(i, 0 if count else None) for i in (1, 2)]
        else:
            with pytest.raises(ExecutionError, match="More than one row"):
                plans.run(plan)


def test_single_joins_raise_when_matches_lie_in_different_portions_of_pairs(tmp_path: Path) -> None:
    plans = Plans(tmp_path)
    left, right = plans.table([I64], [(5,)]), plans.table([I64], [(i,) for i in range(30)])
    match = Call("or", (equal(plans.ref(1), literal(3, I64)), equal(plans.ref(1), literal(27, I64))), BOOL)
    with pytest.raises(ExecutionError, match="More than one row"):
        plans.run(node(NestedLoopJoin(JoinKind.SINGLE, (match,)), left, right, columns=0b11))


@pytest.mark.parametrize("types", TYPES, ids=str)
@pytest.mark.parametrize("kind", PLAIN_JOINS)
def test_hash_joins_on_null_safe_keys(tmp_path: Path, kind: JoinKind, types: tuple[pa.DataType, ...]) -> None:
    rng = random.Random(f"{kind}{types}")
    for sizes, with_extra, build_left in product(SIZES, (False, True), (False, True)):
        case = Case(tmp_path, rng, types, sizes)
        pairs = [same(*case.pairs[0]), *(rng.choice([equal, same])(*pair) for pair in case.pairs[1:])]
        predicate = conjunction([*pairs, *([case.extra] if with_extra else [])])
        op = hashed(kind, case, predicate, None, build_left)
        assert op.null_safe and len(op.keys) == len(pairs)
        columns = case.left.columns if kind.left_only else case.left.columns | case.right.columns
        want = case.want(Join(kind, predicate), predicate)
        for tuning in rng.sample(TUNINGS, 1):
            assert bag(case.plans.run(case.plan(op, columns), tuning)) == bag(values(want, columns)), (sizes, predicate)


def test_null_safe_keys_of_an_index() -> None:
    index = KeyIndex([pa.array(["a", None, "b", None]), pa.array([1, 2, None, 2])], 0b11)
    probe = [pa.array(["a", None, "b", None, "b", None]), pa.array([1, 2, None, None, 2, 2])]
    assert index.find(probe).tolist() == [0, 1, 2, -1, -1, 1] and index.counts.tolist() == [1, 2, 1]
    half = KeyIndex([pa.array(["a", None, "b"]), pa.array([1, 2, None])], 0b01)
    assert half.find(probe).tolist() == [0, 1, -1, -1, -1, 1]
    without = KeyIndex([pa.array([1, 2, 3])], 1)  # no NULL to find
    assert without.find([pa.array([2, None])]).tolist() == [1, -1]
    assert KeyIndex([pa.nulls(3)], 1).find([pa.nulls(2)]).tolist() == [0, 0]
