"""The process that measures items, one after the other, and can be killed when one takes too long.

It is a new program and not a fork: threads of Arrow and their locks do not survive a fork. It is kept from item to item, since
its start takes half a second, and it ends at once when its parent does. Over a pipe it receives items, and sends

    ("ready", None)       the experiment is imported
    ("untimed", True)     what follows does not count for the limit of time; ("untimed", False) when that is over
    ("rows", [...])       the rows of the item
"""

import gc
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic, perf_counter, process_time
from typing import Any

from experiments.bench.experiment import Item, Row
from experiments.bench.registry import load
from optimizer.errors import BoundRefuted, PlanscopeError
from optimizer.plugin_code import plugin_line

ROOT = Path(__file__).resolve().parent.parent.parent
_LOOK_SECONDS = 0.02  # between looks at the memory that an item takes
_START_SECONDS = 120.0  # until everything is imported, on a machine that has much else to do
_UNTIMED_SECONDS = 3600.0  # for a dataset to be opened: a built-in one may have to be made
_LONGEST = 2000  # characters of a message that are kept
_BURST = 2  # how many times the memory limit may be reserved at once, besides what a deep stack reserves
_DEEP_STACK = 1 << 30
_AGAIN = ("memory", "died")  # in a process that has measured other items, whose fault it may be


class Ended(Exception):
    """The process gave no answer: `status` is that of the row."""

    def __init__(self, status: str, message: str, rss_mb: float | None = None) -> None:
        super().__init__(message)
        self.status, self.rss_mb = status, rss_mb


class Child:
    """Measures items of the experiment `name`. An item may take `seconds` and `megabytes`, 0 for any. `folder`: the current one
    of the process, if not that of this one."""

    def __init__(self, name: str, seconds: float, megabytes: int, folder: str | None = None) -> None:
        self._name, self._seconds, self._megabytes, self._folder = name, seconds, megabytes, folder
        self._process: subprocess.Popen[bytes] | None = None
        self._answered = 0
        self._closed, self._busy = False, threading.Lock()

    def measure(self, item: Item) -> list[Row]:
        """The rows of the item, without its own columns; one that failed has a row that says how.

        What fails by memory or a crash may do so because of earlier items, so it is tried once more in a fresh process. Raises
        PlanscopeError where no process can be started, Ended if this is closed meanwhile.
        """
        attempts = 0
        with self._busy:
            for _ in range(2):
                fresh = self._ready()
                started, since = perf_counter(), monotonic()
                try:
                    self._send(item)
                    rows: list[Row] = self._wait(self._seconds, since)
                    self._answered += 1
                except Ended as ended:
                    if self._closed:
                        raise
                    rows = [failure(ended.status, str(ended), perf_counter() - started, ended.rss_mb)]
                attempts += 1
                status = rows[0]["status"]
                if status == "timeout" or status in _AGAIN:  # what it holds now, and what its libraries make of it, nobody knows
                    self._stop()
                if fresh or status not in _AGAIN:
                    break
        return [{**row, "attempts": attempts} for row in rows]

    def close(self) -> None:
        """Ends the process for good, whatever it does, also while another thread waits for its answer."""
        self._closed, process = True, self._process
        if process is not None:
            process.kill()
        with self._busy:
            self._stop()

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._pipe.close()
            self._said.close()
        self._process, self._answered = None, 0

    def _ready(self) -> bool:
        """There is a process now; whether it has answered nothing yet."""
        if self._process is None or self._process.poll() is not None:
            self._stop()
            self._start()
        return self._answered == 0

    def _start(self) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._pipe, other = Pipe()
        call = f"from experiments.bench.child import serve; serve({other.fileno()}, {self._name!r}, {self._megabytes})"
        paths = [str(ROOT), *filter(None, sys.path)]  # without the current folder: modules there are none of ours
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", call], stdin=subprocess.DEVNULL, stdout=self._said, stderr=self._said,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, pass_fds=[other.fileno()], cwd=self._folder,
            )  # fmt: skip
        try:
            if self._closed:
                raise Ended("died", "it is not wanted any more")
            self._wait(_START_SECONDS, monotonic())  # its start does not count
        except Ended as ended:
            self._stop()
            raise PlanscopeError(f"the process that measures items does not start: {ended}") from ended

    def _send(self, item: Item) -> None:
        with suppress(OSError):  # if it is dead, waiting for its answer shows that
            self._pipe.send(item)

    def _wait(self, seconds: float, since: float) -> Any:
        """The answer to what was asked at `since`. Raises Ended."""
        limit, most = seconds, None
        while True:
            now = monotonic()  # before the look: what has come by then came in time
            answered = self._pipe.poll(_LOOK_SECONDS)
            most = self._look(most)
            if answered:
                try:
                    kind, value = self._pipe.recv()
                except (EOFError, OSError):
                    raise self._crash(most) from None
                if kind != "untimed":
                    return value
                limit, since = _UNTIMED_SECONDS if value else seconds, monotonic()
            elif limit and now > since + limit:
                raise Ended("timeout", f"it took more than {limit:g} s and was stopped", most)

    def _look(self, most: float | None) -> float | None:
        """The greater of `most` and the MB occupied now. Raises Ended where that is more than the limit."""
        assert self._process is not None
        now = status_mb("VmRSS", self._process.pid)
        if now is None:
            return most
        if self._megabytes and now > self._megabytes:
            raise Ended("memory", f"it occupied {now:,.0f} MB of the {self._megabytes:,} MB allowed, and was stopped", now)
        return max(now, most or 0.0)

    def _crash(self, most: float | None) -> Ended:
        """Why the process ended by itself: the signal or exit code, and what it printed last."""
        assert self._process is not None
        code = self._process.wait()
        how = f"signal {_signal_name(-code)}" if code < 0 else f"exit code {code}"
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - _LONGEST))
        said = [line for line in self._said.read().decode("utf-8", "replace").splitlines() if line.strip()]
        status = "memory" if any("MemoryError" in line or "bad_alloc" in line for line in said[-3:]) else "died"
        return Ended(status, f"its process ended with {how}" + (f": {said[-1].strip()[:300]}" if said else ""), most)


