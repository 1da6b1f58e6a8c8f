"""The process that measures items, one after the other, and can be killed when one takes too long.

It is a new program and not a fork: threads of Arrow and their locks do not survive a fork. It is kept from item to item, since
its start takes half a second, and it ends at once when its parent does.
"""

from __future__ import annotations

import gc
import os
import queue
import signal
import threading
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from time import monotonic, perf_counter, process_time

from experiments.bench.experiment import Item, Row
from experiments.bench.registry import load
from optimizer.errors import PlanscopeError

_LOOK_SECONDS = 0.2  # between looks at the memory that an item takes
_LONGEST = 2000  # characters of a message that are kept


class Child:
    """Measures items of the experiment `name`. An item may take `seconds` and `megabytes`, 0 for any; without a limit of time it
    is measured in this process, for debuggers, profilers and tests."""

    def __init__(self, name: str, seconds: float, megabytes: int) -> None:
        self._name, self._seconds, self._megabytes = name, seconds, megabytes
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None

    def measure(self, item: Item) -> list[Row]:
        """The rows of the item, without its own columns; one that failed has a row that says how."""
        if not self._seconds:
            return measured(self._name, item, None)
        started = perf_counter()
        if self._process is None:
            self._start()
        assert self._pipe is not None and self._process is not None
        try:
            self._pipe.send(item)
            problem = self._wait()
            if problem is None:
                rows: list[Row] = self._pipe.recv()
                return rows
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._process.join(1.0)
            problem = ("died", f"the process ended with exit code {self._process.exitcode}")
        self.close()
        return [failure(*problem, seconds=perf_counter() - started)]

    def close(self) -> None:
        """Ends the process, whatever it does."""
        if self._process is not None and self._pipe is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
        self._process = self._pipe = None

    def _start(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._name))  # no daemon: it may have children
        self._process.start()
        theirs.close()
        self._pipe.recv()  # it has begun: its start does not count

    def _wait(self) -> tuple[str, str] | None:
        """(status, message) of the limit that was passed; None when there is an answer."""
        assert self._pipe is not None and self._process is not None
        deadline = monotonic() + self._seconds
        while not self._pipe.poll(_LOOK_SECONDS):
            if monotonic() > deadline:
                return "timeout", f"took longer than {self._seconds:g} s"
            held = status_mb("VmRSS", self._process.pid or 0)
            if self._megabytes and held is not None and held > self._megabytes:
                return "memory", f"took more than {self._megabytes:,} MB"
        return None


def measured(name: str, item: Item, idle_mb: float | None) -> list[Row]:
    """The rows of the item, measured here; an exception makes a failed one. `idle_mb`: memory held before the first item."""
    gc.collect()
    if idle_mb is not None:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins anew
    wall, cpu = perf_counter(), process_time()
    try:
        rows = [{**row, "status": "ok"} for row in load(name).measure(item)] or [{"status": "ok"}]
    except Exception as error:
        text = str(error) or ("memory ran out" if isinstance(error, MemoryError) else "no message")
        rows = [failure("error", text, kind=type(error).__name__, bug=_is_bug(error))]
    peak = None if idle_mb is None else status_mb("VmHWM")
    used = {
        "item_s": perf_counter() - wall,
        "item_cpu_s": process_time() - cpu,
        "peak_mb": None if peak is None or idle_mb is None else max(0.0, peak - idle_mb),
    }
    return [{**row, **used} for row in rows]


def failure(status: str, text: str, seconds: float | None = None, kind: str | None = None, bug: bool = False) -> Row:
    """The row of an item that failed; `bug`: not for lack of time, memory or support."""
    return {"status": status, "error": text[:_LONGEST], "error_kind": kind, "bug": bug, "item_s": seconds}


def status_mb(field: str, process: int | str = "self") -> float | None:
    """VmRSS (held now) or VmHWM (most so far) of a process in megabytes; None where the system does not tell."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) / 1024
    return None


def _is_bug(error: Exception) -> bool:
    return not isinstance(error, MemoryError) and (not isinstance(error, PlanscopeError) or error.exit_code == 1)


def _serve(pipe: Connection, name: str) -> None:
    """Answers each item with its rows, until the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    load(name)
    requests: queue.SimpleQueue[Item] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(pipe, requests), daemon=True).start()
    gc.collect()
    gc.freeze()
    idle_mb = status_mb("VmRSS")
    pipe.send("ready")
    while True:
        rows = measured(name, requests.get(), idle_mb)
        try:
            pipe.send(rows)
        except OSError:
            os._exit(0)


def _read(pipe: Connection, requests: queue.SimpleQueue[Item]) -> None:
    """Passes items on, and ends the process when no more can come: nobody would read the answers."""
    try:
        while True:
            requests.put(pipe.recv())
    except (EOFError, OSError):
        os._exit(0)
