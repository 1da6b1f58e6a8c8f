"""Aggregates, sorts, top-k and set operations against plain Python, on random rows with NULLs, duplicates and no rows."""

import math
import random
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

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
    Row,
    bag,
    less,
    listed,
    literal,
    node,
    random_rows,
    values,
)

from executor.arrow.context import Tuning
from optimizer.algebra import AggregateCall, AggregateItem, Cast, Scalar, SetOpKind, SortKey, column_set
from optimizer.algebra.evaluate_order import group_key
from optimizer.algebra.physical import ConstantRows, HashAggregate, HashSetOp, LimitRows, Sort, StreamingAggregate, TopK, UnionAll
from optimizer.errors import ExecutionError
from tests.reference.compare import same_row
from tests.reference.naive import aggregate_value, sort_rows

SIZES = (0, 1, 12, 60)


def sum_type(type: pa.DataType) -> pa.DataType:
    if pa.types.is_decimal(type):
        return pa.decimal128(38, type.scale)
    return pa.decimal128(38, 0) if pa.types.is_integer(type) else F64


def calls_over(plans: Plans, ids: Sequence[int]) -> list[AggregateItem]:
    """Every aggregate function over every column, plain, DISTINCT, filtered."""
    calls = [AggregateCall("count", (), False, None, I64)]
    test = less(plans.ref(ids[0]), literal(2, I64))
    calls.append(AggregateCall("count", (), False, test, I64))
    for id in ids:
        ref: Scalar = plans.ref(id)
        for distinct, condition in ((False, None), (True, None), (False, test), (True, test)):
            calls.append(AggregateCall("count", (ref,), distinct, condition, I64))
            calls.append(AggregateCall("min", (ref,), distinct, condition, ref.type))
            calls.append(AggregateCall("max", (ref,), distinct, condition, ref.type))
            if pa.types.is_integer(ref.type) or pa.types.is_decimal(ref.type) or pa.types.is_floating(ref.type):
                calls.append(AggregateCall("sum", (ref,), distinct, condition, sum_type(ref.type)))
                calls.append(AggregateCall("avg", (ref,), distinct, condition, F64))
    return [AggregateItem(plans.new(call.type), call) for call in calls]


ARGUMENTS = [I64, I32, DEC, F64, STR, DATE, pa.bool_(), pa.decimal128(38, 2)]


@pytest.mark.few(2)
@pytest.mark.parametrize("streaming", [False, True], ids=["hash", "streaming"])
@pytest.mark.parametrize("keys", [(), (I64,), (F64,), (STR, DATE), (DEC, pa.bool_(), I32)], ids=str)
def test_aggregates(tmp_path: Path, keys: tuple[pa.DataType, ...], streaming: bool) -> None:
    rng = random.Random(f"{keys}")
    for size in SIZES:
        plans = Plans(tmp_path)
        scan = plans.table([*keys, *ARGUMENTS], random_rows(rng, [*keys, *ARGUMENTS], size, spread=3))
        key_ids, ids = range(len(keys)), range(len(keys), len(keys) + len(ARGUMENTS))
        items = tuple(calls_over(plans, ids))
        columns = column_set([*key_ids, *(item.id for item in items)])
        order = tuple(SortKey(id, rng.random() < 0.5, rng.random() < 0.5) for id in key_ids)
        rows = sort_rows(plans.rows(scan), order)
        child = node(Sort(order), scan, columns=scan.columns, delivers=order) if streaming and order else scan
        op = (StreamingAggregate if streaming else HashAggregate)(tuple(key_ids), items)
        plan = node(op, child, columns=columns, needs=(order if streaming else (),), delivers=order if streaming else ())
        groups: dict[Any, list[Row]] = {} if keys else {(): []}
        for row in rows:
            groups.setdefault(tuple(group_key(row[k]) for k in key_ids), []).append(row)
        want = [
            tuple(group_key(members[0][k]) for k in key_ids) + tuple(aggregate_value(item.call, members) for item in items)
            for members in groups.values()
        ]
        for tuning in TUNINGS:
            got = [tuple(map(group_key, row[: len(keys)])) + row[len(keys) :] for row in plans.run(plan, tuning)]
            if not streaming:
                got, expected = sorted(got, key=lambda r: repr(r[: len(keys)])), sorted(want, key=lambda r: repr(r[: len(keys)]))
            else:
                expected = want
            assert len(got) == len(expected) and all(map(same_row, expected, got)), (size, got, expected)


