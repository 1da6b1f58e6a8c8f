"""A process in which one engine runs one query again and again, so that no engine lives on memory or threads of another.

The parent asks for each run: engines take turns, and disturbances of the machine meet all of them.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

import pyarrow as pa

from experiments.exec_bench.engines import open_engine
from experiments.workloads.data import open_data
from optimizer.settings import Settings


class Run(NamedTuple):
    """One run: milliseconds on the clock and of CPU time (all threads), and planning before it, where that is apart."""

    ms: float
    cpu_ms: float
    plan_ms: float


class Job(NamedTuple):
    engine: str
    data: str
    sql: str
    settings: Settings
    threads: int


class Worker:
    """A process for `job`. `first`: the result, or why there is none; then `run` as often as wanted, and `close`."""

    def __init__(self, job: Job) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        os.environ["POLARS_MAX_THREADS"] = str(job.threads)  # read when Polars is imported, over there
        self._process = context.Process(target=_serve, args=(theirs, job), daemon=True)
        self._process.start()
        theirs.close()

    def first(self) -> pa.Table | str:
        """The result of a run to warm up, or the first line of the message of what failed."""
        found = self._ask("first")
        return found if isinstance(found, str) else pa.ipc.open_stream(found).read_all()

    def run(self) -> Run:
        found = self._ask("run")
        assert isinstance(found, Run)
        return found

    def peak(self) -> float | None:
        """Megabytes that the process had in memory at most, beyond what it had before its first run; None where the system does
        not tell."""
        found = self._ask("peak")
        assert found is None or isinstance(found, float)
        return found

    def close(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _ask(self, what: str) -> object:
        try:
            self._pipe.send(what)
            return self._pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return "the process died"


def _serve(pipe: Connection, job: Job) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    with suppress(EOFError):
        pipe.recv()
        try:
            engine = open_engine(job.engine, open_data(job.data), job.settings, job.threads)
            before = _peak()
            pipe.send(_packed(engine.plan(job.sql)()))
        except BaseException as error:  # Polars panics
            pipe.send((str(error) or type(error).__name__).strip().splitlines()[0])
            return
        while True:
            if pipe.recv() == "run":
                pipe.send(_timed(lambda: engine.plan(job.sql)))
            else:
                after = _peak()
                pipe.send(None if before is None or after is None else after - before)


def _timed(plan: Callable[[], Callable[[], pa.Table]]) -> Run:
    gc.collect()
    started = perf_counter()
    execute = plan()
    planned = perf_counter()
    cpu = process_time()
    table = execute()
    found = Run((perf_counter() - planned) * 1e3, (process_time() - cpu) * 1e3, (planned - started) * 1e3)
    del table
    return found


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _peak() -> float | None:
    """The high-water mark of this process: unlike getrusage's, it begins with the process itself."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), None)
