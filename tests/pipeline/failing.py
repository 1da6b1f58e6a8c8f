"""Measures for sweeps of tests: each fails, or does not, by the name of the query. Run in child processes of a sweep."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from experiments.pipeline.sweep.measure import measure as real
from experiments.pipeline.sweep.plan import Item, SweepPlan
from optimizer.catalog.table import Catalog
from optimizer.errors import ExecutionError

_kept: list[bytearray] = []
MB = 1 << 20


def measure(item: Item, plan: SweepPlan, catalog: Catalog) -> dict[str, Any]:
    """`hang` leaves a mark and never ends, `hog` occupies memory, `burst` asks for too much at once, `leak` keeps 200 MB for
    good, `exit`, `kill` and `abort` end the process, `raise` and `bug` raise; anything else is measured."""
    name = item.query.name
    if name == "hang":
        log_file(plan).touch()
        while True:
            signal.pause()
    elif name == "hog":
        while True:
            _kept.append(bytearray(b"x") * (16 * MB))
            time.sleep(0.005)
    elif name == "burst":
        bytearray(1 << 44)
    elif name == "leak":
        _kept.append(bytearray(b"x") * (200 * MB))
        time.sleep(0.1)
    elif name == "exit":
        os._exit(7)
    elif name == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "abort":
        print("something went wrong in a library", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGABRT)
    elif name == "raise":
        raise ExecutionError("division by zero in project_rows")
    elif name == "bug":
        raise KeyError("nobody knows")
    print("a library that prints", flush=True)
    return real(item, plan, catalog)


def counting(item: Item, plan: SweepPlan, catalog: Catalog) -> dict[str, Any]:
    """Measures, and adds the item's number to the log of the run: how often was each begun?"""
    with log_file(plan).open("a", encoding="ascii") as log:
        log.write(f"{item.number}\n")
    return real(item, plan, catalog)


def log_file(plan: SweepPlan) -> Path:
    """A place that all processes know, whatever environment they were started with."""
    return Path(tempfile.gettempdir()) / f"planscope-test-sweep-{plan.run}.log"


def slow_counting(item: Item, plan: SweepPlan, catalog: Catalog) -> dict[str, Any]:
    """As `counting`, and no faster than 20 items a second."""
    time.sleep(0.05)
    return counting(item, plan, catalog)
