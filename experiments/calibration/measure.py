"""Running the cases: what each coefficient counts in a plan, and the time that the plan took.

Time is CPU time of all threads: a cost is work, it adds up whatever runs beside, and other programs on the machine hardly
disturb it. Of several runs the least counts.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from executor.arrow.counters import Counters
from executor.execution import new_counters, reader
from experiments.calibration.cases import Case
from experiments.calibration.recost import amounts, ran_operators
from experiments.timing import least
from optimizer.catalog.table import Catalog
from optimizer.errors import InternalError
from optimizer.pipeline import OptimizedQuery, Optimizer
from optimizer.settings import Settings


class Point(NamedTuple):
    """One query that was measured: CPU nanoseconds of its cheapest run, and how often each coefficient counts in them."""

    family: str
    what: str
    amounts: dict[str, float]
    ns: float


def measure(
    catalog: Catalog, cases: Iterable[Case], runs: int, enough_s: float, progress: Callable[[str], None] | None = None
) -> list[Point]:
    """A point for each case: at most `runs` timed runs, and no further one when they have taken `enough_s` seconds."""
    points = []
    for number, case in enumerate(cases, 1):
        if progress and number % 20 == 1:
            progress(f"calibrate: {case.family}, measurement {number}")
        points.append(_measured(catalog, case, runs, enough_s))
    return points


def _measured(catalog: Catalog, case: Case, runs: int, enough_s: float) -> Point:
    query = Optimizer(catalog, Settings(disable=case.disable, runtime_filters=False, **dict(case.settings))).optimize(case.sql)
    if not any(node.op.name == case.operator for node in query.plan.walk()):
        raise InternalError(f"calibration expected {case.operator} in the plan of: {case.sql}")
    counters = new_counters()
    _run(query, counters)  # counts rows, and warms up
    query.give_groups()
    found = amounts(ran_operators(query.memo, query.plan, counters))
    _, times = least(partial(_run, query), runs, enough_s)
    return Point(case.family, case.sql, found, 1e6 * times.cpu_ms)


def _run(query: OptimizedQuery, counters: Counters | None = None) -> None:
    for _ in reader(query, counters):
        pass
