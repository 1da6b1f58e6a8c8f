"""Every join operator and kind against nested loops in Python, on random rows with NULLs, duplicates and empty inputs; marks and
single joins too."""

import random
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hand_made_plans import (
    DATE,
    DEC,
    F64,
    I32,
    I64,
    KEYS,
    SIZES,
    STR,
    TUNINGS,
    Plans,
    Row,
    TwoTables,
    bag,
    equal,
    hashed,
    less,
    listed,
    node,
    random_rows,
    same,
    values,
)

from executor import Session
from executor.arrow.context import Tuning
from executor.arrow.join_pairs import paired
from executor.arrow.key_index import KeyIndex
from executor.arrow.marks import Condition, MarkFinder
from optimizer.algebra import AggregateItem, Join, MarkJoin, PlanNode, SingleJoin, SortKey, conjunction
from optimizer.algebra.kinds import PLAIN_JOINS, JoinKind
from optimizer.algebra.physical import HashAggregate, HashJoin, MergeJoin, NestedLoopJoin, Sort
from optimizer.algebra.scalars import BOOL, AggregateCall, Call, Cast, Literal, Predicate, Scalar
from optimizer.errors import ExecutionError
from tests.reference.naive import joined_rows, sort_rows


def counted(tables: TwoTables, join: PlanNode, tuning: Tuning) -> int:
    """What count(*) of a join gives, of which no row is made then."""
    number = tables.plans.columns.new("n", I64, False).id
    count = HashAggregate((), (AggregateItem(number, AggregateCall("count", (), False, None, I64)),))
    ((found,),) = tables.plans.run(node(count, join, columns=1 << number), tuning)
    return found


def wanted(kind: JoinKind, tables: TwoTables, predicate: Predicate) -> list[Row]:
    sides = [tables.plans.rows(side) for side in (tables.left, tables.right)]
    return by_loops(kind, predicate, *sides, tables.left_ids, tables.right_ids, tables.mark)


def by_loops(kind: JoinKind, predicate: Predicate, left: list[Row], right: list[Row], *ids: Any) -> list[Row]:
    """`ids`: of the columns on the left and on the right, then of the mark."""
    others = {JoinKind.MARK: MarkJoin(predicate, ids[-1]), JoinKind.SINGLE: SingleJoin(predicate)}
    return joined_rows(others.get(kind) or Join(kind, predicate), predicate, left, right, *ids[:2])


@pytest.mark.few(5)
@pytest.mark.parametrize("keys", KEYS, ids=str)
@pytest.mark.parametrize("kind", PLAIN_JOINS)
def test_hash_join(tmp_path: Path, kind: JoinKind, keys: tuple[pa.DataType, ...]) -> None:
    """Half of the combinations of sizes, keys that take NULL for equal to NULL, a residual predicate, and sides to build on."""
    rng = random.Random(f"{kind}{keys}")
    flags = (False, True)
    for sizes, null_safe, with_residual, build_left in rng.sample(list(product(SIZES, flags, flags, flags)), 20):
        tables = TwoTables(tmp_path, rng, keys, sizes)
        pairs = [(rng.choice([equal, same]) if null_safe else equal)(*pair) for pair in tables.pairs]
        if null_safe:
            pairs[0] = same(*tables.pairs[0])
        predicate = conjunction([*pairs, *([tables.extra] if with_residual else [])])
        op = hashed(kind, tables, predicate, None, build_left)
        assert bool(op.null_safe) == null_safe and len(op.keys) == len(pairs)
        plan = tables.plan(op, tables.columns(kind))
        want = values(wanted(kind, tables, predicate), plan.columns)
        got = tables.plans.run(plan, rng.choice(TUNINGS))
        order = bag if build_left or kind.keeps_right else listed  # else the left order is kept
        assert order(got) == order(want), (sizes, predicate, build_left)
        assert counted(tables, plan, rng.choice(TUNINGS)) == len(want), (sizes, predicate, build_left)


