"""Runtime filters: the same rows as without them, and fewer rows read, whatever lies between the join and the scan."""

import random
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hand_made_plans import DATE, DEC, F64, I32, I64, SMALL, STR, Plans, bag, less, literal, node, random_rows

from executor import Session
from executor.arrow.context import Tuning
from executor.arrow.counters import Counters
from executor.arrow.key_filter import KeyFilter
from executor.arrow.runtime_filters import RuntimeFilters
from optimizer.algebra import SortKey, column_ids
from optimizer.algebra.kinds import PLAIN_JOINS, JoinKind, SetOpKind
from optimizer.algebra.logical import AggregateItem, ProjectItem, WindowItem
from optimizer.algebra.physical import (
    FilterRows,
    HashAggregate,
    HashJoin,
    HashSetOp,
    LimitRows,
    MergeJoin,
    NestedLoopJoin,
    ProjectRows,
    Sort,
    StreamingAggregate,
    TableScan,
    UnionAll,
    WindowRows,
)
from optimizer.algebra.plan import PlanNode, prune_columns
from optimizer.algebra.scalars import BOOL, AggregateCall, Call, WindowCall
from optimizer.errors import ExecutionError

NAN = float("nan")
WIDE = pa.decimal128(30, 2)


@pytest.mark.parametrize(
    ("type", "keys", "others"),
    [
        (I64, [5, 9, None, -3], [4, 10, -4, 2**62, -(2**63), 2**63 - 1]),
        (I64, [-(2**63), 2**63 - 1, 0], [1, None]),
        (I32, [7], [6, 8]),
        (F64, [0.0, NAN, 1.5], [2.5, float("inf"), None]),
        (STR, ["", "a", "long enough to have two words"], ["b", "long enough to have two worlds", None]),
        (DEC, [Decimal("1.10"), Decimal("-2.00")], [Decimal("1.11"), None]),
        (WIDE, [Decimal(10) ** 25, Decimal(0)], [Decimal(10) ** 25 + 1, Decimal(1)]),
        (DATE, [date(2020, 1, 1)], [date(2020, 1, 2), date(1, 1, 1), None]),
        (pa.bool_(), [True, None], [False, None]),
        (I64, [], [1, None]),
        (STR, [None], ["", None]),
    ],
)
def test_a_filter_passes_its_keys_and_hardly_any_other_value(type: pa.DataType, keys: list[Any], others: list[Any]) -> None:
    filter = KeyFilter(pa.array(keys, type), lambda bytes: None)
    assert filter.passes(pa.array(keys, type)).tolist() == [key is not None for key in keys]
    assert not filter.passes(pa.array(others, type)).any()  # none of these has another's hash
    same = {0.0: -0.0} if type == F64 else {}
    assert filter.passes(pa.array([same.get(key, key) for key in keys], type)).tolist() == [key is not None for key in keys]


def test_far_apart_keys_let_few_others_pass() -> None:
    keys = pa.array(range(0, 10_000_000_000, 1_000_000), I64)
    held: list[int] = []
    filter = KeyFilter(keys, held.append)
    assert filter.passes(keys).all()
    others = filter.passes(pa.array(range(1, 10_000_000_000, 1_000_000), I64))
    assert others.mean() < 0.1
    assert (filter.low.as_py(), filter.high.as_py()) == (0, 9_999_000_000)
    assert len(held) == 1 and held[0] <= 16 * 2 * len(keys)


class Query:
    """A scan of random rows (key, number) and the operators over it."""

    def __init__(self, plans: Plans, rng: random.Random, type: pa.DataType) -> None:
        self.plans, self.rng, self.type = plans, rng, type

    def scan(self, size: int = 30) -> PlanNode:
        return self.plans.table([self.type, I64], random_rows(self.rng, [self.type, I64], size))

    def selective(self, size: int) -> PlanNode:
        """A scan that is believed to have hardly any rows, because of a predicate."""
        scan = self.scan(size)
        assert isinstance(scan.op, TableScan)
        wanted = less(self.plans.ref(self.numbers(scan)[0]), literal(self.rng.randrange(4), I64))
        made = node(TableScan(replace(scan.op.scan, predicate=(wanted,))), columns=scan.columns)
        made.rows = 0.01
        return made

    def of(self, plan: PlanNode, type: pa.DataType) -> list[int]:
        return [id for id in column_ids(plan.columns) if self.plans.columns[id].type == type]

    def keys(self, plan: PlanNode) -> list[int]:
        return self.of(plan, self.type)

    def numbers(self, plan: PlanNode) -> list[int]:
        return self.of(plan, I64)

    def join(
        self, kind: JoinKind, left: PlanNode, right: PlanNode, build_left: bool, null_safe: bool, residual: bool
    ) -> PlanNode:
        ref, rng = self.plans.ref, self.rng
        pair = ref(rng.choice(self.keys(left))), ref(rng.choice(self.keys(right)))
        conjuncts = (less(ref(self.numbers(left)[0]), ref(self.numbers(right)[0])),) if residual else ()
        columns = left.columns if kind.left_only else left.columns | right.columns
        return node(HashJoin(kind, (pair,), conjuncts, build_left, int(null_safe)), left, right, columns=columns)


