"""The Spark session: started on first use, one per process, quiet, stopped when the process ends.

    --master local[*]            Spark inside this machine (the default)
    --master spark://host:7077   a cluster, or yarn, k8s://...: this process is the driver, and ships the product's code
    --remote sc://host:15002     Spark Connect: the driver is on the server

Spark's own configuration files and PYSPARK_SUBMIT_ARGS are heeded; of what both say, `configuration` wins over the files, and
--conf over all. While a session runs, Spark's UI (by default http://localhost:4040) says what each job is for.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import wait
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from executor.spark.waiting import answers, in_thread, is_remote, served
from experiments.lock import hold, holder
from experiments.pipeline.spark.errors import PipelineError, explain, is_sparks, translated
from experiments.pipeline.spark.java import class_path, java_environment
from experiments.pipeline.spark.worker import ROOT, ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Say = Callable[[str], None]  # hears what goes on
Start = Callable[[], "SparkSession"]  # gives the session, started on its first call
DEFAULT_MASTER = "local[*]"
SMALL = 32 << 20  # bytes of files that this process is done with sooner than Spark would be
_PORTS = {"spark": 7077, "sc": 15002}  # where none is given
_REACH_SECONDS = 10
_BACKOFF = 2000  # milliseconds at most between 15 tries: calls to a server that is gone end within half a minute, and not in ten
_WORKER_SECONDS = 60  # until a cluster has given the application an executor
_TRIES = 4  # of a task whose process died: Spark's default on clusters, while on one machine it is 1
_LOOPBACK = "127.0.0.1"
_SCRATCH, _HELD = "planscope-spark-", ".held"
# a session of seconds does not pay for what Java's second compiler and its concurrent garbage collector cost, half of all CPU,
# nor for collections that only the loading of classes calls for, nor for a table of names that is too small for those of Spark,
# nor for proving anew that the bytecode of Spark's own 10,000 classes is well-formed
_BRIEF = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m "
    "-XX:+UnlockExperimentalVMOptions -XX:SymbolTableSize=262144 "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote -XX:+IgnoreUnrecognizedVMOptions"
}


class _Started(NamedTuple):
    """What runs in this process, where, and the files that have to go with it; `process`: a fork must leave it alone."""

    place: str
    spark: SparkSession
    files: ExitStack
    process: int


_started: _Started | None = None
_java: Any = None  # the gateway to the Java process of this process, which serves one session after the other and ends with it


def spark_session(
    master: str | None = None, remote: str | None = None, progress: Say | None = None, conf: Mapping[str, str] = {},
    brief: Callable[[], bool] = lambda: False,
) -> SparkSession:  # fmt: skip
    """The session of this process, started now if there is none or it was stopped.

    `conf`: settings of Spark's for a session that is started, over all others. `progress` hears that Spark starts, which takes
    seconds. `brief` says whether its Java process will have little to do.

    Raises PipelineError: no Java, no such master, both `master` and `remote` given, or another than the session runs on.
    """
    global _started
    if master is not None and remote is not None:
        raise PipelineError("--master and --remote exclude each other: with --remote the driver and its master are on the server")
    wanted = remote or master
    if _started is not None and not _is_alive(_started.spark):
        stop_session()
    if _started is not None:
        if wanted not in (None, _started.place):
            raise PipelineError(f"Spark runs on {_started.place} in this process already, and cannot also on {wanted}")
        return _started.spark
    place, start = wanted or DEFAULT_MASTER, _connected if remote is not None else _driver
    conf = {**_BRIEF, **conf} if is_local(place) and brief() else conf
    with ExitStack() as files:
        spark = start(place, files.enter_context(scratch_folder()), progress or unheard, conf)
        _started = _Started(place, spark, files.pop_all(), os.getpid())
    atexit.register(stop_session)
    return _started.spark


def is_running() -> bool:
    """Whether this process has started a session, and not stopped it."""
    return _started is not None


def stop_session() -> None:
    """Ends the session and its temporary files; nothing happens if there is none. Java ends with this process."""
    global _started
    atexit.unregister(stop_session)
    started, _started = _started, None
    if started is not None and started.process == os.getpid():
        with suppress(Exception):  # its process or server may be gone
            if answers(started.spark):
                started.spark.stop()
            else:  # PySpark's own end of the process would ask for it for minutes
                started.spark.client.close()
        started.files.close()


def configuration(master: str, folder: Path, address: str | None = None) -> dict[str, str]:
    """Spark's settings. `folder` takes the temporary files of a local Spark unless SPARK_LOCAL_DIRS says where to put them;
    `address` is that of this machine for the workers of another."""
    conf = {
        "spark.app.name": "planscope",
        "spark.master": master,
        "spark.ui.showConsoleProgress": "false",
        "spark.port.maxRetries": "100",  # of ports for the UI, from 4040 on
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.executorEnv.PYTHONSAFEPATH": "1",
        "spark.executorEnv.TZ": "UTC",  # what Java takes the timestamps of ORC files for
    }
    if not is_local(master):
        return conf if address is None else {**conf, "spark.driver.host": address}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20  # most is for Python, which does the work
    conf |= {
        "spark.master": re.sub(r"^local(\[([^,\]]+)\])?$", lambda found: f"local[{found[2] or 1},{_TRIES}]", master),
        "spark.driver.host": _LOOPBACK,
        "spark.driver.bindAddress": _LOOPBACK,
        "spark.driver.memory": f"{min(8192, max(1024, memory // 4))}m",
        "spark.sql.shuffle.partitions": str(max(2, 2 * (os.cpu_count() or 1))),
    }
    return conf if "SPARK_LOCAL_DIRS" in os.environ else {**conf, "spark.local.dir": str(folder)}


def environment(master: str) -> dict[str, str | None]:
    """What the launcher, the driver and its workers read from the environment; None means unset. Raises PipelineError."""
    changes: dict[str, str | None] = {"SPARK_REMOTE": None, "SPARK_API_MODE": None, "SPARK_CONNECT_MODE_ENABLED": None}
    changes |= {"PYTHONSAFEPATH": "1", "TZ": "UTC"}  # no worker imports what lies beside the data
    if is_local(master) or "PYSPARK_PYTHON" not in os.environ:
        changes["PYSPARK_PYTHON"] = sys.executable
    if is_local(master):
        changes["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        changes["SPARK_LOCAL_IP"] = _LOOPBACK
    return changes | java_environment()


def is_local(master: str) -> bool:
    return re.match(r"local(\[|$)", master) is not None


def reach(url: str) -> str | None:
    """The address of this machine on the way to spark://a:1,b:2 or sc://a:1/;key=value; None for any other master. Raises
    PipelineError when nobody listens there: Spark itself would try for minutes."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in _PORTS:
        return None
    reasons = []
    for part in re.split(r"[/;]", rest, maxsplit=1)[0].split(","):
        match = re.fullmatch(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:\[\]\s]+)(?::(?P<port>\d{1,5}))?", part)
        if match is None or int(match["port"] or 0) > 65535:
            raise PipelineError(
                f'"{url}" is no address: expected {scheme}://HOST:PORT, as in {scheme}://localhost:{_PORTS[scheme]}'
            )
        host, port = match["host"].strip("[]"), int(match["port"] or _PORTS[scheme])
        try:
            with socket.create_connection((host, port), _REACH_SECONDS) as connection:
                return str(connection.getsockname()[0])
        except OSError as error:
            reasons.append(f"{host}:{port}: {error.strerror or error}")
    raise PipelineError("\n".join([f"cannot reach {url}", *reasons]))


