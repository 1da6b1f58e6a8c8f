"""Scans of every format, pipelines, counters, early stop and errors."""

import random
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hand_made_plans import (
    DATE,
    DEC,
    F64,
    I32,
    I64,
    SMALL,
    STR,
    TUNINGS,
    Plans,
    Source,
    less,
    listed,
    literal,
    node,
    random_rows,
    values,
)

from executor.arrow import run as run_module
from executor.arrow import scan as scan_module
from executor.arrow.context import Tuning
from executor.arrow.counters import Counters
from executor.arrow.parquet_rows import Decoder
from executor.arrow.run import MOST_DEPTH, allow_depth, execute
from executor.session import Session
from optimizer.algebra import AggregateItem, JoinKind, ProjectItem, Scan, ScanColumn, SortKey, column_set
from optimizer.algebra.evaluate import holds
from optimizer.algebra.physical import (
    FilterRows,
    HashAggregate,
    HashJoin,
    LimitRows,
    NestedLoopJoin,
    ProjectRows,
    Sort,
    TableScan,
)
from optimizer.algebra.plan import PlanNode, prune_columns
from optimizer.algebra.scalars import BOOL, AggregateCall, Call, Cast, InList, Scalar
from optimizer.errors import ExecutionError

TYPES = [I64, F64, STR, DEC, DATE, pa.bool_(), I32]


