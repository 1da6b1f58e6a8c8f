"""A running query under watch: its limits, what it holds, how far it is, and how it is stopped.

The plan runs on a thread of its own, and whoever reads the result waits for it. So a limit of time and Ctrl-C are heeded at
once, also inside a kernel that sorts for seconds; the thread itself ends when the kernel does, at the next batch. What other
threads do for the plan ends then too: it asks the watch before each portion of pairs.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock
from time import monotonic
from typing import Any

import pyarrow as pa

from executor.arrow import pipeline
from optimizer.algebra.plan import PlanNode
from optimizer.errors import ExecutionError

_POLL_S = 0.05
_PATIENCE_S = 20.0  # that Python's end has with kernels of stopped queries


@dataclass(frozen=True, slots=True)
class Limits:
    """`seconds` a query may run, and `bytes` that its operators may hold together; None: no limit."""

    seconds: float | None = None
    bytes: int | None = None


class LimitReached(ExecutionError):
    """A query ran too long, or held too much."""


class Stopped(Exception):
    """Ends what threads do for a query that nobody waits for any more."""


class Watch:
    """`progress` is called now and then while somebody waits, with the watch."""

    def __init__(self, limits: Limits | None = None, progress: Callable[[Watch], None] | None = None) -> None:
        self.limits, self._progress = limits or Limits(), progress
        self._held: dict[Hashable, tuple[str, int]] = {}
        self._lock = Lock()  # of what other threads change
        self._at_work: list[PlanNode] = []
        self._started = monotonic()
        self._stopped = False
        self.rows_read = self.rows_to_read = 0

    @property
    def operator(self) -> str:
        """The operator that waits for no other; empty before the first one starts."""
        at_work = self._at_work[-1:]
        return at_work[0].op.name if at_work else ""

    def enter(self, node: PlanNode) -> None:
        """The node starts to make a batch; `leave` when it has."""
        self.go_on()
        self._at_work.append(node)  # by the query's own thread alone

    def leave(self) -> None:
        self._at_work.pop()

    def reading(self, items: Iterator[Any], rows: int) -> Iterator[Any]:
        """The items of a scan, of so many rows together (0: nobody knows), as they are read."""
        self.rows_to_read += rows
        for item in items:
            self.rows_read += item.num_rows if rows else 0
            yield item

    def held(self, node: PlanNode, bytes: int, key: Hashable = None, again: bool = False) -> None:
        """`node` holds so many bytes now, or what else `key` names does. `again`: nothing where it is released already. Raises
        LimitReached when that is more than there may be."""
        key, limit = node.id if key is None else key, self.limits.bytes
        with self._lock:
            if again and key not in self._held:
                return
            self._held[key] = node.op.name, bytes
            total = sum(each for _, each in self._held.values())
        if limit is not None and total > limit:
            whole = "" if total == bytes else f" of {_size(total)} in all"
            raise LimitReached(f"it holds {_size(bytes)}{whole}, and the query may hold {_size(limit)} (memory limit)")

    def released(self, key: Hashable) -> None:
        """What holds nothing any more: the id of a node, or a key."""
        with self._lock:
            self._held.pop(key, None)

    def stop(self) -> None:
        self._stopped = True

    def go_on(self) -> None:
        """Raises Stopped once the query is to stop. Any thread may ask, and has to in a loop that may take long in one batch."""
        if self._stopped:
            raise Stopped

    def waiting(self) -> None:
        """Raises LimitReached when the time is over."""
        if self._progress is not None:
            self._progress(self)
        limit = self.limits.seconds
        if limit is not None and monotonic() - self._started > limit:
            holds = ", ".join(f"{name} holds {_size(bytes)}" for name, bytes in list(self._held.values()) if bytes)
            text = f"{self.operator or 'the query'}: stopped after {limit:g} s (timeout)"
            raise LimitReached(f"{text}; {holds}" if holds else text)


_running: dict[threading.Thread, Callable[[], None]] = {}  # with what ends each


def at_work() -> bool:
    """Whether a thread of a query that was stopped has not ended yet, or of the pool's what it does for one."""
    return any(thread.is_alive() for thread in list(_running)) or pipeline.at_work()


@atexit.register
def _end_all() -> None:
    """Waits for the threads: one that comes back from a C++ kernel while Python ends is killed there, and aborts the process."""
    ends = monotonic() + _PATIENCE_S
    for thread, end in list(_running.items()):
        end()
        thread.join(max(0.0, ends - monotonic()))


def watched(batches: Iterator[pa.RecordBatch], watch: Watch) -> Iterator[pa.RecordBatch]:
    """The batches of a plan, made on a thread of its own. Nothing runs before the first is asked for."""
    asked: SimpleQueue[bool] = SimpleQueue()
    made: SimpleQueue[tuple[pa.RecordBatch | None, BaseException | None]] = SimpleQueue()

    def work() -> None:
        while asked.get():
            try:
                made.put((next(batches, None), None))
            except BaseException as error:
                made.put((None, error))
        close = getattr(batches, "close", None)
        if close is not None:
            close()
        _running.pop(threading.current_thread())

    def end() -> None:
        watch.stop()
        asked.put(False)

    thread = threading.Thread(target=work, name="query", daemon=True)
    _running[thread] = end
    thread.start()
    try:
        while True:
            asked.put(True)
            batch, error = _waited(made, watch)
            if error is not None:
                raise error
            if batch is None:
                return
            yield batch
    finally:
        end()


def _waited(
    made: SimpleQueue[tuple[pa.RecordBatch | None, BaseException | None]], watch: Watch
) -> tuple[pa.RecordBatch | None, BaseException | None]:
    while True:
        try:
            return made.get(timeout=_POLL_S)
        except Empty:
            watch.waiting()


def _size(bytes: int) -> str:
    unit, name = (1e3, "KB") if bytes < 1e6 else (1e6, "MB")
    return f"{bytes / unit:,.1f} {name}" if bytes < 100 * unit else f"{bytes / unit:,.0f} {name}"
