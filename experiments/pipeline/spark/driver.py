"""A Spark driver inside this process: its Java process, started and ended.

The start runs in a thread of its own: PySpark cannot bear Ctrl-C in the middle of it, so this thread only waits, and gives up at
once when told to. What Java and the Python workers print goes to a file, quoted when the start fails.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Any

from experiments.pipeline.spark.address import check_reachable
from experiments.pipeline.spark.driver_settings import configuration, environment, is_local
from experiments.pipeline.spark.errors import PipelineError, explain, is_sparks
from experiments.pipeline.spark.ship import ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str], None]
_WORKER_SECONDS = 60  # until a cluster has given the application an executor
_END_SECONDS = 5
_PATIENCE = 0.1


@dataclass
class Driver:
    """A session, and the Java process that it talks to."""

    spark: SparkSession
    process: Popen[bytes]

    def is_alive(self) -> bool:
        """Whether the session can still be used: not stopped by somebody else, its process not dead."""
        context: Any = self.spark.sparkContext
        try:
            return self.process.poll() is None and context._jsc is not None and not context._jsc.sc().isStopped()
        except Exception:  # the process is dying, and does not answer any more
            return False

    def stop(self) -> None:
        with suppress(Exception):  # a process that died has nothing left to stop
            self.spark.stop()
        _end(self.process)


def start_driver(master: str, folder: Path, progress: Progress | None, conf: Mapping[str, str] = {}) -> Driver:
    """A driver for `master`, its log and temporary files in `folder`; `conf`: settings of Spark's. Raises PipelineError."""
    check_reachable(master)
    changes = environment(master)
    if progress is not None:
        progress(f"starting Spark ({master})")
    _silence_py4j()
    start = _Start({**configuration(master, folder), **conf}, folder / "spark.log")
    with _changed(changes):
        start.wait()
    if start.error is not None:
        if isinstance(start.error, Exception) and (is_sparks(start.error) or isinstance(start.error, OSError)):
            raise PipelineError(_why_not(master, start.error, start.log)) from start.error
        raise start.error
    assert start.driver is not None, "the start of Spark ended with neither a driver nor an error"
    if not is_local(master):
        try:
            ship(start.driver.spark, folder)
            _await_workers(start.driver, master, progress)
        except BaseException:
            start.driver.stop()
            raise
    return start.driver


class _Start:
    """The start of one driver; afterwards either `driver` or `error` is set."""

    def __init__(self, conf: Mapping[str, str], log: Path) -> None:
        self.conf, self.log = conf, log
        self.driver: Driver | None = None
        self.error: BaseException | None = None
        self._given_up = False
        self._lock = threading.Lock()
        self._process: Popen[bytes] | None = None

    def wait(self) -> None:
        """Start, and return when that is over. KeyboardInterrupt ends it."""
        thread = threading.Thread(target=self._run, name="spark-start", daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(_PATIENCE)
        except BaseException:
            with self._lock:
                self._given_up = True
                if self._process is not None:
                    _end(self._process)
            raise

    def _run(self) -> None:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway
        from pyspark.sql import SparkSession

        try:
            conf = SparkConf(loadDefaults=False).setAll(list(self.conf.items()))
            with self.log.open("wb") as output:
                # a session of its own: what the terminal sends to this process is not for Java
                gateway = launch_gateway(conf, {"stdout": output, "stderr": output, "start_new_session": True})
            with self._lock:
                self._process = gateway.proc
                if self._given_up:
                    _end(gateway.proc)
                    return
            try:
                context: Any = SparkContext(conf=conf, gateway=gateway)
                context._accumulatorServer.handle_error = _ignored  # it prints a traceback when the Java process dies
                self.driver = Driver(SparkSession.builder.getOrCreate(), gateway.proc)
                assert self.driver.spark.sparkContext is context
            except BaseException:
                _end(gateway.proc)
                raise
        except BaseException as error:
            self.error = error


def _await_workers(driver: Driver, master: str, progress: Progress | None) -> None:
    """Waits until a standalone cluster has given us an executor: jobs would wait for one without a word."""
    if not master.startswith("spark://"):
        return
    context: Any = driver.spark.sparkContext
    start = time.monotonic()
    said = False
    while context._jsc.sc().getExecutorMemoryStatus().size() < 2:  # the driver counts as one
        waited = time.monotonic() - start
        if waited > _WORKER_SECONDS:
            raise PipelineError(
                f"{master} gave no executor within {_WORKER_SECONDS} s\n"
                "it has no worker with a free core and 1 GB of memory, or its workers cannot reach this machine"
            )
        if waited > _END_SECONDS and not said and progress is not None:
            progress(f"waiting for an executor of {master}")
            said = True
        time.sleep(_PATIENCE)


def _end(process: Popen[bytes]) -> None:
    """Ends a Java process, and lets PySpark start another one later. Java ends when its standard input does."""
    from pyspark import SparkContext

    with suppress(Exception):
        SparkContext._gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    try:
        process.wait(_END_SECONDS)
    except Exception:
        process.kill()
        process.wait()


def _why_not(master: str, error: Exception, log: Path) -> str:
    """Why Spark did not start: what it raised, or else the telling lines of what it printed."""
    said = explain(error)
    with suppress(OSError):
        lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines()]
        telling = [line for line in lines if re.search(r"Exception|Error|error:|cannot|not found|Permission|No space", line)]
        if "JAVA_GATEWAY_EXITED" in str(error) or "Java gateway process exited" in str(error):
            said = "\n".join(["its Java process ended at once", *(telling or lines)[:3]])
    return f"Spark did not start on {master}: {said}"


def _ignored(*_: object) -> None:
    """What happened to a request is known from elsewhere."""


def _silence_py4j() -> None:
    """Py4J tells the root logger of every broken connection, with traceback; what it raises says the same."""
    root = logging.getLogger()
    if _not_py4j not in root.filters:
        root.addFilter(_not_py4j)


def _not_py4j(record: logging.LogRecord) -> bool:
    return f"{os.sep}py4j{os.sep}" not in record.pathname


@contextmanager
def _changed(changes: Mapping[str, str | None]) -> Iterator[None]:
    """The environment with `changes`, as it was before afterwards."""
    before = {name: os.environ.get(name) for name in changes}
    _set(changes)
    try:
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