def _over(q: Query, below: PlanNode, form: str) -> PlanNode:
    """An operator of this form over a plan that has columns of both kinds."""
    plans, rng = q.plans, q.rng
    key, number = rng.choice(q.keys(below)), rng.choice(q.numbers(below))
    if form == "filter":
        return node(FilterRows((less(plans.ref(number), literal(3, I64)),)), below, columns=below.columns)
    if form == "project":
        items = ProjectItem(plans.new(q.type), plans.ref(key)), ProjectItem(plans.new(I64), plans.ref(number))
        return node(ProjectRows(items), below, columns=1 << items[0].id | 1 << items[1].id)
    if form == "sort":
        order = (SortKey(number), SortKey(key))
        return node(Sort(order), below, columns=below.columns, delivers=order)
    if form == "limit":
        return node(LimitRows((), 2, rng.randrange(20)), below, columns=below.columns)
    if form in ("aggregate", "streaming", "other aggregate"):
        keys, total = ((number,) if form == "other aggregate" else (key,)), plans.new(I64)
        items = [AggregateItem(total, AggregateCall("count", (), False, None, I64))]
        if form == "other aggregate":
            items.append(AggregateItem(plans.new(q.type), AggregateCall("max", (plans.ref(key),), False, None, q.type)))
        columns = sum(1 << id for id in (*keys, *(item.id for item in items)))
        if form == "streaming":
            order = (SortKey(key),)
            below = node(Sort(order), below, columns=below.columns, delivers=order)
            return node(StreamingAggregate(keys, tuple(items)), below, columns=columns, needs=[order], delivers=order)
        return node(HashAggregate(keys, tuple(items)), below, columns=columns)
    if form in ("window", "other window"):
        partition, item = (number if form == "other window" else key), plans.new(I64)
        order = (SortKey(partition), SortKey(number), SortKey(key))
        below = node(Sort(order), below, columns=below.columns, delivers=order)
        items = (WindowItem(item, WindowCall("row_number", (), False, None, False, None, I64)),)
        return node(WindowRows((partition,), order[1:], items), below, columns=below.columns | 1 << item, needs=[order])
    other = q.scan()
    if form in ("union", "intersect", "except"):
        columns = plans.new(q.type), plans.new(I64)
        sources = tuple((q.keys(plan)[0], q.numbers(plan)[0]) for plan in (below, other))
        kinds = {"intersect": SetOpKind.INTERSECT, "except": SetOpKind.EXCEPT}
        op = UnionAll(columns, sources) if form == "union" else HashSetOp(kinds[form], rng.random() < 0.5, columns, sources)
        return node(op, below, other, columns=1 << columns[0] | 1 << columns[1])
    kind = rng.choice(PLAIN_JOINS)
    sides = (below, other) if kind.left_only or rng.random() < 0.5 else (other, below)
    if form == "join":
        return q.join(kind, *sides, rng.random() < 0.5, rng.random() < 0.2, rng.random() < 0.3)
    ref, columns = plans.ref, sides[0].columns if kind.left_only else sides[0].columns | sides[1].columns
    pair = ref(rng.choice(q.keys(sides[0]))), ref(rng.choice(q.keys(sides[1])))
    if form == "loop":
        return node(NestedLoopJoin(kind, (Call("=", pair, BOOL),)), *sides, columns=columns)
    orders = [(SortKey(each.id),) for each in pair]
    sides = tuple(node(Sort(o), s, columns=s.columns, delivers=o) for o, s in zip(orders, sides, strict=True))
    return node(MergeJoin(kind, (pair,), ()), *sides, columns=columns, needs=orders)


FORMS = (
    "filter", "project", "sort", "limit", "aggregate", "streaming", "other aggregate", "window", "other window", "union",
    "intersect", "except", "join", "join", "join", "loop", "merge",
)  # fmt: skip


CASES = {I64: 60, F64: 30, STR: 20, DEC: 10, WIDE: 10, DATE: 10}


