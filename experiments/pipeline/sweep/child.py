"""The process that runs the items of a sweep, one after the other: `python -m experiments.pipeline.sweep.child DESCRIPTOR`.

Over the pipe DESCRIPTOR it receives the plan, then numbers of items, and sends:

    ("ready", {})          everything is imported
    ("opening", True)      a dataset has to be opened; ("opening", False) when that is done
    ("row", {...})         the row of the item

It is started as a new program and not forked: the parent is a Spark worker whose Arrow threads a fork would not carry over,
and their locks for ever. Its start takes half a second, which is why it is kept from item to item. It ends when the pipe
does, also in the middle of an item, so that no process outlives the worker that wanted it.
"""

from __future__ import annotations

import gc
import importlib
import os
import platform
import queue
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa

from experiments.pipeline.sweep.code_version import code_digest
from experiments.pipeline.sweep.columns import setting_columns
from experiments.pipeline.sweep.plan import Item, SweepPlan
from experiments.workloads.data import open_data
from optimizer.catalog.table import Catalog
from optimizer.errors import CatalogError, ExecutionError, NoPlan, PlanscopeError, SettingsError, SqlError, Unsupported
from optimizer.settings import Settings

_KINDS: tuple[tuple[type[BaseException], str], ...] = (
    (Unsupported, "unsupported"),
    (SqlError, "sql"),
    (CatalogError, "catalog"),
    (SettingsError, "settings"),
    (NoPlan, "no_plan"),
    (ExecutionError, "execution"),
    (MemoryError, "memory"),
)
_LONGEST = 2000  # characters of a message that are kept
_BURST = 2  # how many times the memory limit may be reserved at once, besides what a deep stack reserves
_DEEP_STACK = 1 << 30


def main() -> None:
    """Serves requests until the pipe ends."""
    pipe: Connection = Connection(int(sys.argv[1]))
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    with suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    threading.Thread(target=_receive, args=(pipe, requests), daemon=True).start()
    plan: SweepPlan = requests.get()
    server = Server(plan, lambda begins: pipe.send(("opening", begins)))
    _limit_memory(plan.memory)
    gc.collect()
    gc.freeze()  # what is there now stays; collections during items pass it over
    pipe.send(("ready", {}))
    while True:
        pipe.send(("row", server.row(requests.get())))


def _receive(pipe: Connection, requests: queue.SimpleQueue[Any]) -> None:
    """Passes requests on, and ends the process when no more can come: nobody would read the answers."""
    with suppress(EOFError, OSError):
        while True:
            requests.put(pipe.recv())
    os._exit(0)


def _limit_memory(megabytes: int) -> None:
    """Lets allocations far beyond the limit fail at once; the parent watches what is really occupied."""
    if not megabytes:
        return
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[5])  # of data and stacks, reserved ones included
    except (ImportError, OSError):
        return
    most = pages * resource.getpagesize() + _BURST * (megabytes << 20) + _DEEP_STACK
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))


class Server:
    """Makes rows. Datasets are opened once and kept."""

    def __init__(self, plan: SweepPlan, opening: Callable[[bool], None]) -> None:
        from experiments.cli import version

        self._plan, self._opening = plan, opening
        module, _, function = plan.measure.partition(":")
        self._measure: Callable[[Item, SweepPlan, Catalog], dict[str, Any]] = getattr(importlib.import_module(module), function)
        self._catalogs: dict[str, Catalog | PlanscopeError] = {}
        self._versions = {
            "host": socket.gethostname(),
            "planscope": version(),
            "code": code_digest(),
            "python": platform.python_version(),
            "pyarrow": pa.__version__,
        }

    def row(self, number: int) -> dict[str, Any]:
        """The row of an item; one that fails has status error. Only what ends the process prevents it."""
        item = self._plan.item(number)
        row = describe_item(item)
        row |= {**self._versions, "attempts": 1}
        try:
            catalog = self._catalog(item)
            gc.collect()
            row["started"] = datetime.now(UTC).isoformat()
            if catalog.digest != item.query.digest:
                raise _OtherData(
                    f"{item.query.data} on {self._versions['host']} is not what the sweep was planned for: its files or "
                    "statistics changed since, or differ from those of the machine that started the sweep"
                )
            return row | {"status": "ok", **self._measure(item, self._plan, catalog)}
        except Exception as error:
            return row | {"status": "error", "error_kind": _kind(error), "error": _message(error)}

    def _catalog(self, item: Item) -> Catalog:
        data = item.query.data
        if data not in self._catalogs:
            self._opening(True)
            try:
                self._catalogs[data] = open_data(data)
            except PlanscopeError as error:
                self._catalogs[data] = error
            self._opening(False)
        found = self._catalogs[data]
        if isinstance(found, PlanscopeError):
            raise found
        return found


class _OtherData(PlanscopeError):
    """The dataset is not the one that was planned for."""


def describe_item(item: Item) -> dict[str, Any]:
    """The columns that say which item it is: all that is known of one that ended its process."""
    return {
        "item": item.id,
        "number": item.number,
        "query": item.query.name,
        "workload": item.query.name.partition("/")[0],
        "data": item.query.data,
        "data_digest": item.query.digest,
        "variant": item.variant.name,
        "seed": item.seed,
        **setting_columns(Settings.from_mapping(item.settings).as_dict()),
    }


def _kind(error: BaseException) -> str:
    if isinstance(error, _OtherData):
        return "data"
    return next((kind for cls, kind in _KINDS if isinstance(error, cls)), "internal")


def _message(error: BaseException) -> str:
    text = str(error) or ("memory ran out" if isinstance(error, MemoryError) else "no message")
    text = text if isinstance(error, PlanscopeError) else f"{type(error).__name__}: {text}"
    return text[:_LONGEST]


if __name__ == "__main__":
    main()
