"""A standalone Spark cluster on the loopback interface, of the PySpark installation: a master, and workers with one core each."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from experiments.pipeline.spark.java import java_environment
from experiments.pipeline.spark.session import changed_environment
from tests.processes import wait_until

LOOPBACK = "127.0.0.1"


class Cluster:
    """Processes that run until the cluster is left. `url` is what --master takes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        port = free_port()
        self.url = f"spark://{LOOPBACK}:{port}"
        self.master = self._start("master", "master.Master", "--port", str(port))
        self.workers: list[subprocess.Popen[bytes]] = []

    def begin(self, workers: int) -> None:
        self._await("master", "I have been elected leader", 1)
        for number in range(workers):
            options = ["--cores", "1", "--memory", "1g", "--work-dir", str(self._folder / f"worker-{number}")]
            self.workers.append(self._start(f"worker-{number}", "worker.Worker", *options, self.url))
        self._await("master", "Registering worker", workers)

    def kill_worker(self, number: int) -> None:
        """As if its machine were gone: the worker and all that it started."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)
        self.workers[number].wait()

    def stop(self) -> None:
        for process in [*self.workers, self.master]:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def unpacked(self) -> list[Path]:
        """Where workers unpacked the product's code."""
        return list(self._folder.rglob("planscope-*.unpacked/experiments/pipeline/spark/worker.py"))

    def _start(self, name: str, role: str, *options: str) -> subprocess.Popen[bytes]:
        import pyspark

        home = Path(pyspark.__file__).parent
        scratch = self._folder / f"{name}-scratch"
        scratch.mkdir()
        changes = {"SPARK_LOCAL_IP": LOOPBACK, "SPARK_LOCAL_DIRS": str(scratch), "SPARK_CONF_DIR": str(scratch)}
        changes["JDK_JAVA_OPTIONS"] = os.environ["SPARK_SUBMIT_OPTS"]  # for the executors of the workers, too
        (scratch / "log4j2.properties").write_text(
            "rootLogger.level = info\nrootLogger.appenderRef.all.ref = all\n"
            "appender.all.type = Console\nappender.all.name = all\nappender.all.target = SYSTEM_ERR\n"
            "appender.all.layout.type = PatternLayout\nappender.all.layout.pattern = %m%n%ex\n"
        )
        command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{role}", "--host", LOOPBACK, "--webui-port", "0"]
        with self._log(name).open("wb") as log, changed_environment({**changes, **java_environment()}):
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            return subprocess.Popen([*command, *options], cwd=scratch, start_new_session=True, **streams)

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _await(self, name: str, words: str, times: int) -> None:
        def text() -> str:
            return self._log(name).read_text(errors="replace")

        wait_until(lambda: text().count(words) >= times, lambda: f"the {name} does not say {words!r}:\n{text()[-2000:]}")


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """`workers` workers of one core that have registered; all processes are gone afterwards."""
    running = Cluster(folder)
    try:
        running.begin(workers)
        yield running
    finally:
        running.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