@pytest.mark.few(2)
@pytest.mark.parametrize("type", CASES, ids=str)
def test_the_same_rows_with_and_without(type: pa.DataType, tmp_path: Path) -> None:
    """Joins of every kind over up to three operators of every form."""
    rng = random.Random(f"filters {type}")
    for number in range(CASES[type]):
        q = Query(Plans(tmp_path), rng, type)
        probe = q.scan()
        forms = [rng.choice(FORMS) for _ in range(rng.randrange(1, 4))]
        for form in forms:
            if q.keys(probe) and q.numbers(probe):
                probe = _over(q, probe, form)
        if not (q.keys(probe) and q.numbers(probe)):
            continue
        build, kind, build_left = q.scan(rng.choice((0, 1, 3, 6))), rng.choice(PLAIN_JOINS), rng.random() < 0.5
        sides = (build, probe) if build_left else (probe, build)
        plan = q.join(kind, *sides, build_left, rng.random() < 0.3, rng.random() < 0.3)
        prune_columns(plan, plan.columns)
        tuning = SMALL if number % 2 else Tuning()
        expected = bag(q.plans.run(plan, replace(tuning, filters=False)))
        assert bag(q.plans.run(plan, tuning)) == expected, (number, forms, kind)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", PLAIN_JOINS)
def test_the_same_rows_where_a_small_probe_side_is_read_ahead(kind: JoinKind, tmp_path: Path) -> None:
    rng = random.Random(f"ahead {kind}")
    removed = {True: 0, False: 0}
    for number in range(30):
        q = Query(Plans(tmp_path), rng, rng.choice((I64, STR)))
        built = scan = q.scan()
        for form in [rng.choice(FORMS) for _ in range(rng.randrange(2))]:
            built = _over(q, built, form)
        if not (q.keys(built) and q.numbers(built)):
            continue
        probe, build_left = q.selective(rng.choice((0, 1, 6, 40))), rng.random() < 0.5
        sides = (built, probe) if build_left else (probe, built)
        plan = q.join(kind, *sides, build_left, rng.random() < 0.2, rng.random() < 0.3)
        prune_columns(plan, plan.columns)
        expected = bag(q.plans.run(plan, replace(SMALL, filters=False)))
        counters, plain = Counters(), Counters()
        assert bag(q.plans.run(plan, SMALL, counters)) == expected, number
        assert bag(q.plans.run(plan, Tuning(), plain)) == expected, number
        assert counters[probe.id].rows == plain[probe.id].rows  # read once, whoever reads it
        removed[build_left] += counters[scan.id].removed
    assert (removed[True] > 0) == (kind in (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI))
    assert (removed[False] > 0) == (kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI))


def test_scans_of_several_build_sides_are_begun_together_and_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, begun = random.Random("begun"), []
    begin = RuntimeFilters.begun
    monkeypatch.setattr(RuntimeFilters, "begun", lambda self, scan, rows: (begun.append(scan.id), begin(self, scan, rows)))
    for number in range(30):
        q = Query(Plans(tmp_path), rng, rng.choice((I64, STR)))
        plan, builds = q.scan(), [q.scan(rng.choice((1, 6, 40))) for _ in range(rng.randrange(1, 4))]
        for build in builds:
            build_left, kind = rng.random() < 0.5, rng.choice((JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL))
            sides = (build, plan) if build_left else (plan, build)
            plan = q.join(kind, *sides, build_left, rng.random() < 0.2, rng.random() < 0.3)
        prune_columns(plan, plan.columns)
        expected = bag(q.plans.run(plan, replace(SMALL, filters=False)))
        begun.clear()
        counters, threads = Counters(), Tuning(inline=0, workers=2)
        assert bag(q.plans.run(plan, threads, counters)) == expected, number
        assert sorted(begun) == sorted(build.id for build in builds if len(builds) > 1)
        assert all(counters[build.id].rows == len(q.plans.rows(build)) for build in builds)
        begun.clear()
        assert bag(q.plans.run(plan, replace(threads, workers=1))) == expected and not begun


@pytest.mark.parametrize("kind", [JoinKind.SINGLE, JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL])
def test_the_same_rows_where_a_filter_compares_with_a_single_row(kind: JoinKind, tmp_path: Path) -> None:
    rng = random.Random(f"row {kind}")
    removed = 0
    for number in range(25):
        q = Query(Plans(tmp_path), rng, I64)
        outer = scan = q.scan()
        for form in [rng.choice(FORMS) for _ in range(rng.randrange(2))]:
            outer = _over(q, outer, form)
        inner = q.scan(rng.choice((0, 1, 1, 1) if kind is JoinKind.SINGLE else (0, 1, 1, 2)))
        pair = q.plans.ref(rng.choice(q.keys(outer))), q.plans.ref(rng.choice(q.keys(inner)))
        both = outer.columns | inner.columns
        join = node(NestedLoopJoin(kind, ()), outer, inner, columns=both)
        plan = node(FilterRows((Call("=", pair, BOOL),)), join, columns=both)
        counters = Counters()
        assert bag(q.plans.run(plan, SMALL, counters)) == bag(q.plans.run(plan, replace(SMALL, filters=False))), number
        removed += counters[scan.id].removed
    assert (removed > 0) == (kind in (JoinKind.SINGLE, JoinKind.INNER, JoinKind.LEFT))


