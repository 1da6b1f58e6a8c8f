"""The pipeline, and plans, on a cluster of several processes, one of which is killed: the same result as on one machine."""

import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from experiments.pipeline.sweep.columns import SETTLED
from experiments.pipeline.sweep.run import progress_of, read_results, run_folder, runs
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError
from tests.pipeline.cluster import cluster
from tests.processes import PATIENCE, run_python, start_python, wait_until

pytestmark = pytest.mark.slow

ITEMS = 200
SPEC = """
[generate]
kind = "tpch"
scale = 0.01
parts = 3

[analyze]

[sweep]
queries = ["chain/3..6", "star/4..6", "cycle/5", "tpch/q03", "tpch/q05"]
seeds = [1, 2, 3, 4, 5]
chunk = 4
[sweep.settings]
pruning = ["both", "none"]
enumeration = ["adaptive", "left_deep"]
"""
OF_THE_FOLDER = ("item", "data", "data_digest")  # the two pipelines have made a dataset each


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spec") / "pipeline.toml"
    path.write_text(SPEC)
    return path


def start(spec: Path, out: Path, master: str) -> subprocess.Popen[str]:
    with out.with_suffix(".log").open("w") as log:
        words = ("pipeline", "run", str(spec), "-o", str(out), "--master", master)
        return start_python("-m", "experiments", *words, stdout=log, stderr=log)


def items_done(out: Path) -> int:
    try:
        return sum(progress_of(run_folder(out, run)).done for run in runs(out))
    except CatalogError:  # the plan is being written
        return 0


def finished(process: subprocess.Popen[str], out: Path) -> None:
    code = process.wait(PATIENCE)
    assert code == 0, out.with_suffix(".log").read_text()


def statistics(out: Path) -> dict[str, Any]:
    tables = open_dataset(out / "data").tables
    assert all(table.stats.analyzed for table in tables.values())
    return {name: (table.stats.rows, table.stats.distinct, table.stats.columns, table.keys) for name, table in tables.items()}


def rows(out: Path) -> list[dict[str, Any]]:
    [run] = runs(out)
    wanted = [name for name in SETTLED if name not in OF_THE_FOLDER]
    found = read_results(run_folder(out, run)).sort_by("number").to_pylist()
    return [{name: row[name] for name in wanted} for row in found]


def test_a_cluster_that_loses_a_worker_comes_to_the_same_result(spec: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    finished(start(spec, here, "local[2]"), here)
    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster", workers=2) as running:
        process = start(spec, there, running.url)
        log = there.with_suffix(".log")
        try:  # when a good part of the items is done, and as much is left
            wait_until(lambda: items_done(there) >= ITEMS // 5 or process.poll() is not None, log.read_text)
            assert process.poll() is None, f"over before the middle:\n{log.read_text()}"
            running.kill_worker(0)
            assert items_done(there) < ITEMS, "the worker was killed too late to matter"
            finished(process, there)
        finally:
            process.kill()
            process.wait()
        assert running.unpacked(), "the workers ran the code that was shipped"
    assert items_done(there) == ITEMS
    assert len({row["number"] for row in rows(there)}) == len(rows(there)) == ITEMS
    assert rows(there) == rows(here)
    assert statistics(there) == statistics(here)
    for table in ("lineitem", "orders", "nation"):
        files = [open_dataset(out / "data").tables[table].files for out in (here, there)]
        assert all(pq.read_table(a).equals(pq.read_table(b)) for a, b in zip(*files, strict=True)), table


def test_a_master_without_workers_is_said(tmp_path: Path) -> None:
    with cluster(tmp_path, workers=0) as running:
        arguments = ["data", "generate", "tpch", "--scale", "0.2", "-o", str(tmp_path / "out"), "--master", running.url]
        code = (
            "import experiments.pipeline.spark.session as session, experiments.cli, sys\n"
            "session._WORKER_SECONDS = 3\n"
            f"sys.exit(experiments.cli.main({arguments!r}))"
        )
        done = run_python("-c", code)
    assert done.returncode == 2
    assert f"error: {running.url} gave no executor within 3 s" in done.stderr
    assert "Traceback" not in done.stderr and "WARN" not in done.stderr


PLANS = """
import os, signal, sys, threading
from executor.session import Session
from experiments.pipeline.spark.session import spark_session
from tests.reference.compare import assert_result, rows_of
from tests.spark.tasks import Moving

url, worker = sys.argv[1], int(sys.argv[2])
spark = spark_session(url)
here, there = Session("tpch:0.01"), Session("tpch:0.01", engine=Moving(spark, tasks=6))

def same(name):
    assert_result(rows_of(here.sql(name).table), rows_of(there.sql(name).table), ())

same("tpch/q05")
threading.Timer(0.3, os.killpg, (worker, signal.SIGKILL)).start()
for name in ("tpch/q18", "tpch/q15", "tpch/q21"):
    same(name)
print("the same rows")
"""


def test_a_worker_dies_while_plans_run(tmp_path: Path) -> None:
    with cluster(tmp_path, 2) as running:
        done = run_python("-c", PLANS, running.url, str(running.workers[0].pid))
    assert done.stdout == "the same rows\n", done.stderr
