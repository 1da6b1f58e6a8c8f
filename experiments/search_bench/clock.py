"""How time is taken.

Planning runs on one thread and waits for nothing, so on an idle machine the time on the clock is the CPU time of the process.
Where other work shares the machine only the latter can be compared; both are taken. Garbage of earlier runs is collected
before a run, and the collector stays on during it, as it does for users.
"""

import gc
from collections.abc import Callable
from time import perf_counter, process_time
from typing import NamedTuple, TypeVar

RUNS = 3
ENOUGH_SECONDS = 1.0  # of CPU time, after which a run is not repeated

Result = TypeVar("Result")


class Times(NamedTuple):
    """Milliseconds on the clock and of CPU time."""

    wall: float
    cpu: float


def timed(run: Callable[[], Result]) -> tuple[Result, Times]:
    """One run and its times."""
    gc.collect()
    wall, cpu = perf_counter(), process_time()
    result = run()
    return result, Times((perf_counter() - wall) * 1e3, (process_time() - cpu) * 1e3)


def least(run: Callable[[], Result], runs: int = RUNS) -> tuple[Result, Times]:
    """Up to `runs` runs, fewer when they take long: the one with the least CPU time."""
    best, times = timed(run)
    spent = times.cpu
    for _ in range(runs - 1):
        if spent >= ENOUGH_SECONDS * 1e3:
            break
        result, other = timed(run)
        spent += other.cpu
        if other.cpu < times.cpu:
            best, times = result, other
    return best, times
