"""Partial sorts and merging unions against plain Python, on random rows with NULLs, NaN, duplicates and no rows."""

import random
from pathlib import Path

import pyarrow as pa
import pytest
from hand_made_plans import DATE, DEC, F64, I64, STR, TUNINGS, Plans, listed, node, random_rows, shown, values

from executor.arrow.context import Tuning
from executor.arrow.counters import Counters
from executor.arrow.run import execute
from optimizer.algebra import AggregateCall, AggregateItem, Cast, SortKey, column_set
from optimizer.algebra.evaluate_order import group_key
from optimizer.algebra.physical import LimitRows, MergeUnion, PartialSort, Sort, StreamingAggregate
from tests.reference.naive import sort_rows

SIZES = (0, 1, 12, 60)
TYPES = [I64, F64, STR, DEC, pa.bool_(), DATE]


@pytest.mark.parametrize("size", SIZES)
def test_partial_sort_of_a_sorted_prefix_is_a_sort(tmp_path: Path, size: int) -> None:
    rng = random.Random(size)
    for _ in range(12):
        plans = Plans(tmp_path)
        scan = plans.table(TYPES, random_rows(rng, TYPES, size, spread=2))
        order = tuple(SortKey(id, rng.random() < 0.5, rng.random() < 0.5) for id in rng.sample(range(6), rng.randrange(2, 5)))
        cut = rng.randrange(1, len(order))
        want = sort_rows(plans.rows(scan), order)
        below = node(Sort(order[:cut]), scan, columns=scan.columns, delivers=order[:cut])
        op = PartialSort(column_set(k.column for k in order[:cut]), order[cut:])
        partial = node(op, below, columns=column_set(k.column for k in order), needs=(order[:cut],), delivers=order)
        for tuning in TUNINGS:
            assert listed(plans.run(partial, tuning)) == listed(values(want, partial.columns)), order


@pytest.mark.parametrize("size", SIZES)
def test_partial_sort_of_grouped_rows_keeps_the_groups_as_they_come(tmp_path: Path, size: int) -> None:
    """The prefix need not be sorted: runs come in any order, and only within them rows move."""
    rng = random.Random(size)
    for _ in range(12):
        plans = Plans(tmp_path)
        prefix = tuple(rng.sample(range(6), rng.randrange(1, 3)))
        groups: dict[str, list[tuple]] = {}
        for row in random_rows(rng, TYPES, size, spread=2):
            groups.setdefault(repr([group_key(row[c]) for c in prefix]), []).append(row)
        runs = list(groups.values())
        rng.shuffle(runs)
        scan = plans.table(TYPES, [row for run in runs for row in run])
        order = tuple(SortKey(id, rng.random() < 0.5, rng.random() < 0.5) for id in range(6) if id not in prefix)[:2]
        partial = node(PartialSort(column_set(prefix), order), scan, columns=scan.columns)
        want = [row for run in runs for row in sort_rows([dict(enumerate(row)) for row in run], order)]
        for tuning in TUNINGS:
            assert listed(plans.run(partial, tuning)) == listed(values(want, scan.columns)), (prefix, order)


