"""What a trace costs: the same searches with nothing recorded, and with every event kept in memory.

A search without a trace pays one comparison an event. Both must find plans of the same cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from experiments.search_bench.clock import RUNS, Times, timed
from experiments.search_bench.figure import Figure
from experiments.search_bench.settings import SEARCHES
from experiments.search_bench.stages import prepare
from optimizer.errors import InternalError
from optimizer.trace.recorder import Trace


def measure(progress: Callable[[str], None] | None = None, quick: bool = False) -> Iterator[Figure]:
    """Milliseconds of CPU time, the least of up to three runs. `quick`: smaller graphs, one run. Raises InternalError."""
    runs = 1 if quick else RUNS
    for query, search in (
        ("clique/6" if quick else "clique/9", "exhaustive"),
        ("star/8" if quick else "star/12", "default"),
        ("clique/5" if quick else "clique/6", "rules"),
    ):
        of = f"{query}, {search}"
        if progress:
            progress(f"tracing: {of}")
        plain, _, cost = _searched(query, search, runs, traced=False)
        traced, events, same = _searched(query, search, runs, traced=True)
        if cost != same:
            raise InternalError(f"{of}: the plan costs {cost!r} without a trace and {same!r} with one")
        yield Figure("tracing", "search without a trace", of, plain.cpu, "ms")
        yield Figure("tracing", "search with a trace", of, traced.cpu, "ms", None, f"{events:,} events")


def _searched(query: str, search: str, runs: int, traced: bool) -> tuple[Times, int, float]:
    """The times of the quickest run, the events recorded, and the cost of the plan."""
    best: Times | None = None
    for _ in range(runs):
        ready, trace = prepare(query, SEARCHES[search]), Trace() if traced else None
        (_, goal), times = timed(partial(ready.search, trace))
        best = times if best is None or times.cpu < best.cpu else best
    assert best is not None, "no run was asked for"
    return best, 0 if trace is None else len(trace.events), goal.best_cost