def test_aggregation_without_aggregates_is_distinct_and_columns_are_pruned(plans: Plans) -> None:
    rows = random_rows(random.Random(1), [I64, F64], 80, spread=2)
    scan = plans.table([I64, F64], rows)
    distinct = {tuple(map(group_key, row)): row for row in rows}
    plan = node(HashAggregate((0, 1), ()), scan, columns=0b11)
    for tuning in TUNINGS:
        assert bag(plans.run(plan, tuning)) == bag(distinct.values())
    total = AggregateItem(plans.new(I64), AggregateCall("count", (), False, None, I64))
    plan = node(HashAggregate((0, 1), (total,)), scan, columns=1 << total.id)
    for tuning in TUNINGS:
        got = plans.run(plan, tuning)
        assert len(got) == len(distinct) and sum(n for (n,) in got) == 80


def test_sums_are_exact_beyond_64_bits_and_overflow_raises(plans: Plans) -> None:
    wide = pa.decimal128(38, 0)
    big = 2**63 - 1
    scan = plans.table([I64, wide], [(big, Decimal("9" * 38))] * 20)
    items = [
        AggregateItem(plans.new(t), AggregateCall(f, (plans.ref(c),), False, None, t))
        for f, c, t in (("sum", 0, wide), ("avg", 0, F64), ("avg", 1, F64))
    ]
    plan = node(HashAggregate((), tuple(items)), scan, columns=column_set(i.id for i in items))
    for tuning in TUNINGS:
        ((total, mean, wide_mean),) = plans.run(plan, tuning)
        assert total == 20 * big and mean == float(big) and math.isclose(wide_mean, 1e38)
    overflow = AggregateItem(plans.new(wide), AggregateCall("sum", (plans.ref(1),), False, None, wide))
    plan = node(HashAggregate((), (overflow,)), scan, columns=1 << overflow.id)
    with pytest.raises(ExecutionError, match=r"^hash_aggregate: .*does not fit decimal\(38, 0\)"):
        plans.run(plan)


def test_a_filter_guards_an_argument_that_raises(plans: Plans) -> None:
    scan = plans.table([I64, STR], [(1, "10"), (2, "x"), (1, "20")])
    number = Cast(plans.ref(1), I64, False)
    item = AggregateItem(
        plans.new(pa.decimal128(38, 0)),
        AggregateCall("sum", (number,), False, less(plans.ref(0), literal(2, I64)), pa.decimal128(38, 0)),
    )
    assert plans.run(node(HashAggregate((), (item,)), scan, columns=1 << item.id)) == [(30,)]