def test_partial_sort_streams_and_holds_a_run_at_a_time(plans: Plans) -> None:
    """A limit above stops the input long before its end, and memory does not grow with the input."""
    rows = [(i // 5, "1" if i < 900 else "x", -i) for i in range(1000)]
    scan = plans.table([I64, STR, I64], rows, row_group=10)
    order = (SortKey(0), SortKey(2))
    partial = node(PartialSort(1, order[1:]), scan, columns=0b111, needs=(order[:1],), delivers=order)
    number = AggregateItem(plans.new(I64), AggregateCall("max", (Cast(plans.ref(1), I64, False),), False, None, I64))
    checked = node(StreamingAggregate((0, 2), (number,)), partial, columns=0b101 | 1 << number.id, needs=(order,))
    first = node(LimitRows((), 0, 7), checked, columns=checked.columns, needs=((),))
    counters = Counters()
    tuning = Tuning(batch=10, window=10, workers=1)
    for id, each in enumerate([first, checked, partial, scan]):
        each.id = id
    # rows that cannot be read as numbers come late, and are never asked for
    assert plans.run(first, tuning, counters) == [(0, -4 + i, 1) for i in range(5)] + [(1, -9, 1), (1, -8, 1)]
    small = Counters()
    for _ in execute(partial, plans.columns, plans.sources, small, tuning):
        pass
    assert 0 < small[partial.id].peak_bytes < 2000


def merged(rng: random.Random, plans: Plans, sizes: tuple[int, ...], width: int) -> tuple:
    types = TYPES[:4]
    out = tuple(plans.new(type) for type in types)
    order = tuple(SortKey(out[i], rng.random() < 0.5, rng.random() < 0.5) for i in rng.sample(range(4), width))
    sources, inputs, rows = [], [], []
    for size in sizes:
        permutation = rng.sample(range(4), 4)
        scan = plans.table([types[i] for i in permutation], random_rows(rng, [types[i] for i in permutation], size, spread=2))
        first = min(plans.rows_of[id(scan)][0]) if size else scan.columns.bit_length() - 4
        source = tuple(first + permutation.index(i) for i in range(4))
        below = tuple(k._replace(column=source[out.index(k.column)]) for k in order)
        inputs.append(node(Sort(below), scan, columns=scan.columns, delivers=below))
        sources.append(source)
        rows += [dict(zip(out, (row[c] for c in source), strict=True)) for row in sort_rows(plans.rows(scan), below)]
    needs = [child.alternative.delivered.collation for child in inputs]
    plan = node(MergeUnion(out, tuple(sources)), *inputs, columns=column_set(out), needs=needs, delivers=order)
    return plan, sort_rows(rows, order), order


@pytest.mark.parametrize("sizes", [(0, 0), (0, 9), (20, 20), (1, 30, 2), (25, 0, 25, 25)], ids=str)
def test_merge_union(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    rng = random.Random(f"{sizes}")
    for width in (1, 2, 3):
        plans = Plans(tmp_path)
        plan, rows, order = merged(rng, plans, sizes, width)
        for tuning in (*TUNINGS, Tuning(batch=1, window=1, inline=0, workers=3)):
            got = plans.run(plan, tuning)
            assert sorted(map(shown, got)) == sorted(map(shown, values(rows, plan.columns)))
            ids = sorted(plan.op.columns)
            keys = [tuple(group_key(row[ids.index(k.column)]) for k in order) for row in got]
            assert keys == [tuple(group_key(row[k.column]) for k in order) for row in rows]


def test_merge_union_by_columns_that_nobody_reads(plans: Plans) -> None:
    rng = random.Random(5)
    plan, rows, order = merged(rng, plans, (15, 15), 2)
    unread = [c for c in plan.op.columns if c not in {k.column for k in order}]
    narrow = node(
        plan.op, *plan.inputs, columns=1 << unread[0], needs=[t.collation for t in plan.alternative.inputs], delivers=order
    )
    assert len(plans.run(narrow)) == len(rows)
    assert sorted(map(shown, plans.run(narrow))) == sorted(map(shown, values(rows, narrow.columns)))


def test_merge_union_stops_its_inputs(plans: Plans) -> None:
    """The first rows of two long inputs are there before either has ended."""
    out = (plans.new(I64),)
    scans = [plans.table([I64], [(2 * i + side,) for i in range(500)], row_group=10) for side in (0, 1)]
    sources = tuple((scan.columns.bit_length() - 1,) for scan in scans)
    order = (SortKey(out[0]),)
    needs = [(SortKey(source[0]),) for source in sources]
    plan = node(MergeUnion(out, sources), *scans, columns=1 << out[0], needs=needs, delivers=order)
    counters = Counters()
    for id, each in enumerate([plan, *scans]):
        each.id = id
    reader = execute(plan, plans.columns, plans.sources, counters, Tuning(batch=10, window=10, workers=1))
    first = reader.read_next_batch().column(0).to_pylist()
    assert first == list(range(len(first)))
    assert counters[scans[0].id].rows < 100
    assert len(first) + len(reader.read_all()) == 1000
