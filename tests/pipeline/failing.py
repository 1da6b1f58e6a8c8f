"""A sweep's experiment for tests: items fail, or do not, by the name of the query. Measured in child processes.

What measures really is imported by the first item that asks for it: a process that ends at once starts in a fifth of the time.
`LOG`, where it is in the current folder, is told of each item that is begun; with `SLOW` there, no more than 20 a second are.
"""

import importlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from experiments.bench.experiment import Item, Row
from optimizer.errors import ExecutionError
from tests.bench.clock import pass_time

NAME = __name__
LOG, SLOW = Path("items.log"), Path("slow")
_kept: list[bytearray] = []
MB = 1 << 20


def __getattr__(name: str) -> Any:
    """SCHEMA and row are those of the real experiment."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_real(), name)


def _real() -> Any:
    return importlib.import_module("experiments.pipeline.sweep.measure")


def measure(item: Item) -> list[Row]:
    """`hang` never ends, `burst` asks for too much at once, `leak` keeps 200 MB for good, `exit`, `kill` and `abort` end the
    process, `raise` and `bug` raise; anything else is measured."""
    if SLOW.exists():
        time.sleep(0.05)
    if LOG.exists():
        with LOG.open("a", encoding="ascii") as log:
            log.write(f"{item['number']}\n")
    name = item["query"]
    if name == "hang":
        pass_time(1000)
        while True:
            signal.pause()
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
    rows: list[Row] = _real().measure(item)
    return rows
