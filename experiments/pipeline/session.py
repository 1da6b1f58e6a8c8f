"""The Spark session: started on first use, one per process, quiet, stopped when the process ends.

    --master local[*]            Spark inside this machine (the default)
    --master spark://host:7077   a cluster, or yarn, k8s://...: this process is the driver, and ships the product's code
    --remote sc://host:15002     Spark Connect: the driver is there, only plans and results travel

What Spark and its workers print goes to a file, which is quoted when the start fails. Spark's own configuration files and
PYSPARK_SUBMIT_ARGS are heeded; only what is set here takes precedence over the files.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pipeline.failures import PipelineError, explain, is_sparks, translated
from experiments.pipeline.java import java_environment
from experiments.pipeline.ship import ROOT, product_zip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str], None]
DEFAULT_MASTER = "local[*]"
_TRIES = 4  # of a task whose process died; Spark's default on clusters, while on one machine it is 1
_CONNECT_SECONDS = 10
_WORKER_SECONDS = 60  # until a cluster has given the application at least one executor
_CONNECT_MODULES = {
    "grpc": "grpcio",
    "grpc_status": "grpcio-status",
    "google.rpc": "googleapis-common-protos",
    "pandas": "pandas",
}


@dataclass
class _Started:
    """The session of this process, what it was started for, and what has to go with it."""

    spark: SparkSession
    where: tuple[str | None, str | None]
    folder: Path
    java: Any = field(default=None)  # the process of the driver's Java; None with Spark Connect


_started: _Started | None = None


def spark_session(master: str | None = None, remote: str | None = None, progress: Progress | None = None) -> SparkSession:
    """The session of this process, started now if there is none.

    `progress` hears that Spark starts, which takes seconds. Raises PipelineError: no Java, no such master, both `master`
    and `remote` given, or another one than the session runs on.
    """
    global _started
    if master is not None and remote is not None:
        raise PipelineError("--master and --remote exclude each other: the one runs the driver here, the other on a server")
    where = (None, remote) if remote is not None else (master or DEFAULT_MASTER, None)
    if _started is not None and not _is_alive(_started):
        stop_session()
    if _started is not None:
        if master is not None or remote is not None:
            if where != _started.where:
                running = _started.where[0] or _started.where[1]
                raise PipelineError(
                    f"Spark already runs on {running} in this process; it cannot also run on {where[0] or where[1]}"
                )
        return _started.spark
    folder = Path(tempfile.mkdtemp(prefix="planscope-spark-"))
    try:
        _started = _connect(remote, folder, progress) if remote is not None else _launch(where[0] or "", folder, progress)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    atexit.register(stop_session)
    return _started.spark


def stop_session() -> None:
    """Ends the session, its Java process and its temporary files; nothing happens if there is none."""
    global _started
    if _started is None:
        return
    started, _started = _started, None
    atexit.unregister(stop_session)
    with suppress(Exception):  # a Java process that died has nothing left to stop
        started.spark.stop()
    if started.java is not None:
        _end_java(started.java)
    shutil.rmtree(started.folder, ignore_errors=True)


def is_local(master: str) -> bool:
    return re.match(r"local(\[|$)", master) is not None


def _launch(master: str, folder: Path, progress: Progress | None) -> _Started:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    local = is_local(master)
    if not local:
        _check_reachable(master, "spark")
    if progress is not None:
        progress(f"starting Spark ({master})")
    changes = java_environment() | _environment(local)
    log = folder / "spark.log"
    conf = SparkConf(loadDefaults=False).setAll(_configuration(master, folder).items())
    with _changed(changes), log.open("wb") as output:
        gateway = None
        try:
            gateway = launch_gateway(conf, {"stdout": output, "stderr": output, "start_new_session": True})
            context = SparkContext(conf=conf, gateway=gateway)
            session = SparkSession.builder.getOrCreate()
        except BaseException as error:
            if gateway is not None:
                _forget_gateway(gateway)
            if isinstance(error, Exception) and (is_sparks(error) or isinstance(error, OSError)):
                raise PipelineError(_why_not(master, error, log)) from error
            raise
    started = _Started(session, (master, None), folder, gateway.proc)
    if not local:
        try:
            _ship(session, folder)
            _await_workers(context, master, progress)
        except BaseException:
            session.stop()
            _forget_gateway(gateway)
            raise
    return started


def _connect(remote: str, folder: Path, progress: Progress | None) -> _Started:
    missing = [package for module, package in _CONNECT_MODULES.items() if not _is_there(module)]
    if missing:
        raise PipelineError(f"--remote needs {', '.join(missing)}, which this Python has not\npip install 'pyspark[connect]'")
    if re.match(r"sc://[^/:;]+", remote) is None:
        raise PipelineError(f'--remote takes sc://HOST[:PORT], not "{remote}"; for a cluster without Spark Connect use --master')
    _check_reachable(remote, "sc")
    if progress is not None:
        progress(f"connecting to Spark ({remote})")
    from pyspark.sql import SparkSession

    with translated(f"cannot use {remote}"):
        session = SparkSession.builder.remote(remote).config("spark.sql.session.timeZone", "UTC").getOrCreate()
        _ship(session, folder)
    return _Started(session, (None, remote), folder)


def _configuration(master: str, folder: Path) -> dict[str, str]:
    conf = {
        "spark.app.name": "planscope",
        "spark.master": master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    }
    if is_local(master):
        conf["spark.master"] = _with_tries(master)
        conf["spark.driver.host"] = conf["spark.driver.bindAddress"] = "127.0.0.1"
        conf["spark.driver.memory"] = f"{_driver_megabytes()}m"
        conf["spark.sql.shuffle.partitions"] = str(max(2, 2 * (os.cpu_count() or 1)))
        if "SPARK_LOCAL_DIRS" not in os.environ:
            conf["spark.local.dir"] = str(folder)
    elif address := _address_towards(master):
        conf["spark.driver.host"] = address
    return conf


def _with_tries(master: str) -> str:
    """`local[N]` as `local[N,tries]`: a task is repeated when its process died."""
    if master == "local":
        return f"local[1,{_TRIES}]"
    return re.sub(r"^local\[([^,\]]+)\]$", rf"local[\1,{_TRIES}]", master)


def _driver_megabytes() -> int:
    """A quarter of the memory, between 1 and 8 GiB: the rest is for the Python processes, which do the work."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (ValueError, OSError, AttributeError):
        return 1024
    return min(8192, max(1024, total // 4))


def _environment(local: bool) -> dict[str, str | None]:
    """What the launcher and the driver read from the environment; None means unset."""
    changes: dict[str, str | None] = {"SPARK_REMOTE": None, "SPARK_API_MODE": None, "MASTER": None}
    if local:
        found = os.environ.get("PYTHONPATH")
        changes |= {
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYTHONPATH": os.pathsep.join([str(ROOT), *([found] if found else [])]),
        }
    elif "PYSPARK_PYTHON" not in os.environ:
        changes["PYSPARK_PYTHON"] = sys.executable
    return changes


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


def _ship(session: SparkSession, folder: Path) -> None:
    """Gives the workers the product's code; the driver goes on with its own."""
    path = list(sys.path)
    with translated("cannot ship planscope to the Spark workers"):
        session.addArtifacts(str(product_zip(folder)), pyfile=True)
    sys.path[:] = path


def _await_workers(context: Any, master: str, progress: Progress | None) -> None:
    """Waits until a standalone cluster has given us an executor: jobs would wait for one without a word."""
    if not master.startswith("spark://"):
        return
    end = time.monotonic() + _WORKER_SECONDS
    said = False
    while context._jsc.sc().getExecutorMemoryStatus().size() < 2:  # the driver counts as one
        if time.monotonic() > end:
            raise PipelineError(
                f"{master} gave no executor within {_WORKER_SECONDS} s\n"
                "it has no worker with a free core and 1 GB of memory, or its workers cannot reach this machine"
            )
        if not said and progress is not None and time.monotonic() > end - _WORKER_SECONDS + 5:
            progress(f"waiting for an executor of {master}")
            said = True
        time.sleep(0.1)


def _check_reachable(url: str, scheme: str) -> None:
    """Raises PipelineError when nobody listens there: Spark itself would try for minutes."""
    addresses = _addresses(url, scheme)
    reasons = []
    for host, port in addresses:
        try:
            socket.create_connection((host, port), _CONNECT_SECONDS).close()
            return
        except OSError as error:
            reasons.append(f"{host}:{port}: {error.strerror or error}")
    if addresses:
        raise PipelineError(f"cannot reach {url}\n" + "\n".join(reasons))


def _addresses(url: str, scheme: str) -> list[tuple[str, int]]:
    """Hosts and ports of spark://a:1,b:2 or sc://a:1/;key=value; empty for other kinds of masters."""
    if not url.startswith(f"{scheme}://"):
        return []
    default = {"spark": 7077, "sc": 15002}[scheme]
    found = []
    for part in re.split(r"[/;]", url[len(scheme) + 3 :], maxsplit=1)[0].split(","):
        host, _, port = part.rpartition(":") if re.search(r":\d+$", part) else (part, "", "")
        found.append((host.strip("[]"), int(port) if port else default))
    return found


def _address_towards(master: str) -> str | None:
    """The address of this machine on the way to the master, where its workers can probably reach it too.

    None leaves the choice to Spark, as do SPARK_LOCAL_IP and masters that are no address. Nothing is sent: a datagram socket
    only looks up the route.
    """
    if "SPARK_LOCAL_IP" in os.environ:
        return None
    for host, port in _addresses(master, "spark"):
        with suppress(OSError):
            family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind) as probe:
                probe.connect(address)
                return str(probe.getsockname()[0])
    return None


def _why_not(master: str, error: Exception, log: Path) -> str:
    """Why Spark did not start on `master`: what it raised, or else the end of what it printed."""
    said = explain(error)
    with suppress(OSError):
        lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines()]
        telling = [line for line in lines if re.search(r"Exception|Error|error:|cannot|not found|Permission|No space", line)]
        if "JAVA_GATEWAY_EXITED" in str(error) or "Java gateway process exited" in str(error):
            said = "its Java process ended at once\n" + "\n".join((telling or lines)[:3])
    return f"Spark did not start on {master}: {said}"


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def _is_alive(started: _Started) -> bool:
    """Whether the session can still be used: neither stopped by somebody else nor its Java process dead."""
    if started.java is not None and started.java.poll() is not None:
        return False
    try:
        return started.java is None or started.spark.sparkContext._jsc is not None
    except Exception:
        return False


def _forget_gateway(gateway: Any) -> None:
    """Ends a Java process, and lets PySpark start another one later."""
    from pyspark import SparkContext

    with suppress(Exception):
        gateway.shutdown()
    if gateway.proc is not None:
        _end_java(gateway.proc)
    SparkContext._gateway = SparkContext._jvm = None


def _end_java(process: Any) -> None:
    """Java ends when its standard input does; it gets a few seconds to remove its files."""
    from pyspark import SparkContext

    with suppress(Exception):
        SparkContext._gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(5)
    except Exception:
        process.kill()
        process.wait()
