"""What a trace costs: the same searches with nothing recorded, and with every event kept in memory.

A search without a trace pays one comparison an event. Both must find plans of the same cost.
"""

from collections.abc import Iterator
from functools import partial

from experiments.search_bench.clock import RUNS, Times, timed
from experiments.search_bench.figure import Figure
from experiments.search_bench.settings import SEARCHES
from experiments.search_bench.stages import prepare
from optimizer.errors import InternalError, many
from optimizer.trace.recorder import Trace


def measure(query: str, search: str, runs: int = RUNS) -> Iterator[Figure]:
    """Milliseconds of CPU time, the least of the runs. Raises InternalError."""
    plain, _, cost = _searched(query, search, runs, traced=False)
    traced, events, same = _searched(query, search, runs, traced=True)
    if cost != same:
        raise InternalError(f"{query}, {search}: the plan costs {cost!r} without a trace and {same!r} with one")
    yield Figure("search without a trace", plain.cpu, "ms")
    yield Figure("search with a trace", traced.cpu, "ms", None, many(events, "event"))


def _searched(query: str, search: str, runs: int, traced: bool) -> tuple[Times, int, float]:
    """The times of the quickest run, the events recorded, and the cost of the plan."""
    best: Times | None = None
    for _ in range(runs):
        ready, trace = prepare(query, SEARCHES[search]), Trace() if traced else None
        (_, goal), times = timed(partial(ready.search, trace))
        best = times if best is None or times.cpu < best.cpu else best
    assert best is not None, "no run was asked for"
    return best, 0 if trace is None else len(trace.events), goal.best_cost