def _driver(master: str, folder: Path, progress: Say, conf: Mapping[str, str]) -> SparkSession:
    """A session whose driver is the Java process of this one; what that prints goes to a file, quoted when the start fails."""
    address, changes = reach(master), environment(master)
    progress(f"starting Spark ({master})")
    logging.getLogger().addFilter(_not_py4j)  # it tells of every broken connection, with traceback; what it raises says the same
    address = None if "SPARK_LOCAL_IP" in os.environ else address
    settings, log = {**configuration(master, folder, address), **conf}, folder / "spark.log"
    try:
        with changed_environment(changes):
            # PySpark cannot bear Ctrl-C while it starts: here it can come
            spark: SparkSession = in_thread(lambda: _launched(settings, log)).result()
    except Exception as error:
        if is_sparks(error) or isinstance(error, OSError):
            raise PipelineError(_why_not(master, error, log)) from error
        raise
    if not is_local(master):
        with ExitStack() as failed:
            failed.callback(spark.stop)
            ship(spark, folder)
            if master.startswith("spark://"):
                _await_workers(spark, master, progress)
            failed.pop_all()
    return spark


def _launched(settings: Mapping[str, str], log: Path) -> SparkSession:
    global _java
    import pyspark
    from pyspark import SparkConf, SparkContext
    from pyspark.accumulators import AccumulatorTCPServer
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    AccumulatorTCPServer.handle_error = unheard  # it would print a traceback when the Java process dies
    early = class_path(Path(pyspark.__file__).parent)
    conf = SparkConf(loadDefaults=False).setAll([*early.items(), *settings.items()])
    if _java is None:
        with log.open("wb") as output:
            # a session of its own: what the terminal sends to this process is not for Java
            _java = launch_gateway(conf, {"stdout": output, "stderr": output, "start_new_session": True})
    SparkContext(conf=conf, gateway=_java)
    return SparkSession.builder.getOrCreate()