def test_hash_join_on_computed_keys_with_few_output_columns(plans: Plans) -> None:
    rng = random.Random(3)
    left, right = plans.table([I64, I64], random_rows(rng, [I64, I64], 30)), plans.table([I64], random_rows(rng, [I64], 30))
    a, b, c = (plans.ref(i) for i in range(3))
    total: Scalar = Call("+", (a, b), I64)
    match = (equal(total, c),)
    for columns in (1 << 0, 1 << 2, 0b101):
        plan = node(HashJoin(JoinKind.INNER, ((total, c),), ()), left, right, columns=columns)
        want = by_loops(JoinKind.INNER, match, plans.rows(left), plans.rows(right), [0, 1], [2])
        assert bag(plans.run(plan)) == bag(values(want, columns))


@pytest.mark.parametrize("bad", ["probe", "build", "both", "first"])
def test_a_key_that_raises_where_another_conjunct_shelters_it(plans: Plans, bad: str) -> None:
    """Texts that are no numbers stand in rows that the comparison keeps from every pair: in a few batches, or in all."""
    rng = random.Random(bad)
    rows: list[list[tuple[int, str | None]]] = []
    for side, sheltered in enumerate((99, -99)):
        own = [(rng.randrange(6), rng.choice([None, *"0123"])) for _ in range(20)]
        if bad in ("both", "first", ("probe", "build")[side]):
            places = [0] if bad == "first" else rng.sample(range(20), 3)
            for place in places:
                own[place] = (sheltered, "x")
        rows.append(own)
    left, right = (plans.table([I64, STR], own) for own in rows)
    a, t, b, u = (plans.ref(i) for i in range(4))
    key = Cast(t, I64, False), Cast(u, I64, False)

    sheltered = (less(a, b), equal(Cast(t, I64, True), Cast(u, I64, True)))
    for kind, build_left, tuning in product((*PLAIN_JOINS, JoinKind.MARK), (False, True), TUNINGS):
        marked = kind is JoinKind.MARK
        if marked and build_left:
            continue
        mark = plans.new(BOOL) if marked else None
        columns = 1 << 0 | 1 << mark if mark is not None else 0b0011 if kind.left_only else 0b1111
        plan = node(HashJoin(kind, (key,), (less(a, b),), build_left, 0, mark), left, right, columns=columns)
        want = by_loops(kind, sheltered, plans.rows(left), plans.rows(right), [0, 1], [2, 3], *[mark] * marked)
        assert bag(plans.run(plan, tuning)) == bag(values(want, columns)), (kind, build_left)


@pytest.mark.few(2)
@pytest.mark.parametrize("keys", [(I64,), (STR, I32), (F64, DEC), (DATE,), (DEC,)], ids=str)
@pytest.mark.parametrize("kind", PLAIN_JOINS)
def test_merge_join(tmp_path: Path, kind: JoinKind, keys: tuple[pa.DataType, ...]) -> None:
    rng = random.Random(f"{kind}{keys}")
    for sizes, with_residual in product([*SIZES, (60, 3), (3, 60)], (False, True)):
        tables = TwoTables(tmp_path, rng, keys, sizes)
        plans, residual = tables.plans, (tables.extra,) if with_residual else ()
        permuted = rng.sample(range(len(keys)), len(keys))
        ways = [(rng.random() < 0.5, rng.random() < 0.5) for _ in keys]
        orders = [tuple(SortKey(ids[k], *ways[k]) for k in permuted) for ids in (tables.left_ids, tables.right_ids)]
        orders[0] += (SortKey(tables.left_ids[-1]),)  # more than the keys, on the left
        sorts = [
            node(Sort(order), child, columns=child.columns, delivers=order)
            for order, child in zip(orders, (tables.left, tables.right), strict=True)
        ]
        op = MergeJoin(kind, tuple(tables.pairs), residual)
        plan = node(op, *sorts, columns=tables.columns(kind), needs=orders, delivers=orders[0])
        left, right = (sort_rows(plans.rows(t), order) for t, order in zip((tables.left, tables.right), orders, strict=True))
        predicate = (*(equal(*pair) for pair in tables.pairs), *residual)
        want = by_loops(kind, predicate, left, right, tables.left_ids, tables.right_ids)
        order = bag if kind.keeps_right else listed
        assert order(plans.run(plan, rng.choice(TUNINGS))) == order(values(want, plan.columns)), (sizes, residual)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", PLAIN_JOINS)
