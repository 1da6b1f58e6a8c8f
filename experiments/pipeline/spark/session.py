"""The Spark session: started on first use, one per process, quiet, stopped when the process ends.

    --master local[*]            Spark inside this machine (the default)
    --master spark://host:7077   a cluster, or yarn, k8s://...: this process is the driver, and ships the product's code
    --remote sc://host:15002     Spark Connect: the driver is on the server

Spark's own configuration files and PYSPARK_SUBMIT_ARGS are heeded; of what both say, driver_settings.py wins over the files, and
--conf over all. While a session runs, Spark's UI (by default http://localhost:4040) says what each job is for.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.scratch import Scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from experiments.pipeline.spark.connect import Remote
    from experiments.pipeline.spark.driver import Driver

Progress = Callable[[str], None]
DEFAULT_MASTER = "local[*]"


@dataclass
class _Started:
    """What runs in this process, where, and the files that have to go with it; `process`: a fork must leave it alone."""

    place: str
    running: Driver | Remote
    scratch: Scratch
    process: int


_started: _Started | None = None


def spark_session(
    master: str | None = None, remote: str | None = None, progress: Progress | None = None, conf: Mapping[str, str] = {}
) -> SparkSession:
    """The session of this process, started now if there is none or it has ended.

    `conf`: settings of Spark's for a session that is started, over all others. `progress` hears that Spark starts, which takes
    seconds. Raises PipelineError: no Java, no such master, both `master` and `remote` given, or another one than the session
    already runs on.
    """
    global _started
    if master is not None and remote is not None:
        raise PipelineError(
            "--master and --remote exclude each other: with --remote the driver, and its master, are on the server"
        )
    wanted = remote or master
    if _started is not None and not _started.running.is_alive():
        stop_session()
    if _started is not None:
        if wanted not in (None, _started.place):
            raise PipelineError(f"Spark runs on {_started.place} in this process already, and cannot also on {wanted}")
        return _started.running.spark
    scratch = Scratch()
    try:
        running = _start(wanted or DEFAULT_MASTER, remote is not None, scratch.folder, progress, conf)
    except BaseException:
        scratch.remove()
        raise
    _started = _Started(wanted or DEFAULT_MASTER, running, scratch, os.getpid())
    atexit.register(stop_session)
    return running.spark


def is_running() -> bool:
    """Whether this process has started a session, and not stopped it."""
    return _started is not None


def stop_session() -> None:
    """Ends the session, its Java process and its temporary files; nothing happens if there is none."""
    global _started
    atexit.unregister(stop_session)
    started, _started = _started, None
    if started is not None and started.process == os.getpid():
        started.running.stop()
        started.scratch.remove()


def _start(place: str, remote: bool, folder: Path, progress: Progress | None, conf: Mapping[str, str]) -> Driver | Remote:
    if remote:
        from experiments.pipeline.spark.connect import connect

        return connect(place, folder, progress, conf)
    from experiments.pipeline.spark.driver import start_driver

    return start_driver(place, folder, progress, conf)
