"""How long something takes: the quickest of a few runs, on two clocks.

Costs are work, and so is the CPU time of all threads; on a machine with other work the elapsed time says more about
that than about the plan. Planning runs on one thread and waits for nothing, so on an idle machine the two are one.
"""

import gc
import math
from collections.abc import Callable
from copy import copy
from functools import partial
from time import perf_counter, process_time
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from executor.arrow.counters import Counters
from executor.arrow.watch import Limits
from executor.execution import reader
from optimizer.algebra.plan import PlanNode
from optimizer.pipeline import OptimizedQuery

RUNS, ENOUGH_SECONDS = 3, 0.25  # of each plan: short runs are noisy

Result = TypeVar("Result")


class Times(NamedTuple):
    """Milliseconds, each the least of the runs: `ms` elapsed, `cpu_ms` of all threads."""

    ms: float
    cpu_ms: float


class Timed(NamedTuple):
    """The result, and the times as `Times` has them."""

    table: pa.Table
    ms: float
    cpu_ms: float


def least(
    run: Callable[..., Result], runs: int = RUNS, enough_seconds: float = math.inf, *,
    fresh: Callable[[], Any] | None = None, collect: bool = False,
) -> tuple[Result, Times]:  # fmt: skip
    """At most `runs` runs, and no further one when they have taken `enough_seconds`: what the one of least CPU time gave.

    `fresh` makes what a run is given, which is not timed. `collect`: garbage of earlier runs is collected before a run; the
    collector stays on during it, as it does for users.
    """
    elapsed: list[float] = []
    cpu: list[float] = []
    while not elapsed or (len(elapsed) < runs and sum(elapsed) < enough_seconds):
        given = () if fresh is None else (fresh(),)
        if collect:
            gc.collect()
        start, cpu_start = perf_counter(), process_time()
        result = run(*given)
        elapsed.append(perf_counter() - start)
        cpu.append(process_time() - cpu_start)
        if cpu[-1] == min(cpu):
            best = result
    return best, Times(min(elapsed) * 1e3, min(cpu) * 1e3)


def timed(
    query: OptimizedQuery, plan: PlanNode | None = None, seconds: float | None = None, runs: int = RUNS, warm: bool = False
) -> Timed:
    """Run `plan` (default: the chosen one) at most `runs` times, fewer when it takes long; with `warm` once more before that,
    so that files are cached for all alike. Raises ExecutionError, and LimitReached (one of these) when a run takes longer than
    `seconds`."""
    once = partial(run, query, plan, seconds)
    if warm:
        once()
    table, times = least(once, runs, ENOUGH_SECONDS)
    return Timed(table, *times)


def run(
    query: OptimizedQuery, plan: PlanNode | None = None, seconds: float | None = None, counters: Counters | None = None
) -> pa.Table:
    """The result of `plan`, under a limit of time if one is given. Raises as `timed` does."""
    variant = copy(query)
    variant.plan = plan or query.plan
    return reader(variant, counters, None if seconds is None else Limits(seconds)).read_all()
