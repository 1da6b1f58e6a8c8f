"""What a Spark driver in this process is started with: configuration, and changes of the environment."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from experiments.pipeline.spark.address import address_towards
from experiments.pipeline.spark.java import java_environment
from experiments.pipeline.spark.ship import ROOT

_TRIES = 4  # of a task whose process died: Spark's default on clusters, while on one machine it is 1
_LOOPBACK = "127.0.0.1"


def is_local(master: str) -> bool:
    return re.match(r"local(\[|$)", master) is not None


def configuration(master: str, folder: Path) -> dict[str, str]:
    """Spark's settings. `folder` takes the temporary files of a local Spark unless SPARK_LOCAL_DIRS says where to put them."""
    conf = {
        "spark.app.name": "planscope",
        "spark.master": master,
        "spark.ui.showConsoleProgress": "false",
        "spark.port.maxRetries": "100",  # of ports for the UI, from 4040 on
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    }
    if is_local(master):
        conf["spark.master"] = with_tries(master)
        conf["spark.driver.host"] = conf["spark.driver.bindAddress"] = _LOOPBACK
        conf["spark.driver.memory"] = f"{driver_megabytes()}m"
        conf["spark.sql.shuffle.partitions"] = str(max(2, 2 * (os.cpu_count() or 1)))
        if "SPARK_LOCAL_DIRS" not in os.environ:
            conf["spark.local.dir"] = str(folder)
    elif address := address_towards(master):
        conf["spark.driver.host"] = address
    conf["spark.executorEnv.PYTHONSAFEPATH"] = "1"
    return conf


def environment(master: str) -> dict[str, str | None]:
    """What the launcher, the driver and its workers read from the environment; None means unset. Raises PipelineError."""
    changes: dict[str, str | None] = {"SPARK_REMOTE": None, "SPARK_API_MODE": None, "SPARK_CONNECT_MODE_ENABLED": None}
    changes["PYTHONSAFEPATH"] = "1"  # no worker imports what lies beside the data
    if is_local(master):
        found = os.environ.get("PYTHONPATH")
        changes["PYSPARK_PYTHON"] = sys.executable
        changes["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([found] if found else [])])
        changes["SPARK_LOCAL_IP"] = _LOOPBACK
    elif "PYSPARK_PYTHON" not in os.environ:
        changes["PYSPARK_PYTHON"] = sys.executable
    return changes | java_environment()


def with_tries(master: str) -> str:
    """`local[N]` as `local[N,tries]`, unless it says how often a task is tried."""
    if master == "local":
        return f"local[1,{_TRIES}]"
    return re.sub(r"^local\[([^,\]]+)\]$", rf"local[\1,{_TRIES}]", master)


def driver_megabytes() -> int:
    """A quarter of the memory, between 1 and 8 GiB: the rest is for the Python processes, which do the work."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (ValueError, OSError, AttributeError):
        return 1024
    return min(8192, max(1024, total // 4))
