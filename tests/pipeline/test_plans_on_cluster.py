"""Plans in the tasks of a cluster of several processes, one of which is killed: the rows that they have here."""

from pathlib import Path

import pytest

from tests.pipeline.cluster import cluster
from tests.processes import run_python

PLANS = """
import os, signal, sys, threading
from executor.session import Session
from executor.spark.engine import SparkEngine
from experiments.pipeline.spark.session import spark_session
from tests.reference.compare import assert_result, rows_of
from tests.spark.tasks import AnyCost

class Moving(SparkEngine):
    moving = property(lambda self: AnyCost(5))

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


@pytest.mark.slow
def test_a_worker_dies_while_plans_run(tmp_path: Path) -> None:
    with cluster(tmp_path, 2) as running:
        done = run_python("-c", PLANS, running.url, str(running.workers[0].pid))
    assert done.stdout == "the same rows\n", done.stderr
