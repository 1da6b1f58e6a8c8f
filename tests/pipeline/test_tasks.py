"""Functions run as Spark tasks: results, failures, processes that die, Ctrl-C."""

import json
import os
import signal
import subprocess
import urllib.request
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import SparkSession

from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.session import spark_session
from experiments.pipeline.spark.tasks import rows_of_tasks, run_tasks
from tests.pipeline import functions
from tests.processes import PATIENCE, run_python, start_python, wait_until

INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # wherever the tests themselves run
from experiments.pipeline.spark.session import spark_session
from experiments.pipeline.spark.tasks import run_tasks
from tests.pipeline.functions import nap
spark = spark_session("local[2]")
print("ready", flush=True)
try:
    run_tasks(spark, nap, [{"n": n, "marks": MARKS} for n in range(5)], "nap")
except KeyboardInterrupt:
    print("interrupted")
"""
KILLED = """
import os, signal, threading
from pathlib import Path
from experiments.pipeline.spark import session
from experiments.pipeline.spark.tasks import run_tasks
from optimizer.errors import PlanscopeError
from tests.pipeline.functions import nap
from tests.processes import wait_until
spark = session.spark_session("local[2]")
def kill():
    wait_until(lambda: list(Path(MARKS).iterdir()), "the tasks do not start")
    os.kill(session._java.proc.pid, signal.SIGKILL)
threading.Thread(target=kill).start()
try:
    run_tasks(spark, nap, [{"n": n, "marks": MARKS} for n in range(3)], "nap")
except PlanscopeError as error:
    print(error)
try:
    session.spark_session("local[2]")
except PlanscopeError as error:
    print(error)
"""


def test_results_come_in_the_order_of_the_tasks(spark: SparkSession) -> None:
    results = run_tasks(spark, functions.double, [{"n": n} for n in range(9)], "double")
    assert [result["n"] for result in results] == [0, 2, 4, 6, 8, 10, 12, 14, 16]
    assert all(result["process"] != os.getpid() for result in results)
    assert run_tasks(spark, functions.double, [], "double") == []


def test_a_task_is_told_of_itself_alone(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the function of a job holds goes to each of its tasks."""
    dumps, sent = CloudPickleSerializer.dumps, list[bytes]()
    monkeypatch.setattr(CloudPickleSerializer, "dumps", lambda *given: sent.append(dumps(*given)) or sent[-1])
    run_tasks(spark, functions.double, [{"n": n, "text": "x" * 20_000} for n in range(5)], "double")
    row = pa.struct([("n", pa.int64())])
    found = rows_of_tasks(spark, [(n, "x" * 20_000) for n in range(5)], lambda task: pa.array([{"n": task[0]}], row), row)
    assert sorted(each["n"] for each in found.collect()) == [0, 1, 2, 3, 4]
    assert len(sent) >= 2 and max(map(len, sent)) < 20_000


def test_our_own_errors_are_kept_as_they_are(spark: SparkSession) -> None:
    with pytest.raises(PipelineError) as raised:
        run_tasks(spark, functions.planscope_fail, [{"n": n, "table": "orders"} for n in range(3)], "fail")
    assert str(raised.value) == "task 2 of 3 (table orders): orders.parquet is damaged\nmake it again"


def test_a_bug_says_where_it_is(spark: SparkSession) -> None:
    with pytest.raises(PipelineError, match=r"^task 2 of 2: ZeroDivisionError: .* \(functions.py:\d+\)$"):
        run_tasks(spark, functions.fail, [{"n": 0}, {"n": 1}], "fail")


def test_a_process_that_dies_is_tried_again_and_then_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"^task 2 of 2 \(part 7\): a Spark worker process died, again after each retry\n"):
        run_tasks(spark, functions.die, [{"n": n, "part": 6 + n, "marks": str(tmp_path)} for n in range(2)], "die")
    assert len(list(tmp_path.iterdir())) == 4
    assert run_tasks(spark, functions.double, [{"n": 21}], "double")[0]["n"] == 42, "the session outlives it"


def test_jobs_say_what_they_are_for(spark: SparkSession) -> None:
    """In Spark's UI, which is on."""
    run_tasks(spark, functions.double, [{"n": 1}, {"n": 2}], "doubling")
    url = f"{spark.sparkContext.uiWebUrl}/api/v1/applications/{spark.sparkContext.applicationId}/jobs"
    with urllib.request.urlopen(url) as answer:
        jobs = json.loads(answer.read())
    assert {job["numTasks"] for job in jobs if job.get("description") == "doubling"} == {2}


def test_one_session_a_process(spark: SparkSession) -> None:
    assert spark_session() is spark is spark_session("local[2]")
    with pytest.raises(PipelineError, match=r"runs on local\[2\] in this process already, and cannot also on local\[3\]"):
        spark_session("local[3]")
    with pytest.raises(PipelineError, match="exclude each other"):
        spark_session("local[2]", "sc://localhost")


@pytest.mark.slow
def test_ctrl_c_ends_jobs_and_processes(tmp_path: Path) -> None:
    code = INTERRUPTED.replace("MARKS", repr(str(tmp_path)))
    process = start_python("-c", code, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2, "the tasks do not start")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: Spark's process hears nothing of it
        printed, _ = process.communicate(timeout=PATIENCE)  # the tasks never end
        assert (printed, process.returncode) == ("interrupted\n", 0)
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_java_process_that_dies_is_said(tmp_path: Path) -> None:
    done = run_python("-c", KILLED.replace("MARKS", repr(str(tmp_path))))
    died = "Spark stopped while it was needed: its Java process was killed, or the cluster ended the application"
    said, again = done.stdout.splitlines()
    assert said.endswith(died) and again == f"Spark did not start on local[2]: {died}"
    assert (done.stderr, done.returncode) == ("", 0)