def stored(plans: Plans, format: str, rows: list[tuple], parts: int = 3) -> list[int]:
    """A table "t" in several files, with encodings that differ from its canonical schema; the ids of its columns."""
    schema = pa.schema([(f"x{i}", type) for i, type in enumerate(TYPES)])
    files = []
    for part in range(parts):
        chunk = rows[part * len(rows) // parts : (part + 1) * len(rows) // parts]
        data = pa.table([pa.array([row[i] for row in chunk], type) for i, type in enumerate(TYPES)], schema=schema)
        path = plans.folder / f"t.{part}.{format}"
        if format == "csv":
            pacsv.write_csv(data, path, pacsv.WriteOptions(quoting_style="needed"))
        else:
            encoded = data.set_column(2, "x2", data["x2"].cast(pa.large_string()) if part else data["x2"].dictionary_encode())
            pq.write_table(encoded, path, row_group_size=5) if format == "parquet" else feather.write_feather(
                encoded, path, chunksize=4
            )
        files.append(path)
    plans.sources["t"] = Source("t", tuple(files), format, schema)
    return [plans.columns.new(f"x{i}", type, True).id for i, type in enumerate(TYPES)]


def scan_of(
    plans: Plans, ids: list[int], predicate: tuple[Scalar, ...] = (), limit: int | None = None, columns: int = -1, offset: int = 0
) -> PlanNode:
    read = tuple(ScanColumn(id, f"x{i}") for i, id in enumerate(ids))
    scan = Scan("t", "t", read, predicate=predicate, limit=limit, offset=offset)
    return node(TableScan(scan), columns=column_set(ids) & columns)


@pytest.mark.few(2)
@pytest.mark.parametrize("format", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("tuning", TUNINGS, ids=["small", "default"])
def test_scan(plans: Plans, format: str, tuning: Tuning) -> None:
    rng = random.Random(4)
    rows = [(*row[:2], "text," if row[2] == "" else row[2], *row[3:]) for row in random_rows(rng, TYPES, 60, spread=3)]
    ids = stored(plans, format, rows)
    as_dicts = [dict(zip(ids, row, strict=True)) for row in rows]
    c = [plans.ref(id) for id in ids]
    predicates: list[tuple[Scalar, ...]] = [
        (),
        (Call("is_null", (c[2],), BOOL),),
        (Call("is_not_null", (c[1],), BOOL), less(c[0], c[6])),
    ]
    constants = [1, 0.5, "ab", Decimal("0.01"), rows[3][4] or rows[4][4] or rows[5][4], True, 0]
    for function, i in product(("=", "<>", "<", "<=", ">", ">="), range(7)):
        predicates.append((Call(function, (c[i], literal(constants[i], TYPES[i])), BOOL),))
        predicates.append((Call(function, (literal(constants[i], TYPES[i]), c[i]), BOOL), Call("not", (c[5],), BOOL)))
    predicates.append((Call("<", (c[1], literal(float("nan"), F64)), BOOL),))
    predicates.append((InList(c[0], (literal(1, I64), literal(None, I64), literal(2, I64))),))
    predicates.append((InList(c[1], (literal(0.0, F64), literal(float("nan"), F64))),))
    predicates.append((Call("not", (InList(c[2], (literal("a", STR), literal(None, STR))),), BOOL),))
    for predicate in predicates:
        want = [row for row in as_dicts if holds(predicate, row)]
        plan = scan_of(plans, ids, predicate)
        assert listed(plans.run(plan, tuning)) == listed(values(want, plan.columns)), predicate
        plan = scan_of(plans, ids, predicate, limit=7, columns=0b1001)
        assert listed(plans.run(plan, tuning)) == listed(values(want[:7], plan.columns)), predicate
        plan = scan_of(plans, ids, predicate, limit=7, columns=0b1001, offset=9)
        assert listed(plans.run(plan, tuning)) == listed(values(want[9:16], plan.columns)), predicate
    assert plans.run(scan_of(plans, ids, limit=0)) == []


def test_scan_pushes_what_the_files_can_filter(plans: Plans) -> None:
    ids = stored(plans, "parquet", random_rows(random.Random(0), TYPES, 9))
    a, b = plans.ref(ids[0]), plans.ref(ids[1])
    predicate = (less(a, literal(3, I64)), less(literal(1.0, F64), b), Call("is_null", (b,), BOOL))
    scan = Scan("t", "t", tuple(ScanColumn(id, f"x{i}") for i, id in enumerate(ids)), predicate=predicate)
    pushed, local = scan_module._split(scan, plans.sources["t"], {})
    assert len(pushed) == 2 and local == (predicate[1],)  # NaN is above 1.0


def test_limit_stops_its_input(plans: Plans) -> None:
    big = plans.table([I64, STR], [(i, "1" if i < 400 else "x") for i in range(20_000)], row_group=100)
    number = plans.new(I64)
    # reading far enough to reach the texts that are no numbers would raise
    project = node(ProjectRows((ProjectItem(number, Cast(plans.ref(1), I64, False)),)), big, columns=1 << number)
    small = plans.table([I64], [(1,)])
    id = len(plans.columns) - 1
    join = node(
        HashJoin(JoinKind.INNER, ((plans.ref(number), plans.ref(id)),), ()), project, small, columns=1 << number | 1 << id
    )
    counters = Counters()
    limit = node(LimitRows((), 3, 5), join, columns=1 << number)
    prune_columns(limit, limit.columns)
    assert plans.run(limit, Tuning(batch=50, inline=0, workers=2), counters) == [(1,)] * 5
    assert counters[2].rows <= 400 and counters[3].rows <= 1_000
    nothing = node(
        LimitRows((), 0, 0), node(ProjectRows(project.op.items), scan_missing(plans), columns=1 << number), columns=1 << number
    )
    assert plans.run(nothing) == []


def scan_missing(plans: Plans) -> PlanNode:
    plans.sources["gone"] = Source("gone", (plans.folder / "gone.parquet",), "parquet", pa.schema([("x0", I64), ("x1", STR)]))
    return node(TableScan(Scan("gone", "gone", (ScanColumn(0, "x0"), ScanColumn(1, "x1")))), columns=0b11)


def test_dropping_the_reader_stops_the_plan(plans: Plans) -> None:
    scan = plans.table([I64], [(i,) for i in range(10_000)], row_group=100)
    counters = Counters()
    keep = node(FilterRows((less(literal(-1, I64), plans.ref(0)),)), scan, columns=1)
    prune_columns(keep, 1)
    reader = execute(keep, plans.columns, plans.sources, counters, Tuning(batch=50, inline=0, workers=2))
    reader.read_next_batch()
    del reader
    assert counters[1].rows <= 500


def test_nothing_runs_before_the_first_batch_is_read(plans: Plans) -> None:
    plans.columns.new("x0", I64, True)
    plans.columns.new("x1", STR, True)
    reader = execute(scan_missing(plans), plans.columns, plans.sources)
    with pytest.raises(ExecutionError, match=r"^table_scan: .*gone\.parquet"):
        reader.read_next_batch()


def test_an_empty_build_side_spares_the_probe_side(plans: Plans) -> None:
    plans.columns.new("x0", I64, True)
    plans.columns.new("x1", STR, True)
    missing, empty = scan_missing(plans), plans.table([I64], [])
    for op in (HashJoin(JoinKind.INNER, ((plans.ref(0), plans.ref(2)),), ()), NestedLoopJoin(JoinKind.SEMI, ())):
        assert plans.run(node(op, missing, empty, columns=0b11)) == []


def test_counters(plans: Plans) -> None:
    left = plans.table([I64, I64], [(i % 10, i) for i in range(300)], row_group=50)
    right = plans.table([I64], [(i,) for i in range(5)])
    keep = node(FilterRows((less(plans.ref(1), literal(200, I64)),)), left, columns=0b11)
    join = node(HashJoin(JoinKind.INNER, ((plans.ref(0), plans.ref(2)),), ()), keep, right, columns=0b111)
    count = AggregateItem(plans.new(I64), AggregateCall("count", (), False, None, I64))
    groups = node(HashAggregate((0,), (count,)), join, columns=1 | 1 << count.id)
    plan = node(Sort((SortKey(0),)), groups, columns=groups.columns)
    prune_columns(plan, plan.columns)
    ids = {n.op.name: n.id for n in plan.walk() if n is not right}
    for tuning in TUNINGS:
        counters = Counters()
        assert plans.run(plan, replace(tuning, filters=False), counters) == [(i, 20) for i in range(5)]
        rows = {name: counters[id].rows for name, id in ids.items()}
        assert rows == {"sort": 5, "hash_aggregate": 5, "hash_join": 100, "filter_rows": 200, "table_scan": 300}
        assert counters[right.id].rows == 5
        assert all(c.ms >= 0 for c in counters.nodes.values())
        assert counters[ids["hash_join"]].peak_bytes > 0 and counters[ids["filter_rows"]].peak_bytes == 0
        assert set(counters.nodes) == set(range(6))


def test_counted_time_is_exclusive(plans: Plans, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that only the scan's reading of a batch moves, by 2 s."""
    clock, decode = [0.0], Decoder.decode

    def slow(self: Decoder, *batch: Any) -> pa.RecordBatch | None:
        clock[0] += 2.0
        return decode(self, *batch)

    monkeypatch.setattr(run_module, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(Decoder, "decode", slow)
    scan = plans.table([I64], [(i,) for i in range(100)])
    sort = node(Sort((SortKey(0),)), scan, columns=1)
    plan = node(LimitRows((), 0, None), sort, columns=1)
    prune_columns(plan, 1)
    counters = Counters()
    plans.run(plan, Tuning(workers=1), counters)
    assert clock[0] > 0
    assert [counters[each.id].ms for each in (plan, sort, scan)] == [0, 0, clock[0] * 1000]


def test_errors_name_the_operator_and_the_expression(plans: Plans) -> None:
    scan = plans.table([I64, STR], [(2**62, "x"), (1, "2")])
    a, b = plans.ref(0), plans.ref(1)
    twice = ProjectItem(plans.new(I64), Call("*", (a, literal(4, I64)), I64))
    number = Cast(b, I64, False)
    other = plans.table([I64], [(1,)])
    c = plans.ref(len(plans.columns) - 1)
    cases = [
        (
            node(ProjectRows((twice,)), scan, columns=1 << twice.id),
            r"^project_rows: a result of \* is out of range for int64, in \(x0 \* 4\)$",
        ),
        (
            node(FilterRows((less(number, a),)), scan, columns=1),
            r"^filter_rows: 'x' cannot be read as int64, in CAST\(x1 AS int64\)\nTRY_CAST gives NULL",
        ),
        (node(HashJoin(JoinKind.INNER, ((number, c),), ()), scan, other, columns=1), "^hash_join: 'x' cannot be read"),
        (node(HashJoin(JoinKind.LEFT, ((c, number),), ()), other, scan, columns=1 << c.id), "^hash_join: 'x' cannot be read"),
        (node(NestedLoopJoin(JoinKind.INNER, (less(number, c),)), scan, other, columns=1), "^nested_loop_join: 'x' cannot"),
    ]  # fmt: skip
    for plan, message in cases:
        for tuning in TUNINGS:
            with pytest.raises(ExecutionError, match=message):
                plans.run(plan, tuning)
            deeper = node(Sort((SortKey(0),)), plan, columns=plan.columns)
            with pytest.raises(ExecutionError, match=message):
                plans.run(deeper, tuning)


@pytest.mark.parametrize("format", ["parquet", "arrow", "csv"])
def test_damaged_and_changed_files(plans: Plans, format: str) -> None:
    ids = stored(plans, format, [(1, 1.0, "a", None, None, True, 1)] * 30, parts=1)
    (path,) = plans.sources["t"].files
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 3] if format != "csv" else whole[:-1] + b",9\n")
    with pytest.raises(ExecutionError, match=r"^table_scan: .*t\.0\."):
        plans.run(scan_of(plans, ids))
    path.write_bytes(b"")
    with pytest.raises(ExecutionError, match=r"^table_scan: .*t\.0\."):
        plans.run(scan_of(plans, ids))
    other = pa.table({"y": [1]})
    {"parquet": pq.write_table, "arrow": feather.write_feather, "csv": pacsv.write_csv}[format](other, path)
    with pytest.raises(ExecutionError, match=r"^table_scan: .*x0.*has changed"):
        plans.run(scan_of(plans, ids))


def test_a_page_that_was_damaged_is_no_result(plans: Plans) -> None:
    """One bit of a value: only the checksum of the page can tell."""
    ids = stored(plans, "parquet", [(1, 1.0, "a", None, None, True, 1)] * 30, parts=1)
    (path,) = plans.sources["t"].files
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    pq.write_table(pq.read_table(path), path, **options)
    content = bytearray(path.read_bytes())
    at = content.index((1).to_bytes(8, "little") * 30)
    content[at + 80] ^= 2
    path.write_bytes(content)
    with pytest.raises(ExecutionError, match=r"(?i)t\.0\.parquet.*crc checksum"):
        plans.run(scan_of(plans, ids))


def test_csv_errors_name_file_and_row(plans: Plans) -> None:
    ids = stored(plans, "csv", [(1, 1.0, "a", None, None, True, 1)] * 3, parts=1)
    (path,) = plans.sources["t"].files
    path.write_text("x0,x1,x2,x3,x4,x5,x6\n1,1,a,,,true,1\n1,1\n")
    with pytest.raises(ExecutionError, match=r"t\.0\.csv: .*Expected 7 columns, got 2.*") as raised:
        plans.run(scan_of(plans, ids))
    assert "3" in str(raised.value).split("got 2")[0] + str(raised.value)[-4:]
    path.write_text("x0,x1,x2,x3,x4,x5,x6\nabc,1,a,,,true,1\n")
    with pytest.raises(ExecutionError, match=r"t\.0\.csv: .*'abc'"):
        plans.run(scan_of(plans, ids))


def test_very_deep_plans(plans: Plans) -> None:
    plan: PlanNode = plans.table([I64], [(i,) for i in range(20)])
    for _ in range(300):
        plan = node(FilterRows((less(literal(-1, I64), plans.ref(0)),)), plan, columns=1)
    for _ in range(150):
        plan = node(Sort((SortKey(0),)), plan, columns=1)
    for tuning in (SMALL, Tuning(workers=1)):
        assert plans.run(plan, tuning) == [(i,) for i in range(20)]


def test_empty_result_has_the_schema(plans: Plans) -> None:
    scan = plans.table([I64, STR], [])
    table = execute(scan, plans.columns, plans.sources).read_all()
    assert table.schema == pa.schema([("c0", I64), ("c1", STR)]) and table.num_rows == 0


def test_a_plan_that_the_stack_would_not_hold_is_refused() -> None:
    """Of a rule that adds an operator each time it fires, until the limit of firings."""
    query = Session({"t": {"k": [1, 2]}}).optimize("select k from t limit 1")
    plan = query.plan
    for _ in range(MOST_DEPTH):
        plan = plan.rebuilt(plan.op, (plan,))
    with pytest.raises(ExecutionError, match=r"3,00\d operators one below another, most of them \w+; 3,000 can be run"):
        allow_depth(plan)
    allow_depth(query.plan)
