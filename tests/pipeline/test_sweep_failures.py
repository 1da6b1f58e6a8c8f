"""An item that fails, in whatever way, becomes a row; the others are as if it were not there."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.bench import on_spark
from experiments.bench.child import Child
from experiments.bench.experiment import Row
from experiments.bench.on_spark import chunk_of, measure_items
from experiments.bench.registry import load
from experiments.bench.store import Store
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.sweep.columns import SETTLED
from experiments.pipeline.sweep.measure import row as row_of
from experiments.pipeline.sweep.plan import SweepPlan, write_plan
from experiments.pipeline.sweep.run import progress_of, read_results
from experiments.pipeline.sweep.spec import SweepSpec, plan_sweep
from optimizer.errors import PlanscopeError
from tests.bench.clock import stop_clock
from tests.pipeline import failing
from tests.pipeline.conftest import lay
from tests.processes import PATIENCE, wait_until


def planned(names: list[str], **keys: Any) -> SweepPlan:
    """One item for each name; names are of the query `select 1`."""
    queries = [{"query": f"select {i} as n", "name": name, "data": "joingraph"} for i, name in enumerate(names)]
    return replace(plan_sweep(SweepSpec(queries, **keys), code="test"), measure=failing.NAME)


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Callable[[SweepPlan], Child]]:
    """Makes children for the items of a plan; their processes end with the test."""
    with ExitStack() as made:
        yield lambda plan: made.enter_context(closing(Child(plan.measure, plan.timeout, plan.memory, str(tmp_path))))


@pytest.fixture(autouse=True)
def _no_kept_processes() -> Iterator[None]:
    yield
    for each in on_spark._children.values():
        each.close()
    on_spark._children.clear()


def row_by(child: Child, plan: SweepPlan, number: int) -> Row:
    item = plan.items[number]
    [row] = child.measure(item)
    return row_of(item, row)


def task_of(plan: SweepPlan, folder: Path, numbers: list[int], remote: bool = False) -> dict[str, Any]:
    """A Spark task; what it is told is JSON."""
    write_plan(folder, plan)
    return {
        "experiment": plan.measure, "items": [plan.items[number] for number in numbers], "what": "the sweep", "remote": remote,
        "folder": str(folder), "current": str(folder), "limits": {"seconds": plan.timeout, "megabytes": plan.memory},
    }  # fmt: skip


def test_each_failure_is_a_row_and_the_rest_is_not_touched(child: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_clock(monkeypatch, tmp_path)
    names = ["first", "exit", "kill", "abort", "raise", "bug", "burst", "hang", "last"]
    plan = planned(names, timeout=100, memory=1024)
    made = child(plan)
    rows = {name: row_by(made, plan, number) for number, name in enumerate(names)}
    kinds = {name: row["error_kind"] for name, row in rows.items()}
    assert kinds == {
        "first": None, "exit": "crash", "kill": "crash", "abort": "crash", "raise": "execution", "bug": "internal",
        "burst": "memory", "hang": "timeout", "last": None,
    }  # fmt: skip
    assert {row["status"] for name, row in rows.items() if kinds[name]} == {"error"}
    assert rows["first"]["status"] == rows["last"]["status"] == "ok"
    assert rows["last"]["cost"] > 0 and "cost" not in rows["kill"]
    assert rows["exit"]["error"] == "its process ended with exit code 7"
    assert rows["kill"]["error"] == "its process ended with signal SIGKILL"
    assert rows["abort"]["error"] == "its process ended with signal SIGABRT: something went wrong in a library"
    assert rows["raise"]["error"] == "division by zero in project_rows"
    assert rows["bug"]["error"] == "KeyError: 'nobody knows'"
    assert rows["hang"]["error"] == "it took more than 100 s and was stopped"
    again = {name for name, row in rows.items() if row["attempts"] == 2}
    assert again == {"exit", "burst"}, "only what may be the fault of earlier items of its process is tried again"
    assert {row["attempts"] for row in rows.values()} == {1, 2}


def test_what_earlier_items_keep_is_not_held_against_a_later_one(child: Any) -> None:
    plan = planned(["leak", "other"], memory=400)
    made = child(plan)
    rows = [row_by(made, plan, number) for number in (0, 0, 1)]
    assert [row["status"] for row in rows] == ["ok", "ok", "ok"]
    assert [row["attempts"] for row in rows] == [1, 2, 1]


def test_modules_in_the_current_folder_do_not_run(tmp_path: Path, child: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(["one"])
    for module in ("socket", "platform", "experiments"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('a module beside the data was run')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    assert row_by(child(plan), plan, 0)["status"] == "ok"


def test_a_process_that_does_not_start_is_no_failure_of_its_item() -> None:
    with pytest.raises(PlanscopeError, match=r"does not start.*No module named 'tests.pipeline.nothing'"):
        Child("tests.pipeline.nothing", PATIENCE, 0).measure({})


def test_no_process_outlives_its_parent(child: Any, tmp_path: Path) -> None:
    plan = planned(["one", "hang"])
    made = child(plan)
    assert row_by(made, plan, 0)["status"] == "ok"
    (tmp_path / failing.LOG).touch()
    made._send(plan.items[1])
    wait_until((tmp_path / failing.LOG).read_text, "it does not begin")
    process: subprocess.Popen[bytes] = made._process
    assert process.poll() is None
    made._pipe.close()  # what the death of the parent does
    assert process.wait(PATIENCE) == 0


def test_other_data_than_planned_is_an_error(child: Any, tmp_path: Path) -> None:
    data = lay(tmp_path / "data", {"t.csv": "a\n1\n2\n"})
    plan = plan_sweep(SweepSpec([{"query": "select a from t", "data": str(data)}], execute=True), code="test")
    (data / "t.csv").write_text("a\n1\n2\n3\n")
    row = row_by(child(plan), plan, 0)
    assert row["error_kind"] == "data" and row["error"].startswith(str(data))


def test_a_task_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned([f"q{i}" for i in range(6)])
    log = tmp_path / failing.LOG
    log.touch()
    task = task_of(plan, tmp_path, list(range(6)))
    real, calls = Child.measure, []

    def dies_at_the_fourth(self: Child, item: dict[str, Any]) -> list[Row]:
        calls.append(item)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(self, item)

    monkeypatch.setattr(Child, "measure", dies_at_the_fourth)
    with pytest.raises(KeyboardInterrupt):
        measure_items(task)
    assert (progress_of(tmp_path).done, progress_of(tmp_path).complete) == (3, False)
    files = tmp_path / "_items"
    (files / ".of-the-fourth.parquet.12.part").write_bytes(b"PAR1 cut off in the midd")
    (files / f"{plan.items[4]['item']}.parquet").write_bytes(b"PAR1 of a machine that lost its power")
    measure_items(task)
    assert sorted(map(int, log.read_text().split())) == list(range(6)), "an item ran twice, or never"
    log.write_text("")
    measure_items(task)
    assert not log.read_text(), "a task that is repeated after it was done"
    Store(tmp_path, load(plan.measure)).finish(plan.items)
    assert progress_of(tmp_path).complete
    assert read_results(tmp_path).column("query").to_pylist() == [f"q{i}" for i in range(6)]


def test_a_task_keeps_to_the_limit_of_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_clock(monkeypatch, tmp_path)
    plan = planned(["hang"], timeout=100)
    measure_items(task_of(plan, tmp_path, [0]))
    [row] = Store(tmp_path, load(plan.measure)).finish(plan.items).to_pylist()
    assert (row["status"], row["error_kind"]) == ("error", "timeout")


def test_a_server_stops_when_its_client_is_gone(tmp_path: Path) -> None:
    plan = planned(["one", "two"])
    with Store(tmp_path).hold("the sweep"):
        measure_items(task_of(plan, tmp_path, [0], remote=True))
    with pytest.raises(PipelineError, match="the process that ran the sweep has ended"):
        measure_items(task_of(plan, tmp_path, [0, 1], remote=True))
    assert progress_of(tmp_path).done == 1


def test_items_of_a_damaged_file_are_done_again(tmp_path: Path) -> None:
    plan = planned(["one", "two"])
    store = Store(tmp_path, load(plan.measure))
    measure_items(task_of(plan, tmp_path, [0, 1]))
    rows = store.finish(plan.items).select(SETTLED)
    whole = tmp_path / "results.parquet"
    whole.write_bytes(whole.read_bytes()[:-20])
    assert progress_of(tmp_path).done == 0
    measure_items(task_of(plan, tmp_path, [0, 1]))
    assert store.finish(plan.items).select(SETTLED).equals(rows)


def test_a_run_that_was_killed_between_one_file_and_the_others_has_each_item_once(tmp_path: Path) -> None:
    plan = planned(["one", "two"])
    store = Store(tmp_path, load(plan.measure))
    measure_items(task_of(plan, tmp_path, [0, 1]))
    files = {path: path.read_bytes() for path in store.parts()}
    rows = store.finish(plan.items)
    (tmp_path / "_items").mkdir()
    for path, content in files.items():
        path.write_bytes(content)
    assert not progress_of(tmp_path).complete and store.rows().equals(rows)
    assert store.finish(plan.items).equals(rows) and progress_of(tmp_path).complete


def test_a_killed_process_between_items_is_replaced(child: Any) -> None:
    plan = planned(["one", "two"])
    made = child(plan)
    assert row_by(made, plan, 0)["status"] == "ok"
    os.kill(made._process.pid, signal.SIGKILL)
    wait_until(lambda: made._process.poll() is not None, "it outlives SIGKILL")
    row = row_by(made, plan, 1)
    assert (row["status"], row["attempts"]) == ("ok", 1)


def test_items_of_a_task_do_not_depend_on_the_machine() -> None:
    assert [chunk_of(n) for n in (1, 4, 5, 500, 2000, 100_000)] == [4, 4, 4, 5, 20, 50]
