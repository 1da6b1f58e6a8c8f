"""Limits of a running query: time, memory; stopping it inside a kernel; what a terminal shows. Kernels that take long are
simulated by ones that wait until they are told to end."""

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor import Session
from executor.arrow import sort, watch
from executor.arrow.watch import Limits, Watch, at_work
from executor.execution import limits, reader
from optimizer.errors import ExecutionError, SettingsError
from tests.processes import wait_until

ROWS = 200_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    numbers = pa.array(range(ROWS))
    pq.write_table(
        pa.table({"n": numbers, "m": [i * 7919 % ROWS for i in range(ROWS)]}), folder / "t.parquet", row_group_size=20_000
    )
    return folder


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Sorting takes until the event is set, and an hour by the clock of limits, which stands still otherwise."""
    ended, real, clock = threading.Event(), sort.sorted_rows, [0.0]
    monkeypatch.setattr(watch, "monotonic", lambda: clock[0])

    def slow(*arguments: Any) -> pa.Table:
        clock[0] += 3600.0
        ended.wait()
        return real(*arguments)

    monkeypatch.setattr(sort, "sorted_rows", slow)
    yield ended
    ended.set()


BIG = {
    "sort": "select n, m from t order by m, n",
    "hash_join": "select a.n, b.m from t a join t b on a.n = b.m",
    "hash_aggregate": "select m, count(*), sum(n) from t group by m",
    "window_rows": "select sum(s) from (select sum(n) over (order by m, n) s from t)",
}


@pytest.mark.parametrize("operator", BIG)
def test_over_the_memory_limit(operator: str, folder: Path) -> None:
    session = Session(folder, memory_limit="1MB")
    with pytest.raises(
        ExecutionError, match=rf"^(sort|{operator}): it holds \d.* MB.*, and the query may hold 1.0 MB \(memory limit\)$"
    ):
        session.sql(BIG[operator])
    assert session.sql("select count(*) from t").table.to_pydict().popitem()[1] == [ROWS]


# megabytes in which the rows that are held fit (3.2 of them as they come), but not what is made of them, and in which all does
KERNELS = {
    "sort": ("select n, m from t order by m, n", 6, 9),
    "top_k": ("select n, m from t order by m, n limit 150000", 6, 9),
    "hash_aggregate": ("select m, count(*), sum(n) from t group by m", 8, 14),
    "hash_set_op": ("select n, m from t except all select m, n from t", 20, 30),
    "window_rows": ("select n, sum(m) over (partition by 0 * n) s from t", 30, 60),
    "hash_join": ("select a.n, b.m from t a join t b on a.n * 999983 = b.m * 999983", 6, 14),
}


@pytest.mark.parametrize("operator", KERNELS)
def test_what_kernels_make_counts(operator: str, folder: Path) -> None:
    sql, little, enough = KERNELS[operator]
    with pytest.raises(ExecutionError, match=rf"^{operator}: it holds \d.* MB.*, and the query may hold {little}.0 MB"):
        Session(folder, memory_limit=f"{little}MB").sql(sql)
    assert Session(folder, memory_limit=f"{enough}MB").sql(sql).table == Session(folder).sql(sql).table


AS_IT_GROWS = {  # queries that end in another way, or hold more, where all of it is counted at the end
    "hash_set_op": "select n, m from t except all select n, cast('x' || m as bigint) from t",
    "nested_apply": "select y from t a, lateral (select b.n + c.n y from t b, t c where b.n >= a.n and b.n < 500 and c.n < 4000)",
    "kept_rows": "select n from t a where n < 9 and exists (select 1 from t b where b.n + a.n > 150000)",
}


KEPT = {  # from one run of an Apply to the next, or to the end: megabytes as in KERNELS
    "an index that another subquery finds": (
        "select (select min(m) from t where t.n = a.n), (select count(*) from t where m < a.n) from t a where n < 9", 4, 6,
    ),
    "rows and the index of a join": (
        "select (select count(*) from t b join t c on b.m = c.n and c.m > a.n), (select min(m) from t where t.n = a.n) from t a "
        "where n < 9", 10, 16,
    ),
    "the indexes of a mark join": ("select count(*) from t a where n not in (select m + 0 from t) or m = 4", 4, 8),
    "the filter of a scan": (
        "select count(*) from (select n, count(*) c from t group by n) a join (select m * 1000003 x from t where m % 2 = 0) b "
        "on a.n = b.x", 6, 12,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kept", KEPT)
def test_what_is_kept_counts(kept: str, folder: Path) -> None:
    sql, little, enough = KEPT[kept]
    with pytest.raises(ExecutionError, match=rf"it holds \d.* MB.*, and the query may hold {little}.0 MB"):
        Session(folder, {"decorrelate": "none"}, memory_limit=f"{little}MB").sql(sql)
    twice = f"({sql}) union all ({sql})"  # the first is over, and what it kept is gone
    assert Session(folder, {"decorrelate": "none"}, memory_limit=f"{enough}MB").sql(twice).table.num_rows in (2, 18)


REMEMBERING = {"decorrelate": "none", "disable": ["apply_to_nested_apply"]}


@pytest.mark.parametrize("operator", AS_IT_GROWS)
def test_what_is_held_counts_as_it_grows(operator: str, folder: Path) -> None:
    with pytest.raises(ExecutionError, match=rf"^{operator}: it holds [12]\.[0-3] MB.*, and the query may hold 1.0 MB"):
        Session(folder, REMEMBERING, memory_limit="1MB").sql(AS_IT_GROWS[operator])


def test_an_apply_forgets_results_before_it_reaches_the_limit(folder: Path) -> None:
    sql = "select (select max(v) from (values (1), (2)) w(v) where v <= a.n) from (select n from t where n < 2400) a"
    assert Session(folder, REMEMBERING, memory_limit="1MB").sql(sql).table == Session(folder, REMEMBERING).sql(sql).table


def test_what_is_made_for_a_pipeline_that_has_ended_does_not_count(folder: Path) -> None:
    """An index is built on another thread, and may be told of when a LIMIT has ended its join."""
    node, watch = Session(folder).explain("select n from t").query.plan, Watch(Limits(bytes=9))
    watch.held(node, 1)
    watch.released(node.id)
    watch.held(node, 99, again=True)
    watch.held(node, 9)


def test_a_limit_that_is_kept_changes_nothing(folder: Path) -> None:
    sql = "select m % 10 k, count(*) n from t group by 1 order by 1"
    assert Session(folder, memory_limit="64MB", timeout=3600).sql(sql).table == Session(folder).sql(sql).table


def test_the_limit_is_on_what_is_held_at_one_time(folder: Path) -> None:
    """Each branch holds 8 MB while it sorts, and lets go of them before the next one begins."""
    branch = "(select n, m from t order by m limit 5 offset 100000)"
    assert Session(folder, memory_limit="9MB").sql(" union all ".join([branch] * 4)).table.num_rows == 20


def test_over_time_inside_a_kernel(folder: Path, kernel: threading.Event) -> None:
    session = Session(folder, timeout=60)
    with pytest.raises(ExecutionError, match=r"^sort: stopped after 60 s \(timeout\); sort holds 8.1 MB$"):
        session.sql("select n, m from t order by m")
    assert at_work()
    session.limits = limits()
    assert session.sql("select count(*) from t").table.num_rows == 1  # while the other is at work
    kernel.set()
    _end_of_threads()
    assert session.sql("select m from t order by m limit 1 offset 5").table.to_pydict() == {"m": [5]}


def test_dropping_a_stream_ends_it(folder: Path) -> None:
    stream = Session(folder).batches("select n from t where n >= 0")
    first = stream.read_next_batch()
    assert 0 < first.num_rows < ROWS
    del stream, first
    gc.collect()
    _end_of_threads()


def test_a_stream_has_all_rows_in_order(folder: Path) -> None:
    batches = list(Session(folder).batches("select n from t where n % 2 = 0"))
    assert [n for batch in batches for n in batch.column(0).to_pylist()] == list(range(0, ROWS, 2))


def test_several_threads_share_a_session(folder: Path) -> None:
    session, found = Session(folder), []

    def run(k: int) -> None:
        found.append(session.sql(f"select {k} k, count(*) n, sum(n) s from t where n % 5 = {k}").table.to_pylist())

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [[{"k": k, "n": ROWS // 5, "s": sum(range(k, ROWS, 5))}] for k in range(4)]
    assert sorted(found, key=lambda rows: rows[0]["k"]) == expected


def test_who_waits_is_told_how_far_it_is(folder: Path, kernel: threading.Event) -> None:
    session, seen = Session(folder), []

    def progress(watch: Watch) -> None:
        seen.append((watch.rows_read, watch.rows_to_read, watch.operator))
        if watch.operator == "sort":
            kernel.set()

    rows = reader(session.optimize("select n, m from t order by m"), None, limits(), progress)
    assert rows.read_all().num_rows == ROWS
    assert seen[-1] == (ROWS, ROWS, "sort")


def test_results_for_others(folder: Path) -> None:
    result = Session(folder).sql("select n, m from t where n < 3 order by n")
    assert result.to_pandas().to_dict("list") == result.table.to_pydict()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: limits(0), "timeout has to be"),
        (lambda: limits(float("nan")), "timeout has to be"),
        (lambda: limits("5"), "timeout has to be a number of seconds above 0, not '5'"),  # type: ignore[arg-type]
        (lambda: limits(None, [5]), "above 0"),  # type: ignore[arg-type]
        (lambda: limits(None, "many"), 'the memory limit cannot be "many"'),
        (lambda: limits(None, "5 parsecs"), "256MB"),
        (lambda: limits(None, 0), "above 0"),
        (lambda: limits(None, True), "above 0"),
    ],
)
def test_wrong_limits(make: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make()


@pytest.mark.parametrize(("text", "bytes"), [("256MB", 256_000_000), ("1.5 GiB", 3 << 29), ("512 kb", 512_000), ("7", 7)])
def test_sizes(text: str, bytes: int) -> None:
    assert limits(None, text).bytes == bytes


def _end_of_threads() -> None:
    """What the pool had begun for a query ends a batch later than the query's own thread."""
    for thread in threading.enumerate():
        if thread.name == "query":
            thread.join()
    wait_until(lambda: not at_work(), "something is still at work for a query that ended")
