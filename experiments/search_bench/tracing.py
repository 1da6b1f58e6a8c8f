"""What a trace costs: the same searches with nothing recorded, and with every event kept in memory.

A search without a trace pays one comparison an event. Both must find plans of the same cost.
"""

from collections.abc import Iterator

from experiments.bench.experiment import Row
from experiments.search_bench.settings import SEARCHES
from experiments.search_bench.stages import Prepared, prepare
from experiments.timing import RUNS, least
from optimizer.errors import InternalError, many
from optimizer.trace.recorder import Trace


def measure(query: str, search: str, runs: int = RUNS) -> Iterator[Row]:
    """Milliseconds of CPU time, the least of the runs. Raises InternalError."""
    plain, _, cost = _searched(query, search, runs, traced=False)
    traced, events, same = _searched(query, search, runs, traced=True)
    if cost != same:
        raise InternalError(f"{query}, {search}: the plan costs {cost!r} without a trace and {same!r} with one")
    yield {"figure": "search without a trace", "value": plain, "unit": "ms"}
    yield {"figure": "search with a trace", "value": traced, "unit": "ms", "note": many(events, "event")}


def _searched(query: str, search: str, runs: int, traced: bool) -> tuple[float, int, float]:
    """The least time of the runs, the events recorded, and the cost of the plan."""

    def searched(ready: Prepared) -> tuple[int, float]:
        trace = Trace() if traced else None
        _, goal = ready.search(trace)
        return 0 if trace is None else len(trace.events), goal.best_cost

    found, times = least(searched, runs, fresh=lambda: prepare(query, SEARCHES[search]), collect=True)
    return times.cpu_ms, *found