def test_nested_loop_join(tmp_path: Path, kind: JoinKind) -> None:
    rng = random.Random(kind.value)
    for sizes in SIZES:
        tables = TwoTables(tmp_path, rng, (I64,), sizes)
        a, x, b, y = (tables.plans.ref(i) for i in range(4))
        compared: tuple[Predicate, ...] = (
            (), (less(a, b),), (Call("<>", (a, b), BOOL), less(x, y)), (less(Call("*", (a, y), I64), b),),
        )  # fmt: skip
        for predicate, tuning, told in product(compared, TUNINGS, (False, True)):
            order = (SortKey(a.id), SortKey(b.id)) if told and not kind.left_only else ()
            op = NestedLoopJoin(kind, predicate)
            plan = node(op, tables.left, tables.right, columns=tables.columns(kind), needs=((), order[1:]), delivers=order)
            want = values(wanted(kind, tables, predicate), plan.columns)
            compared_as = listed if (order or kind.left_only) and not kind.keeps_right else bag
            assert compared_as(tables.plans.run(plan, tuning)) == compared_as(want), (sizes, predicate)
            assert counted(tables, plan, tuning) == len(want), (sizes, predicate)


@pytest.mark.parametrize("build_left", [False, True])
def test_deep_chains_of_joins_do_not_block(plans: Plans, build_left: bool) -> None:
    rng = random.Random(5)
    rows = [(i, i) for i in range(20)]
    rng.shuffle(rows)
    plan: PlanNode = plans.table([I64, I64], rows)
    for _ in range(40):
        other = plans.table([I64, I64], rows)
        first = next(iter(range(len(plans.columns) - 2, len(plans.columns))))
        keys = ((plans.ref(0), plans.ref(first)),)
        plan = node(HashJoin(JoinKind.INNER, keys, (), build_left), plan, other, columns=0b11 | other.columns)
    assert len(plans.run(plan, Tuning(batch=7, inline=0, workers=2))) == 20


def test_many_matches_come_in_bounded_batches(plans: Plans) -> None:
    left, right = (plans.table([I64], [(1,)] * 200, row_group=200) for _ in range(2))
    plan = node(HashJoin(JoinKind.INNER, ((plans.ref(0), plans.ref(1)),), ()), left, right, columns=0b11)
    from executor.arrow.run import execute

    sizes = [batch.num_rows for batch in execute(plan, plans.columns, plans.sources, None, Tuning(pairs=1000, inline=0))]
    assert sum(sizes) == 40_000 and max(sizes) <= 1000


def test_index_of_keys_that_hash_alike_and_of_extreme_integers() -> None:
    words = [0, -(2**63), 2**63 - 1, 1 << 40, -1, 7]
    index = KeyIndex([pa.array([*words, None, 7], pa.int64())])
    groups = index.find([pa.array([*words, None, 6, -(2**62)], pa.int64())])
    assert groups.tolist() == [0, 1, 2, 3, 4, 5, -1, -1, -1]
    assert index.counts.tolist() == [1, 1, 1, 1, 1, 2] and not index.unique
    dense = KeyIndex([pa.array([2**63 - 1, 2**63 - 3], pa.int64())])
    assert dense.find([pa.array([-(2**63), 2**63 - 1, 2**63 - 2, -1], pa.int64())]).tolist() == [-1, 0, -1, -1]
    texts = [f"key {i}" * (i % 4) for i in range(500)]
    index = KeyIndex([pa.array(texts).slice(1)])
    found = index.find([pa.array(["x", *texts, "key 1 "]).slice(1)])
    assert found.tolist() == [texts[1:].index(t) if t in texts[1:] else -1 for t in [*texts, "key 1 "]]