def measured(name: str, item: Item, idle_mb: float | None = None) -> list[Row]:
    """The rows of the item, measured here; an exception makes a failed one. `idle_mb`: memory held before the first item."""
    gc.collect()
    if idle_mb is not None:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins anew
    wall, cpu = perf_counter(), process_time()
    try:
        rows = [{**row, "status": "ok"} for row in load(name).measure(item)] or [{"status": "ok"}]
    except Exception as error:
        where, text = plugin_line(error), str(error) or "no message"
        if where is not None and not text.startswith("plug-in "):  # as what loads it says
            text = f"plug-in {where}: {text}"
        rows = [{**failure("error", text), "error_kind": type(error).__name__, "bug": where is not None or _is_bug(error)}]
        if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):  # of an operator
            rows = [failure("memory", str(error) or "memory ran out")]
    peak = None if idle_mb is None else status_mb("VmHWM")
    used = {
        "item_s": perf_counter() - wall,
        "item_cpu_s": process_time() - cpu,
        "peak_mb": None if peak is None or idle_mb is None else max(0.0, peak - idle_mb),
        "rss_mb": peak,
    }
    return [{**row, **used} for row in rows]


def failure(status: str, text: str, seconds: float | None = None, rss_mb: float | None = None) -> Row:
    """The row of an item that failed; `bug`: not for lack of time, memory or support."""
    return {"status": status, "error": text[:_LONGEST], "error_kind": None, "bug": False, "item_s": seconds, "rss_mb": rss_mb}


def status_mb(field: str, process: int | str = "self") -> float | None:
    """VmRSS (held now) or VmHWM (most so far) of a process in megabytes; None where the system does not tell."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) / 1024
    return None


def _is_bug(error: Exception) -> bool:
    return not isinstance(error, PlanscopeError) or isinstance(error, BoundRefuted) or error.exit_code == 1


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


# -- within the process ---------------------------------------------------------------------------------------------------------

_parent: Connection | None = None


@contextmanager
def untimed() -> Iterator[None]:
    """What the block does, such as opening a dataset that may have to be made, does not count for the limit of time."""
    if _parent is None:
        yield
        return
    _parent.send(("untimed", True))
    try:
        yield
    finally:
        _parent.send(("untimed", False))


def serve(pipe: int, name: str, megabytes: int) -> None:
    """Answers each item with its rows, until the parent ends."""
    global _parent
    _parent = parent = Connection(pipe)
    with suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    load(name)
    requests: queue.SimpleQueue[Item] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(parent, requests), daemon=True).start()
    _limit_memory(megabytes)
    gc.collect()
    gc.freeze()  # what is there now stays; collections during items pass it over
    idle_mb = status_mb("VmRSS")
    parent.send(("ready", None))
    while True:
        parent.send(("rows", measured(name, requests.get(), idle_mb)))


def _read(pipe: Connection, requests: queue.SimpleQueue[Item]) -> None:
    """Passes items on, and ends the process when no more can come: nobody would read the answers."""
    with suppress(EOFError, OSError):
        while True:
            requests.put(pipe.recv())
    os._exit(0)


def _limit_memory(megabytes: int) -> None:
    """Lets allocations far beyond the limit fail at once; the parent watches what is really occupied."""
    if not megabytes:
        return
    with suppress(ImportError, ValueError, OSError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[5])  # of data and stacks, reserved ones included
        most = pages * resource.getpagesize() + _BURST * (megabytes << 20) + _DEEP_STACK
        resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))