def _connected(url: str, folder: Path, progress: Say, conf: Mapping[str, str]) -> SparkSession:
    """A session on the server at sc://HOST[:PORT], where the driver is."""
    if not url.startswith("sc://"):
        raise PipelineError(f'--remote takes sc://HOST[:PORT], not "{url}"; a cluster without Spark Connect is a --master')
    reach(url)
    progress(f"connecting to Spark ({url})")
    from pyspark.sql import SparkSession

    with translated(f"cannot use {url}"):
        builder = SparkSession.builder.remote(url).config(map={"spark.sql.session.timeZone": "UTC", **conf})
        try:
            spark: SparkSession = builder.getOrCreate()
        except ImportError as error:
            raise PipelineError(f"--remote needs more packages: {error}\npip install 'planscope[connect]'") from error
        served(spark, partial(reach, url))
        for policy in spark.client.get_retry_policies():
            policy.max_backoff = _BACKOFF
        ship(spark, folder)
    return spark


def _is_alive(spark: Any) -> bool:
    """Whether the session can still be used: nobody has stopped it, and its process is not dead."""
    with suppress(Exception):
        return not getattr(spark, "is_stopped", False) if is_remote(spark) else bool(spark.sparkContext.statusTracker())
    return False


@contextmanager
def configured(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """The session with other settings while the block runs."""
    before = {name: spark.conf.get(name, None) for name in conf}
    try:
        for name, value in conf.items():
            spark.conf.set(name, value)
        yield spark
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def _await_workers(spark: SparkSession, master: str, progress: Say) -> None:
    """Waits until a standalone cluster has run something for us: jobs would wait for an executor without a word."""
    probe = in_thread(lambda: spark.range(1).count())
    if not wait([probe], timeout=5).done:
        progress(f"waiting for an executor of {master}")
    if not wait([probe], timeout=_WORKER_SECONDS).done:
        raise PipelineError(
            f"{master} gave no executor within {_WORKER_SECONDS} s\n"
            "it has no worker with a free core and 1 GB of memory, or its workers cannot reach this machine"
        )
    with translated(f"cannot use {master}"):
        probe.result()


def _why_not(master: str, error: Exception, log: Path) -> str:
    """Why Spark did not start: what it raised, or else the telling lines of what it printed."""
    said = explain(error)
    if "Java gateway process exited" in str(error) or "JAVA_GATEWAY_EXITED" in str(error):
        lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines()]
        telling = [line for line in lines if re.search(r"Exception|Error|error:|cannot|not found|Permission|No space", line)]
        said = "\n".join(["its Java process ended at once", *(telling or lines)[:3]])
    return f"Spark did not start on {master}: {said}"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A new folder for temporary files that does not outlive its process for long; empty but for hidden files. A process that
    is killed removes nothing. So each folder holds a file that its process has locked, and whoever makes the next folder
    removes those beside it whose locks are free."""
    for held in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*/{_HELD}"):
        with suppress(OSError):  # it is gone
            if held.parent.lstat().st_uid == os.getuid() and held.is_file() and holder(held) is None:
                shutil.rmtree(held.parent, ignore_errors=True)
    new, process = Path(tempfile.mkdtemp(prefix=f".{_SCRATCH}")), os.getpid()
    folder = new.with_name(new.name.removeprefix("."))
    with hold(new / _HELD, str(new)):
        new.rename(folder)  # only now can others see it: with its lock
        try:
            yield folder
        finally:
            if process == os.getpid():  # a fork leaves it alone
                shutil.rmtree(folder, ignore_errors=True)


def unheard(*_: object) -> None:
    """What is said here is known from elsewhere, or nobody wants to know it."""


def _not_py4j(record: logging.LogRecord) -> bool:
    return f"{os.sep}py4j{os.sep}" not in record.pathname


@contextmanager
def changed_environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """The environment with `changes`, None meaning unset; as it was before afterwards."""
    before = {name: value for name in changes if (value := os.environ.pop(name, None)) is not None}
    os.environ.update({name: value for name, value in changes.items() if value is not None})
    try:
        yield
    finally:
        for name in changes:
            os.environ.pop(name, None)
        os.environ.update(before)
