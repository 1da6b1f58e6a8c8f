"""How long a plan runs: the quickest of a few runs, on two clocks.

Costs are work, and so is the CPU time of all threads; on a machine with other work the elapsed time says more about
that than about the plan.
"""

from copy import copy
from time import perf_counter, process_time
from typing import NamedTuple

import pyarrow as pa

from executor.arrow.counters import Counters
from executor.arrow.watch import Limits
from executor.execution import reader
from optimizer.algebra.plan import PlanNode
from optimizer.pipeline import OptimizedQuery

RUNS, ENOUGH_MS = 3, 500.0  # of each plan: short runs are noisy


class Timed(NamedTuple):
    """The result; `ms`: elapsed, `cpu_ms`: of all threads, each the least of the runs."""

    table: pa.Table
    ms: float
    cpu_ms: float


def timed(query: OptimizedQuery, plan: PlanNode | None = None, seconds: float | None = None, runs: int = RUNS) -> Timed:
    """Run `plan` (default: the chosen one) as often as fits into ENOUGH_MS, at most `runs` times. Raises ExecutionError, and
    LimitReached (one of these) when a run takes longer than `seconds`."""
    elapsed: list[float] = []
    cpu: list[float] = []
    while True:
        start, cpu_start = perf_counter(), process_time()
        table = run(query, plan, seconds)
        elapsed.append((perf_counter() - start) * 1e3)
        cpu.append((process_time() - cpu_start) * 1e3)
        if len(elapsed) == runs or sum(elapsed) + min(elapsed) > ENOUGH_MS:
            return Timed(table, min(elapsed), min(cpu))


def run(
    query: OptimizedQuery, plan: PlanNode | None = None, seconds: float | None = None, counters: Counters | None = None
) -> pa.Table:
    """The result of `plan`, under a limit of time if one is given. Raises as `timed` does."""
    variant = copy(query)
    variant.plan = plan or query.plan
    return reader(variant, counters, None if seconds is None else Limits(seconds)).read_all()
