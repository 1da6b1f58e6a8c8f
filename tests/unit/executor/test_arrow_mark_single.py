"""Mark joins, single joins and null-safe keys against nested loops in Python, on random rows with NULLs and duplicates."""

import random
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from hand_made_plans import (
    I64,
    KEYS,
    SIZES,
    STR,
    TUNINGS,
    Plans,
    TwoTables,
    bag,
    equal,
    hashed,
    listed,
    literal,
    node,
    same,
    values,
)

from executor.arrow.key_index import KeyIndex
from optimizer.algebra import HashJoin, JoinKind, LogicalOperator, MarkJoin, NestedLoopJoin, SingleJoin, conjunction
from optimizer.algebra.scalars import BOOL, Call, Predicate
from optimizer.errors import ExecutionError
from tests.reference.naive import joined_rows


def wanted(tables: TwoTables, op: LogicalOperator, predicate: Predicate) -> list[dict[int, object]]:
    left, right = tables.plans.rows(tables.left), tables.plans.rows(tables.right)
    return joined_rows(op, predicate, left, right, tables.left_ids, tables.right_ids)


@pytest.mark.few(2)
@pytest.mark.parametrize("types", KEYS, ids=str)
def test_mark_joins(tmp_path: Path, types: tuple[pa.DataType, ...]) -> None:
    rng = random.Random(str(types))
    for sizes, with_extra in product(SIZES, (False, True)):
        case = TwoTables(tmp_path, rng, types, sizes)
        predicate = conjunction([*(rng.choice([equal, equal, same])(*pair) for pair in case.pairs), *[case.extra] * with_extra])
        want = wanted(case, MarkJoin(predicate, case.mark), predicate)
        for op in (hashed(JoinKind.MARK, case, predicate, case.mark), NestedLoopJoin(JoinKind.MARK, predicate, case.mark)):
            for columns in (case.left.columns | 1 << case.mark, 1 << case.mark, case.left.columns):
                for tuning in rng.sample(TUNINGS, 1):
                    got = case.plans.run(case.plan(op, columns), tuning)
                    assert listed(got) == listed(values(want, columns)), (sizes, predicate, op.name)


def test_mark_joins_without_keys(tmp_path: Path) -> None:
    rng = random.Random(8)
    seen = set()
    for sizes in SIZES:
        case = TwoTables(tmp_path, rng, (I64,), sizes)
        a, b = case.pairs[0]
        null = literal(None, BOOL)
        for predicate in ((), (case.extra,), (case.extra, Call("<>", (a, b), BOOL)), (null,), (literal(False, BOOL), null)):
            want = wanted(case, MarkJoin(predicate, case.mark), predicate)
            columns = case.left.columns | 1 << case.mark
            plan = case.plan(NestedLoopJoin(JoinKind.MARK, predicate, case.mark), columns)
            seen |= {row[case.mark] for row in want}
            for tuning in TUNINGS:
                assert listed(case.plans.run(plan, tuning)) == listed(values(want, columns)), (sizes, predicate)
    assert seen == {True, False, None}


def test_marks_where_a_condition_beside_the_keys_raises_only_for_rows_that_reach_it(plans: Plans) -> None:
    left = plans.table([I64, STR], [(1, "5"), (2, "x"), (None, "7")])
    right = plans.table([I64, I64], [(1, 5), (1, None), (3, 7)])
    from optimizer.algebra.scalars import Cast

    number = Cast(plans.ref(1), I64, False)
    mark = plans.new(BOOL)
    op = HashJoin(JoinKind.MARK, ((plans.ref(0), plans.ref(2)),), (equal(number, plans.ref(3)),), False, 0, mark)
    for tuning in TUNINGS:  # row 2 finds no equal key, so its text is not read
        assert plans.run(node(op, left, right, columns=1 << mark), tuning) == [(True,), (False,), (None,)]


@pytest.mark.few(2)
@pytest.mark.parametrize("types", KEYS, ids=str)
def test_single_joins(tmp_path: Path, types: tuple[pa.DataType, ...]) -> None:
    rng = random.Random(str(types))
    raised = 0
    for (sizes, with_extra), round in product(product([*SIZES, (9, 2), (5, 4)], (False, True)), range(3)):
        case = TwoTables(tmp_path, rng, types, sizes)
        pairs = [rng.choice([equal, same])(*pair) for pair in case.pairs]
        predicate = conjunction([*pairs, *([case.extra] if with_extra else [])])
        columns = case.left.columns | case.right.columns
        for op in (hashed(JoinKind.SINGLE, case, predicate), NestedLoopJoin(JoinKind.SINGLE, predicate)):
            plan = case.plan(op, columns)
            for tuning in rng.sample(TUNINGS, 1):
                try:
                    want = wanted(case, SingleJoin(predicate), predicate)
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


def test_single_joins_raise_when_matches_lie_in_different_portions_of_pairs(plans: Plans) -> None:
    left, right = plans.table([I64], [(5,)]), plans.table([I64], [(i,) for i in range(30)])
    match = Call("or", (equal(plans.ref(1), literal(3, I64)), equal(plans.ref(1), literal(27, I64))), BOOL)
    with pytest.raises(ExecutionError, match="More than one row"):
        plans.run(node(NestedLoopJoin(JoinKind.SINGLE, (match,)), left, right, columns=0b11))


def test_null_safe_keys_of_an_index() -> None:
    index = KeyIndex([pa.array(["a", None, "b", None]), pa.array([1, 2, None, 2])], 0b11)
    probe = [pa.array(["a", None, "b", None, "b", None]), pa.array([1, 2, None, None, 2, 2])]
    assert index.find(probe).tolist() == [0, 1, 2, -1, -1, 1] and index.counts.tolist() == [1, 2, 1]
    half = KeyIndex([pa.array(["a", None, "b"]), pa.array([1, 2, None])], 0b01)
    assert half.find(probe).tolist() == [0, 1, -1, -1, -1, 1]
    without = KeyIndex([pa.array([1, 2, 3])], 1)  # no NULL to find
    assert without.find([pa.array([2, None])]).tolist() == [1, -1]
    assert KeyIndex([pa.nulls(3)], 1).find([pa.nulls(2)]).tolist() == [0, 0]
