"""Sweeps in Spark: complete, resumed after the driver was killed, with nothing lost and nothing twice."""

import errno
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from executor.atomic import make_folder
from experiments.bench.child import measured
from experiments.bench.store import LOCK, Store
from experiments.lock import hold
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.sweep.columns import SCHEMA, SETTLED
from experiments.pipeline.sweep.measure import row
from experiments.pipeline.sweep.plan import MEASURE, SweepPlan, write_plan
from experiments.pipeline.sweep.run import RESULTS, progress_of, read_results, run_folder, run_sweep, runs
from experiments.pipeline.sweep.spec import SweepSpec, plan_sweep
from optimizer.errors import CatalogError, InternalError, OutputError
from tests.pipeline.conftest import no_spark
from tests.pipeline.driver import plan_of
from tests.pipeline.failing import LOG, SLOW
from tests.processes import kill_once, start_python


def test_a_run_is_the_one_of_its_plan(tmp_path: Path) -> None:
    plan, other = plan_of(12, "this"), plan_of(12, "that")
    folder = make_folder(run_folder(tmp_path, plan.run))
    write_plan(folder, other)
    with pytest.raises(PipelineError, match=f"{plan.run} holds the plan of another sweep\nmove it away"):
        run_sweep(plan, tmp_path, no_spark)


def by_hand(plan: SweepPlan) -> list[dict[str, Any]]:
    """The rows of a plan, made here one after the other."""
    return [row(item, one) for item in plan.items for one in measured(plan.measure, item)]


def settled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: dict(v) if isinstance(v := row.get(name), (dict, list)) else v for name in SETTLED} for row in rows]


def test_a_sweep_gives_the_rows_of_its_items_and_is_not_done_again(spark: SparkSession, tmp_path: Path) -> None:
    unsupported = {"query": "select to1 from chain_3_r0 tablesample (1 rows)", "name": "unsupported", "data": "joingraph"}
    spec = SweepSpec(["chain/3..4", unsupported], settings={"pruning": ["none", "both"]}, seeds=[0, 5], chunk=4)
    plan = plan_sweep(spec, code="test")
    said: list[str] = []
    done = run_sweep(plan, tmp_path, lambda: spark, said.append)
    assert (done.items, done.made, done.errors) == (12, 12, {"unsupported": 4})
    table = read_results(done.folder)
    assert table.schema == SCHEMA
    assert settled(table.to_pylist()) == settled(by_hand(plan))
    assert set(table.column("attempts").to_pylist()) == {1}
    assert set(table.column("status").to_pylist()) == {"ok", "error"}
    assert table.column("seed").to_pylist()[:4] == [0, 5, 0, 5] and table.column("set_rule_order").to_pylist()[:2] == [0, 5]
    assert any("12 items in 3 Spark tasks" in line for line in said), said

    times = [file.stat().st_mtime_ns for file in done.files]
    again = run_sweep(plan, tmp_path, no_spark)
    assert (again.made, again.errors, again.files) == (0, done.errors, done.files)
    assert [file.stat().st_mtime_ns for file in done.files] == times

    other = run_sweep(plan_sweep(SweepSpec(["chain/3"]), code="test"), tmp_path, lambda: spark)
    assert other.items == 1 and runs(tmp_path) == [plan.run, other.run]
    newer = run_sweep(plan_sweep(SweepSpec(["chain/3"]), code="newer"), tmp_path, lambda: spark, said.append)
    assert newer.made == 1 and any(
        f"run {other.run} is the same sweep, but planscope's code has changed" in line for line in said
    )
    partitioned = ds.dataset(tmp_path / RESULTS, partitioning="hive", format="parquet").to_table()
    assert Counter(partitioned.column("run").to_pylist()) == {plan.run: 12, other.run: 1, newer.run: 1}


def test_two_processes_do_not_run_one_sweep(tmp_path: Path) -> None:
    plan = plan_sweep(SweepSpec(["chain/3"]), code="test")
    folder = run_folder(tmp_path, plan.run)
    folder.mkdir(parents=True)
    command = "import signal, sys\nfrom experiments.lock import hold\nfrom pathlib import Path\n"
    command += "with hold(Path(sys.argv[1]), 'it'):\n print('held', flush=True)\n signal.pause()"
    other = start_python("-c", command, str(folder / LOCK), stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with pytest.raises(OutputError, match=f"another process is at work on sweep {plan.run} \\(process {other.pid} on "):
            run_sweep(plan, tmp_path, no_spark)
    finally:
        other.kill()
        other.wait()
    with hold(folder / LOCK, "it"):  # a holder that was killed holds nothing
        pass


def test_a_lock_on_a_full_disk_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.write", full)
    lock = tmp_path / "lock"
    with hold(lock, "it"), pytest.raises(OutputError, match="another process is at work on it"), hold(lock, "it"):
        pass


def test_results_that_are_not_complete_or_not_the_plan_s_are_refused(tmp_path: Path) -> None:
    plan = plan_sweep(SweepSpec(["chain/2..3"]), code="test")
    done = run_sweep(plan, tmp_path, None)
    store, rows = Store(done.folder), read_results(done.folder)
    store.replace(rows.slice(1))
    with pytest.raises(CatalogError, match="not complete: 1 of 2 items"):
        read_results(done.folder)
    store.replace(pa.concat_tables([rows, rows.slice(1)]))
    with pytest.raises(InternalError, match="each once"):
        run_sweep(plan, tmp_path, no_spark)
    store.replace(rows)
    assert run_sweep(plan, tmp_path, no_spark).items == 2


@pytest.mark.slow
@pytest.mark.parametrize(("items", "kill_after"), [(60, 20), (1008, 500)])
def test_a_killed_sweep_goes_on_where_it_stopped(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, items: int, kill_after: int
) -> None:
    """Kills the driver of a sweep by SIGKILL once so many items were begun, goes on with it here, and compares the rows with
    those of an uninterrupted sweep."""
    out, plan, log = tmp_path / "killed", plan_of(items), tmp_path / LOG
    monkeypatch.chdir(tmp_path)
    log.touch()
    if items < 1000:
        SLOW.touch()
    driver = start_python("-m", "tests.pipeline.driver", str(out), str(items))
    kill_once(driver, lambda: begun(log) >= kill_after, "the sweep does not get on")
    folder, before = run_folder(out, plan.run), begun(log)
    stopped = progress_of(folder)
    assert not stopped.complete and 0 < stopped.done < items
    assert before - stopped.done <= 4, "more was lost than what was under way"
    done = run_sweep(plan, out, lambda: spark)
    assert done.made == items - stopped.done == begun(log) - before, "what was done was done again"
    rows = read_results(done.folder)
    assert sorted(rows.column("number").to_pylist()) == list(range(items))
    assert len(set(rows.column("item").to_pylist())) == items
    if items < 1000:
        assert settled(rows.to_pylist()) == settled(by_hand(replace(plan, measure=MEASURE)))
    else:
        whole = read_results(run_sweep(plan, tmp_path / "whole", lambda: spark).folder)
        assert rows.select(SETTLED).equals(whole.select(SETTLED))


def begun(log: Path) -> int:
    return len(log.read_text().split())
