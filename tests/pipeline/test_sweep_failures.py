"""An item that fails, in whatever way, becomes a row; the others are as if it were not there."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.lock import hold
from experiments.pipeline.sweep import task as tasks
from experiments.pipeline.sweep.columns import SETTLED
from experiments.pipeline.sweep.keeper import Keeper
from experiments.pipeline.sweep.plan import SweepPlan, write_plan
from experiments.pipeline.sweep.results import LOCK, drop_damaged, progress_of, read_results, settle
from experiments.pipeline.sweep.spec import SweepSpec, plan_sweep
from experiments.pipeline.sweep.task import run_items
from tests.pipeline.failing import log_file
from tests.processes import PATIENCE, wait_until

FAILING = "tests.pipeline.failing:measure"


def planned(names: list[str], measure: str = FAILING, code: str = "test", **keys: Any) -> SweepPlan:
    """One item for each name, in one task unless `keys` say otherwise; names are of the query `select 1`."""
    queries = [{"query": f"select {i} as n", "name": name, "data": "joingraph"} for i, name in enumerate(names)]
    return plan_sweep(SweepSpec(queries, **{"chunk": len(names), **keys}), measure=measure, code=code)


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Any]:
    """Makes keepers of a plan; their processes end with the test."""
    made: list[Keeper] = []

    def make(plan: SweepPlan) -> Keeper:
        write_plan(tmp_path, plan)
        made.append(Keeper(plan))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(autouse=True)
def _no_kept_processes() -> Iterator[None]:
    yield
    for each in tasks._keepers:
        each.close()
    tasks._keepers.clear()


def rows_of(keeper: Keeper) -> dict[str, dict[str, Any]]:
    rows = [keeper.row(number) for number in range(keeper.plan.size)]
    return {row["query"]: row for row in rows}


def test_each_failure_is_a_row_and_the_rest_is_not_touched(keeper: Any) -> None:
    names = ["first", "exit", "kill", "abort", "raise", "bug", "burst", "hang", "last"]
    rows = rows_of(keeper(planned(names, timeout=1.5, memory=1024)))
    assert list(rows) == names
    kinds = {name: row.get("error_kind") for name, row in rows.items()}
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
    assert rows["hang"]["error"] == "it took more than 1.5 s and was stopped"
    again = {name for name, row in rows.items() if row["attempts"] == 2}
    assert again == {"exit", "burst"}, "only what may be the fault of earlier items of its process is tried again"
    assert {row["attempts"] for row in rows.values()} == {1, 2}


def test_memory_is_watched(keeper: Any) -> None:
    rows = rows_of(keeper(planned(["one", "hog", "two"], memory=400)))
    assert rows["hog"]["error_kind"] == "memory", rows["hog"]
    assert "MB of the 400 MB allowed" in rows["hog"]["error"] or "memory" in rows["hog"]["error"].lower()
    assert rows["two"]["status"] == "ok"


def test_what_earlier_items_keep_is_not_held_against_a_later_one(tmp_path: Path, keeper: Any) -> None:
    plan = planned(["leak", "other"], memory=400)
    made = keeper(plan)
    rows = [made.row(0), made.row(0), made.row(1)]
    assert [row["status"] for row in rows] == ["ok", "ok", "ok"]
    assert [row["attempts"] for row in rows] == [1, 2, 1]


def test_modules_in_the_current_folder_do_not_run(tmp_path: Path, keeper: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = keeper(planned(["one"]))
    for module in ("socket", "platform", "experiments"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('a module beside the data was run')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    assert made.row(0)["status"] == "ok"


def test_a_process_that_does_not_start_ends_the_task(tmp_path: Path) -> None:
    write_plan(tmp_path, planned(["one"], measure="tests.pipeline.failing:nothing"))
    with pytest.raises(PipelineError, match=r"does not start.*nothing"):
        run_items({"folder": str(tmp_path), "numbers": [0], "measure": "tests.pipeline.failing:nothing", "remote": False})
    assert progress_of(tmp_path).done == 0


def test_no_process_outlives_its_parent(keeper: Any) -> None:
    plan = planned(["one", "hang"])
    made = keeper(plan)
    assert made.row(0)["status"] == "ok"
    child = made._child
    begun = log_file(plan)
    child._ask(1)
    wait_until(begun.exists, "it does not begin")
    begun.unlink()
    assert child.alive()
    child._pipe.close()  # what the death of the parent does
    assert child._process.wait(PATIENCE) == 0


def test_other_data_than_planned_is_an_error(keeper: Any, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "t.csv").write_text("a\n1\n2\n")
    plan = plan_sweep(SweepSpec([{"query": "select a from t", "data": str(data)}], execute=True), code="test")
    (data / "t.csv").write_text("a\n1\n2\n3\n")
    row = keeper(plan).row(0)
    assert row["error_kind"] == "data" and str(data) in row["error"]


def test_a_task_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned([f"q{i}" for i in range(6)], measure="tests.pipeline.failing:counting", code=str(tmp_path))
    write_plan(tmp_path, plan)
    task = {"folder": str(tmp_path), "numbers": list(range(6)), "measure": plan.measure, "remote": False}
    real, calls = Keeper.row, []

    def dies_at_the_fourth(self: Keeper, number: int) -> dict[str, Any]:
        calls.append(number)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(self, number)

    monkeypatch.setattr(Keeper, "row", dies_at_the_fourth)
    with pytest.raises(KeyboardInterrupt):
        run_items(task)
    assert (progress_of(tmp_path).done, progress_of(tmp_path).complete) == (3, False)
    (rows,) = tmp_path.glob(".rows-*.jsonl")
    with rows.open("a") as file:
        file.write('{"item": "cut off in the midd')
    run_items(task)
    log = log_file(plan)
    assert sorted(map(int, log.read_text().split())) == list(range(6)), "an item ran twice, or never"
    log.unlink()
    run_items(task)
    assert not log.exists(), "a task that is repeated after it was done"
    settle(tmp_path)
    assert not list(tmp_path.glob(".rows-*")) and progress_of(tmp_path).complete
    assert read_results(tmp_path).column("query").to_pylist() == [f"q{i}" for i in range(6)]


def test_a_server_stops_when_its_client_is_gone(tmp_path: Path) -> None:
    plan = planned(["one", "two"])
    write_plan(tmp_path, plan)
    task = {"folder": str(tmp_path), "measure": FAILING, "remote": True}
    with hold(tmp_path / LOCK, "the sweep"):
        run_items({**task, "numbers": [0]})
    with pytest.raises(PipelineError, match=f"the process that ran sweep {plan.run} has ended"):
        run_items({**task, "numbers": [0, 1]})
    assert progress_of(tmp_path).done == 1


def test_items_of_a_damaged_file_are_done_again(tmp_path: Path) -> None:
    write_plan(tmp_path, planned(["one", "two"]))
    for number in range(2):
        run_items({"folder": str(tmp_path), "numbers": [number], "measure": FAILING, "remote": False})
    settle(tmp_path)
    rows = read_results(tmp_path).select(SETTLED)
    first, _ = tmp_path.glob("rows-*.parquet")
    first.write_bytes(first.read_bytes()[:-20])
    assert progress_of(tmp_path).done == 1
    drop_damaged(tmp_path)
    for number in range(2):
        run_items({"folder": str(tmp_path), "numbers": [number], "measure": FAILING, "remote": False})
    settle(tmp_path)
    assert read_results(tmp_path).select(SETTLED).equals(rows), "an item that was made twice counts once"


def test_a_killed_process_between_items_is_replaced(keeper: Any) -> None:
    made = keeper(planned(["one", "two"]))
    assert made.row(0)["status"] == "ok"
    os.kill(made._child._process.pid, signal.SIGKILL)
    wait_until(lambda: not made._child.alive(), "it outlives SIGKILL")
    row = made.row(1)
    assert (row["status"], row["attempts"]) == ("ok", 1)
