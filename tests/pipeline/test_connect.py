"""Spark Connect: imports and analyses on a server of its own, started from the installed PySpark."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from experiments.pipeline.spark.java import java_environment
from experiments.pipeline.spark.session import changed_environment
from optimizer.dataset import open_dataset
from tests.pipeline.cluster import LOOPBACK, free_port
from tests.pipeline.conftest import lay
from tests.processes import run_python, start_python, wait_until

IN_SPARK = "from experiments.pipeline.analyze import scan; scan.SMALL = 0"  # however small the data
COMMAND = f"import sys; from experiments.cli import main; {IN_SPARK}; sys.exit(main(sys.argv[1:]))"
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with started(tmp_path_factory.mktemp("server")) as (address, _):
        yield address


@contextmanager
def started(folder: Path) -> Iterator[tuple[str, int]]:
    """The address of a server whose workers do not have planscope, and its process."""
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.port": str(port), "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.ui.enabled": "false", "spark.local.dir": str(folder),
    }  # fmt: skip
    changes = {**java_environment(), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": LOOPBACK}
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[2]", "--class", SERVER]
    command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    with (folder / "log").open("wb") as log, changed_environment({**changes, "PYTHONPATH": None, "PYTHONSAFEPATH": "1"}):
        process = subprocess.Popen([*command, "spark-internal"], cwd=folder, stdout=log, stderr=log, start_new_session=True)
    try:
        wait_until(lambda: process.poll() is not None or answers(port), lambda: (folder / "log").read_text()[-3000:])
        assert process.poll() is None, (folder / "log").read_text()[-3000:]
        yield f"sc://{LOOPBACK}:{port}", process.pid
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


def run(folder: Path, *words: str) -> str:
    done = run_python("-c", COMMAND, *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_import_and_analysis_on_a_server(server: str, tmp_path: Path) -> None:
    schema = "create table people (id int primary key, day date); create table sales (n bigint primary key, text varchar)"
    lay(tmp_path / "shop", {"people.csv": "id,day\n1,2020-01-01\n2,\n2,2020-01-01\n", "schema.sql": schema})
    for i in range(3):
        rows = pa.table({"n": range(i * 100, i * 100 + 100), "text": [f"t{n % 7}" for n in range(100)]})
        lay(tmp_path, {f"shop/sales/{i}.parquet": rows})
    assert "people  2 of 3 rows, 1 rejected" in run(tmp_path, "data", "import", "shop", "-o", "data", "--remote", server)
    assert "read 4 of 4 parts of files" in run(tmp_path, "data", "analyze", "data", "--remote", server)
    tables = open_dataset(tmp_path / "data").tables
    assert tables["sales"].stats.columns["text"].ndv == 7 and tables["sales"].stats.columns["n"].max == 299
    assert tables["sales"].keys == (("n",),) and tables["people"].stats.rows == 2


@pytest.mark.slow
def test_an_experiment_on_a_server(server: str, tmp_path: Path) -> None:
    """Its workers have the code that was shipped, and write the rows themselves."""
    lay(tmp_path, {"shop/t.csv": "a,b\n1,2\n3,4\n"})
    words = ("bench", "pruning", "select x.a from t x, t y where x.a = y.b", "-d", "shop", "--modes", "none,both", "-q")
    here = run(tmp_path, *words, "-o", "here")
    there = run(tmp_path, *words, "-o", "there", "--remote", server)
    assert "none" in here and "both" in there
    costed = [pq.read_table(tmp_path / name / "results.parquet")["costed"].to_pylist() for name in ("here", "there")]
    assert costed[0] == costed[1] and len(costed[0]) > 1


PLAN = """
import sys
from executor.session import Session
from experiments.pipeline.spark.session import spark_session
from tests.spark.tasks import Moving

session = Session("shop/", engine=Moving(lambda: spark_session(remote=sys.argv[1]), tasks=3))
sql = "with c as (select a % 5 k, count(*) n from t group by 1) select x.k, x.n, (select max(n) from c) m from c x order by 1"
print(session.sql(sql).table.to_pydict())
"""


@pytest.mark.slow
def test_a_plan_on_a_server(server: str, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    pq.write_table(pa.table({"a": range(99)}), tmp_path / "shop" / "t.parquet", row_group_size=20)
    done = run_python("-c", PLAN, server, cwd=tmp_path)
    assert done.stdout == f"{ {'k': [0, 1, 2, 3, 4], 'n': [20, 20, 20, 20, 19], 'm': [20] * 5} }\n", done.stderr


LONG = """
import sys
from executor.spark.waiting import waited
from experiments.pipeline.spark.errors import PipelineError, translated
from experiments.pipeline.spark.session import spark_session

spark = spark_session(remote=sys.argv[1])
rows = spark.range(0, 10**15).selectExpr("sum(hash(id))")
try:
    with translated("counting"):
        waited(spark, rows.collect, "counting", lambda line: print(line, flush=True))
except PipelineError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_server_that_dies_ends_what_waits_for_it(tmp_path: Path) -> None:
    """Its client would ask for it ten minutes and more, in the job, its cancellation and the end of the session."""
    with started(tmp_path) as (address, server), (tmp_path / "out").open("w") as out:
        client = start_python("-c", LONG, address, cwd=tmp_path, stdout=out, stderr=subprocess.STDOUT)
        try:
            wait_until(lambda: "counting: for" in (tmp_path / "out").read_text(), (tmp_path / "out").read_text)
            os.killpg(server, signal.SIGKILL)
            wait_until(lambda: client.poll() is not None, (tmp_path / "out").read_text)
        finally:
            client.kill()
            client.wait()
    lines = (tmp_path / "out").read_text().splitlines()  # PySpark may have warned of it since
    assert "counting: Spark failed: the Spark Connect server does not answer any more" in lines
