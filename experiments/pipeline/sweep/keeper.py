"""Keeps a child process that runs items, and replaces it when it dies, takes too long or too much memory.

Whatever an item does, `Keeper.row` returns a row for it. A process that fails by memory or a crash after it ran other items
may have failed because of those, so the item gets a second try in a fresh one; what times out does not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from multiprocessing import Pipe
from typing import Any

from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.worker import ROOT
from experiments.pipeline.sweep.child import describe_item
from experiments.pipeline.sweep.plan import SweepPlan

START_SECONDS = 120.0  # until a child has imported everything, on a machine that has much else to do
OPEN_SECONDS = 3600.0  # for a dataset to be opened: a built-in one may have to be made
_LOOK_SECONDS = 0.02  # between looks at the memory of the child
_STARTS = 3  # attempts to start a child before the task gives up
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


_AGAIN = ("memory", "crash")  # of a process that has run other items
_FATAL = (*_AGAIN, "timeout")
Answer = tuple[dict[str, Any], int | None]  # a row, and the most MB that the process was seen to occupy meanwhile


class Ended(Exception):
    """The child did not answer: `kind` is timeout, memory or crash."""

    def __init__(self, kind: str, message: str, rss_mb: int | None) -> None:
        super().__init__(message)
        self.kind, self.rss_mb = kind, rss_mb


class Keeper:
    """Rows of the items of a plan, made by one child process at a time. `process`: id of the one that made this."""

    def __init__(self, plan: SweepPlan) -> None:
        self.plan, self.process = plan, os.getpid()
        self._child: Child | None = None
        self._failed_starts = 0

    def row(self, number: int) -> dict[str, Any]:
        """The row of an item. Raises PipelineError when no child can be started at all."""
        for attempt in (1, 2):
            child = self._ready()
            fresh = child.answered == 0
            try:
                row, rss_mb = child.run(number, self.plan.timeout)
            except Ended as ended:
                failed = {"status": "error", "error_kind": ended.kind, "error": str(ended)}
                row, rss_mb = describe_item(self.plan.item(number)) | failed, ended.rss_mb
            if row.get("error_kind") in _FATAL:  # what it holds now, and what its libraries make of it, nobody knows
                self.close()
            row |= {"attempts": attempt, "rss_mb": rss_mb}
            if fresh or row.get("error_kind") not in _AGAIN:
                break
        return row

    def close(self) -> None:
        """Ends the child, if there is one."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def _ready(self) -> Child:
        if self._child is not None and not self._child.alive():
            self.close()
        while self._child is None:
            child = Child(self.plan)
            try:
                child.wait_ready()
            except Ended as ended:
                child.kill()
                self._failed_starts += 1
                if self._failed_starts >= _STARTS:
                    raise PipelineError(f"the process that runs the items of a sweep does not start: {ended}") from ended
            else:
                self._child, self._failed_starts = child, 0
        return self._child


class Child:
    """One child process. `answered`: items it has run."""

    def __init__(self, plan: SweepPlan) -> None:
        self._memory = plan.memory
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        paths = [str(ROOT), *filter(None, sys.path)]  # without the current folder: modules there are none of ours
        self._pipe, other = Pipe()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "experiments.pipeline.sweep.child", str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                pass_fds=[other.fileno()],
            )
        self.answered = 0
        self._ask(plan)

    def wait_ready(self) -> None:
        """Raises Ended when it does not come up."""
        self._wait(START_SECONDS)

    def run(self, number: int, timeout: float) -> Answer:
        """The row of an item, within `timeout` seconds (0: however long), not counting the opening of a dataset. Raises Ended."""
        self._ask(number)
        answer = self._wait(timeout or None)
        self.answered += 1
        return answer

    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._pipe.close()
        self._errors.close()

    def _ask(self, request: SweepPlan | int) -> None:
        with suppress(OSError):  # if it is dead, waiting for its answer shows that
            self._pipe.send(request)

    def _wait(self, timeout: float | None) -> Answer:
        """Raises Ended."""
        allowed, start, most = timeout, time.monotonic(), None
        while True:
            answered = self._pipe.poll(_LOOK_SECONDS)
            most = self._look(most)
            if answered:
                try:
                    kind, value = self._pipe.recv()
                except (EOFError, OSError):
                    raise self._crash(most) from None
                if kind != "opening":
                    return value, most
                allowed, start = OPEN_SECONDS if value else timeout, time.monotonic()
            elif allowed is not None and time.monotonic() > start + allowed:
                raise Ended("timeout", f"it took more than {allowed:g} s and was stopped", most)

    def _look(self, most: int | None) -> int | None:
        """The greater of `most` and the MB occupied now. Raises Ended where that is more than the limit."""
        try:
            with open(f"/proc/{self._process.pid}/statm", encoding="ascii") as file:
                now = int(file.read().split()[1]) * _PAGE >> 20
        except (OSError, IndexError):  # another system, or the process has just ended
            return most
        if self._memory and now > self._memory:
            raise Ended("memory", f"it occupied {now:,} MB of the {self._memory:,} MB allowed, and was stopped", now)
        return max(now, most or 0)

    def _crash(self, most: int | None) -> Ended:
        """Why the process ended by itself: the signal or exit code, and what it printed last."""
        code = self._process.wait()
        how = f"signal {_signal_name(-code)}" if code < 0 else f"exit code {code}"
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 2000))
        said = [line for line in self._errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
        kind = "memory" if any("MemoryError" in line or "bad_alloc" in line for line in said[-3:]) else "crash"
        return Ended(kind, f"its process ended with {how}" + (f": {said[-1].strip()[:300]}" if said else ""), most)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
