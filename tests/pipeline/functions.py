"""Functions that tests run as Spark tasks: a worker imports them by name."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from optimizer.errors import CatalogError


def double(task: dict[str, Any]) -> dict[str, Any]:
    return {"n": 2 * task["n"], "process": os.getpid()}


def fail(task: dict[str, Any]) -> dict[str, Any]:
    """A bug: an exception that is not ours."""
    return {"n": 1 // (task["n"] - 1)}


def planscope_fail(task: dict[str, Any]) -> dict[str, Any]:
    if task["n"] == 1:
        raise CatalogError("orders.parquet is damaged\nmake it again")
    return {"n": task["n"]}


def die(task: dict[str, Any]) -> dict[str, Any]:
    """The process ends without a word, as if killed; leaves a mark for each try."""
    if task["n"] == 1:
        (Path(task["marks"]) / str(time.time_ns())).touch()
        os._exit(9)
    return {"n": task["n"]}


def nap(task: dict[str, Any]) -> dict[str, Any]:
    """Never ends; leaves a mark when it starts."""
    (Path(task["marks"]) / str(task["n"])).touch()
    while True:
        signal.pause()