def test_streaming_aggregate_gives_groups_before_its_input_ends(plans: Plans) -> None:
    from executor.arrow.run import execute

    scan = plans.table([I64, STR], [(i // 3, "1" if i < 150 else "x") for i in range(200)])
    bad = AggregateItem(plans.new(I64), AggregateCall("max", (Cast(plans.ref(1), I64, False),), False, None, I64))
    plan = node(StreamingAggregate((0,), (bad,)), scan, columns=1 | 1 << bad.id, needs=((SortKey(0),),))
    reader = execute(plan, plans.columns, plans.sources, None, Tuning(batch=10, window=10))
    assert reader.read_next_batch().num_rows > 0
    with pytest.raises(ExecutionError, match=r"^streaming_aggregate: 'x' cannot be read as int64"):
        reader.read_all()


@pytest.mark.parametrize("size", SIZES)
def test_sort_and_top_k(tmp_path: Path, size: int) -> None:
    rng = random.Random(size)
    types = [I64, F64, STR, DEC, pa.bool_(), DATE]
    for _ in range(12):
        plans = Plans(tmp_path)
        scan = plans.table(types, random_rows(rng, types, size, spread=3))
        order = tuple(SortKey(id, rng.random() < 0.5, rng.random() < 0.5) for id in rng.sample(range(6), rng.randrange(1, 4)))
        want = sort_rows(plans.rows(scan), order)
        for tuning in TUNINGS:
            sort = node(Sort(order), scan, columns=0b110111, delivers=order)
            assert listed(plans.run(sort, tuning)) == listed(values(want, sort.columns)), order
            for offset, count in ((0, 0), (0, 1), (3, 5), (0, 1000), (70, 2)):
                top = node(TopK(order, offset, count), scan, columns=column_set(k.column for k in order), delivers=order)
                got = plans.run(top, tuning)
                # which of equal rows are kept is open, their keys are not
                assert listed(got) == listed(values(want[offset : offset + count], top.columns)), (order, offset, count)


def test_top_k_without_order_and_sort_of_nothing_but_nulls(plans: Plans) -> None:
    scan = plans.table([I64], [(i,) for i in range(30)])
    assert len(plans.run(node(TopK((), 2, 5), scan, columns=1))) == 5
    id = plans.columns.new("n", pa.null(), True).id
    nulls = node(ConstantRows((id,), (pa.null(),), ((literal(None, pa.null()),),) * 3), columns=1 << id)
    for op in (Sort((SortKey(id),)), TopK((SortKey(id),), 0, 3)):
        assert plans.run(node(op, nulls, columns=1 << id)) == [(None,)] * 3


@pytest.mark.parametrize("kind", [SetOpKind.INTERSECT, SetOpKind.EXCEPT])
@pytest.mark.parametrize("all", [False, True])
def test_set_operations(tmp_path: Path, kind: SetOpKind, all: bool) -> None:
    rng = random.Random(f"{kind}{all}")
    types = [I64, F64, STR]
    for sizes in ((0, 5), (5, 0), (0, 0), (40, 40), (90, 20)):
        plans = Plans(tmp_path)
        left, right = (
            plans.table(types, [(r[0], r[1], r[2] and r[2][:1]) for r in random_rows(rng, types, n, spread=1)]) for n in sizes
        )
        out = tuple(plans.new(type) for type in types)
        plan = node(HashSetOp(kind, all, out, ((0, 1, 2), (3, 4, 5))), left, right, columns=column_set(out))
        a, b = ([tuple(map(group_key, row.values())) for row in plans.rows(side)] for side in (left, right))
        example = dict(zip(a, (tuple(row.values()) for row in plans.rows(left)), strict=True))
        want = []
        for key, row in example.items():
            m, n = a.count(key), b.count(key)
            times = (min(m, n) if all else int(n > 0)) if kind is SetOpKind.INTERSECT else (max(m - n, 0) if all else int(n == 0))
            want += [row] * times
        for tuning in TUNINGS:
            assert bag(plans.run(plan, tuning)) == bag(want), sizes
            narrow = node(plan.op, left, right, columns=1 << out[0])
            assert len(plans.run(narrow, tuning)) == len(want)


def test_union_all_and_limit(plans: Plans) -> None:
    rng = random.Random(8)
    first, second = (plans.table([I64, STR], random_rows(rng, [I64, STR], n)) for n in (20, 15))
    out = plans.new(STR), plans.new(I64)
    union = node(UnionAll(out, ((1, 0), (3, 2), (1, 0))), first, second, first, columns=column_set(out))
    rows = (
        [(r[1], r[0]) for r in plans.rows(first)]
        + [(r[3], r[2]) for r in plans.rows(second)]
        + [(r[1], r[0]) for r in plans.rows(first)]
    )
    for tuning in TUNINGS:
        assert plans.run(union, tuning) == rows
        for offset, count in ((0, 3), (4, 0), (18, 20), (50, 10), (60, None), (7, None)):
            limit = node(LimitRows((), offset, count), union, columns=1 << out[1])
            assert plans.run(limit, tuning) == [(r[1],) for r in rows[offset:][:count]], (offset, count)