@pytest.mark.parametrize("form", sorted({*FORMS}))
def test_which_operators_let_a_filter_through(form: str, tmp_path: Path) -> None:
    rng = random.Random(form)
    removed = 0
    for _ in range(4):
        q = Query(Plans(tmp_path), rng, F64)
        scan = q.scan(60)
        probe = _over(q, scan, form)
        build = q.plans.table([F64, I64], [(1.0, 1), (2.0, 2)])
        plan = q.join(JoinKind.INNER, probe, build, False, False, False)
        prune_columns(plan, plan.columns)
        counters = Counters()
        q.plans.run(plan, SMALL, counters)
        removed += counters[scan.id].removed
    assert (removed == 0) == (form in ("limit", "other aggregate", "other window"))


KEPT_PROBE = {  # kinds whose rows of the probe side stay without a partner, by the side that is built
    True: (JoinKind.RIGHT, JoinKind.FULL),
    False: (JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI),
}


@pytest.mark.parametrize("build_left", [True, False])
@pytest.mark.parametrize("kind", PLAIN_JOINS)
def test_which_joins_filter_their_probe_side(kind: JoinKind, build_left: bool, tmp_path: Path) -> None:
    q = Query(Plans(tmp_path), random.Random(1), F64)
    probe = _over(q, q.plans.table([F64, I64], [(float(i), i) for i in range(20)]), "aggregate")
    build = q.plans.table([F64, I64], [(3.0, 3), (4.0, 4)])
    plan = q.join(kind, *((build, probe) if build_left else (probe, build)), build_left, False, False)
    prune_columns(plan, plan.columns)
    counters = Counters()
    q.plans.run(plan, SMALL, counters)
    scan = probe.inputs[0]
    assert counters[scan.id].removed == (0 if kind in KEPT_PROBE[build_left] else 18)
    assert counters[probe.id].fewer == (counters[scan.id].removed > 0) and not counters[plan.id].fewer


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filtered")
    rows = 40_000
    fact = pa.table({"k": [i // 2 for i in range(rows)], "f": [float(i % 7) for i in range(rows)], "v": list(range(rows))})
    part = pa.table({"k": list(range(rows)), "name": [f"part {i}" for i in range(rows)]})
    pq.write_table(fact, folder / "fact.parquet", row_group_size=5_000)
    pq.write_table(part, folder / "part.parquet")
    return folder


GROUPS = "select name, n from part join (select k, count(*) n, sum(v) s from fact group by k) g on part.k = g.k where name {}"


def test_explain_analyze_says_what_was_removed(dataset: Path) -> None:
    explanation = Session(dataset).explain(GROUPS.format("= 'part 77'"), analyze=True)
    assert "39,998 rows removed by runtime filters" in " ".join(explanation.show(200).split())
    (scan,) = [each for each in _operators(explanation.json["plan"]) if each["detail"].startswith("fact")]
    assert (scan["actual_rows"], scan["removed_rows"]) == (2, 39_998)
    off = Session(dataset, {"runtime_filters": False}).explain(GROUPS.format("= 'part 77'"), analyze=True)
    assert "removed" not in off.text and all(each["removed_rows"] == 0 for each in _operators(off.json["plan"]))


def test_the_value_of_a_subquery_reaches_the_scans_and_two_values_are_an_error(dataset: Path) -> None:
    names = "select name from part where k {} group by name"
    sql = f"select sum(v) s from part join fact on part.k = fact.k where part.name = ({names})"
    explanation = Session(dataset).explain(sql.format("= 77"), analyze=True)
    removed = [each["removed_rows"] for each in _operators(explanation.json["plan"]) if each["detail"].startswith("part")]
    assert max(removed) > 39_000  # of 40,000; some pass by their hash
    for on in (True, False):
        assert Session(dataset, {"runtime_filters": on}).sql(sql.format("= 77")).table.to_pydict() == {"s": [154 + 155]}
        with pytest.raises(ExecutionError, match="More than one row"):
            Session(dataset, {"runtime_filters": on}).sql(sql.format("in (77, 78)"))


def test_an_apply_has_no_filters_of_earlier_bindings(dataset: Path) -> None:
    """What a join in the right input of an Apply learns in one run is not true in the next."""
    sql = """select k, (select sum(g.n) from part p join (select k, count(*) n from fact group by k) g on p.k = g.k
             where p.k = part.k) from part where k < 5"""
    table = Session(dataset, {"decorrelate": "none"}).sql(sql).table
    assert table.to_pydict() == {table.column_names[0]: [0, 1, 2, 3, 4], table.column_names[1]: [2] * 5}


def _operators(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(each for below in plan["inputs"] for each in _operators(below))]