@pytest.mark.few(3)
@pytest.mark.parametrize("low", [-(2**63), -5, 2**40])
@pytest.mark.parametrize("step", [1, 3, 1000, 2**33])  # values side by side up to values that only hashing tells apart
def test_index_of_repeated_keys_by_place_and_by_hash(low: int, step: int) -> None:
    random = np.random.default_rng(step)
    keys = [None if n == 7 else low + step * n for n in random.integers(0, 2000, 3000).tolist()]
    probes = [*range(low, low + 3 * step, max(1, step // 2)), *keys, low + 2000 * step, 2**63 - 1, -(2**63), None]
    index = KeyIndex([pa.array(keys, pa.int64())])
    groups = index.find([pa.array(probes, pa.int64())])
    for key, group in zip(probes, groups.tolist(), strict=True):
        rows = index.rows[index.first[group] :][: index.counts[group]].tolist() if group >= 0 else []
        assert rows == ([] if key is None else [row for row, own in enumerate(keys) if own == key])
    assert not index.unique and KeyIndex([pa.array([*set(keys)], pa.int64())]).unique


def test_text_hashes_that_collide_are_no_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    from executor.arrow import key_words

    true_hash = key_words._text_hash

    def poor_hash(key: pa.Array, seed: int):
        # the first seed gives every text one hash; the second tells only the build side's apart
        return np.zeros(len(key), np.int64) if seed == 0 else true_hash(key, seed) & np.int64(1023)

    monkeypatch.setattr(key_words, "_text_hash", poor_hash)
    index = KeyIndex([pa.array(["a", "b", "b", None])])
    probes = ["b", "a", None, *(f"p{i}" for i in range(5000))]
    assert index.find([pa.array(probes)]).tolist() == [1, 0, -1] + [-1] * 5000


# -- marks and single joins -----------------------------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("types", KEYS, ids=str)
def test_mark_joins(tmp_path: Path, types: tuple[pa.DataType, ...]) -> None:
    rng = random.Random(str(types))
    for sizes, with_extra in product(SIZES, (False, True)):
        case = TwoTables(tmp_path, rng, types, sizes)
        predicate = conjunction([*(rng.choice([equal, equal, same])(*pair) for pair in case.pairs), *[case.extra] * with_extra])
        want = wanted(JoinKind.MARK, case, predicate)
        for op in (hashed(JoinKind.MARK, case, predicate, case.mark), NestedLoopJoin(JoinKind.MARK, predicate, case.mark)):
            for columns in (case.left.columns | 1 << case.mark, 1 << case.mark, case.left.columns):
                for tuning in rng.sample(TUNINGS, 1):
                    got = case.plans.run(case.plan(op, columns), tuning)
                    assert listed(got) == listed(values(want, columns)), (sizes, predicate, op.name)


def test_marks_where_a_condition_beside_the_keys_raises_only_for_rows_that_reach_it(plans: Plans) -> None:
    left = plans.table([I64, STR], [(1, "5"), (2, "x"), (None, "7")])
    right = plans.table([I64, I64], [(1, 5), (1, None), (3, 7)])
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
                    want = wanted(JoinKind.SINGLE, case, predicate)
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


def test_a_mark_that_reads_no_inner_row_is_asked_of_one(plans: Plans, monkeypatch: pytest.MonkeyPatch) -> None:
    """`x in (select null from t)`: each row met all of them."""
    left, right = (plans.table([I64], [(i,) for i in range(60)]) for _ in range(2))
    mark, pairs = plans.new(BOOL), 0

    def counted(columns: int, outer: pa.RecordBatch, inner: pa.RecordBatch, rows: Any, inner_rows: Any) -> pa.RecordBatch:
        nonlocal pairs
        pairs += len(rows)
        return paired(columns, outer, inner, rows, inner_rows)

    monkeypatch.setattr("executor.arrow.marks.paired", counted)
    plan = node(NestedLoopJoin(JoinKind.MARK, (Literal(None, BOOL),), mark), left, right, columns=1 << mark)
    assert plans.run(plan) == [(None,)] * 60 and pairs == 60


def test_null_safe_keys_of_an_index() -> None:
    index = KeyIndex([pa.array(["a", None, "b", None]), pa.array([1, 2, None, 2])], 0b11)
    probe = [pa.array(["a", None, "b", None, "b", None]), pa.array([1, 2, None, None, 2, 2])]
    assert index.find(probe).tolist() == [0, 1, 2, -1, -1, 1] and index.counts.tolist() == [1, 2, 1]
    half = KeyIndex([pa.array(["a", None, "b"]), pa.array([1, 2, None])], 0b01)
    assert half.find(probe).tolist() == [0, 1, -1, -1, -1, 1]
    without = KeyIndex([pa.array([1, 2, 3])], 1)  # no NULL to find
    assert without.find([pa.array([2, None])]).tolist() == [1, -1]
    assert KeyIndex([pa.nulls(3)], 1).find([pa.nulls(2)]).tolist() == [0, 0]


@pytest.mark.parametrize("null", [None, 5, 62, 63, 64, 69])
def test_more_keys_than_a_word_has_bits(null: int | None) -> None:
    full = [pa.array([i], I64) for i in range(70)]
    some = [pa.nulls(1, I64) if i == null else key for i, key in enumerate(full)]
    row, condition = pa.RecordBatch.from_arrays(full, [f"c{i}" for i in range(70)]), Condition((), None)  # type: ignore[arg-type]
    mark = None if null is not None else True
    assert MarkFinder(row, some, 0, condition, lambda bytes: None).marks(row, full).to_pylist() == [mark]
    assert MarkFinder(row, full, 0, condition, lambda bytes: None).marks(row, some).to_pylist() == [mark]
    index = KeyIndex(some, (1 << 70) - 1)
    assert index.find(some).tolist() == [0] and index.find(full).tolist() == [0 if mark else -1]


def test_a_build_key_that_raises_meets_no_row() -> None:
    tables = {"big": {"x": range(2000), "g": [x % 7 for x in range(2000)]}, "small": {"s": [*map(str, range(20)), "bad"]}}
    sql = "select count(*) n from (select x from big where x % 7 {} g) a join small on a.x = small.s::bigint"
    session = Session({name: pa.table(columns) for name, columns in tables.items()})
    assert session.explain(sql.format("<>")).query.plan.inputs[0].op.name == "hash_join"
    assert session.sql(sql.format("<>")).table.to_pydict() == {"n": [0]}
    with pytest.raises(ExecutionError, match=r"^hash_join: 'bad' cannot be read as int64, in CAST"):
        session.sql(sql.format("="))


def test_a_scalar_subquery_of_two_rows_is_an_error_where_its_relation_has_rows() -> None:
    session = Session({"t": {"a": [1, 2], "b": [1, 2]}, "u": {"x": [1, 2]}, "none": {"a": pa.array([], pa.int64())}})
    for joined in ("t join u on t.a = u.x", "t join u on t.a = u.x + 100"):  # the second joins nothing
        with pytest.raises(ExecutionError, match="More than one row"):
            session.sql(f"select 1 from {joined} where t.b = (select x from u)")
    assert session.sql("select 1 from none join u on a = x where a = (select x from u)").table.num_rows == 0
