"""What the trace code costs while nothing is traced: paired searches by the search as it is and by a copy without that code.

In every round each workload is searched by both, in turns first; the ratio of their CPU times is one observation, and the
figure is the median over the rounds. The garbage collector is off during a search, so that neither pays for the other's
garbage. Both must find plans of the same cost.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from statistics import median, quantiles
from time import process_time
from typing import NamedTuple

from experiments.search_bench.figure import Figure
from experiments.search_bench.settings import SEARCHES
from experiments.search_bench.stages import Prepared, prepare
from experiments.search_bench.without_trace import Copy, copy_of_the_search
from experiments.workloads.job_data import job_catalog
from experiments.workloads.joingraph_data import JoinGraphCatalog
from experiments.workloads.queries import built_in_queries
from optimizer.catalog.table import Catalog
from optimizer.errors import InternalError
from optimizer.settings import Settings

ROUNDS = 25
MOST = 2.0  # per cent


class Workload(NamedTuple):
    """Queries over a catalog that are searched one after the other, and timed as one."""

    name: str
    queries: Sequence[str]
    catalog: Catalog
    settings: Settings


def workloads(quick: bool) -> list[Workload]:
    graphs = JoinGraphCatalog()
    chosen = (
        (("clique/7", "exhaustive"), ("star/8", "default"), ("clique/5", "rules"))
        if quick
        else (("clique/11", "exhaustive"), ("star/12", "default"), ("chain/20", "default"), ("clique/6", "rules"))
    )
    found = [Workload(f"{query}, {search}", [query], graphs, SEARCHES[search]) for query, search in chosen]
    names = [query.name for query in built_in_queries() if query.name.startswith("job/")]
    return [*found, Workload("job, default", names[:: 10 if quick else 1], job_catalog(), SEARCHES["default"])]


def measure(progress: Callable[[str], None] | None = None, quick: bool = False) -> Iterator[Figure]:
    """Per cent that the trace code adds to the CPU time of a search, by workload and over all. Raises InternalError."""
    with_code, without = copy_of_the_search("search_as_it_is", True), copy_of_the_search("search_without_trace", False)
    chosen = workloads(quick)
    ratios: dict[str, list[float]] = {workload.name: [] for workload in chosen}
    ratios["all"] = []
    rounds = 3 if quick else ROUNDS
    gc.collect()
    gc.freeze()  # what is here already need not be looked at before each search
    try:
        for number in range(-1, rounds):  # the first is to warm up
            if progress and number % 5 == 0:
                progress(f"trace overhead: round {number + 1} of {rounds}")
            ones = others = 0.0
            for workload in chosen:
                one, other = _pair(workload, with_code, without, swapped=number % 2 == 1)
                ones, others = ones + one, others + other
                if number >= 0:
                    ratios[workload.name].append(one / other)
            if number >= 0:
                ratios["all"].append(ones / others)
    finally:
        gc.unfreeze()
    for name, observed in ratios.items():
        low, _, high = map(_per_cent, quantiles(observed, n=4))
        yield Figure(
            "trace overhead", "search with trace code, not tracing", name, _per_cent(median(observed)), "%",
            MOST if name == "all" else None, f"quartiles {low:+.1f} to {high:+.1f} of {len(observed)} pairs",
        )  # fmt: skip


def _per_cent(ratio: float) -> float:
    return (ratio - 1.0) * 100.0


def _pair(workload: Workload, one: Copy, other: Copy, swapped: bool) -> tuple[float, float]:
    """Seconds of both copies; `swapped`: the second one goes first, query by query."""
    seconds = {id(one): 0.0, id(other): 0.0}
    for query in workload.queries:
        costs = set()
        for copy in (other, one) if swapped else (one, other):
            ready = prepare(query, workload.settings, workload.catalog)
            gc.collect()
            gc.disable()
            try:
                start = process_time()
                cost = search(copy, ready)
                seconds[id(copy)] += process_time() - start
            finally:
                gc.enable()
            costs.add(cost)
        if len(costs) > 1:
            raise InternalError(f"{query}: the search and its copy without trace code find plans of costs {sorted(costs)}")
    return seconds[id(one)], seconds[id(other)]


def search(copy: Copy, ready: Prepared) -> float:
    """Search with a copy; the cost of the plan."""
    bound, optimizer = ready.bound, ready.optimizer
    figures = copy.module("search.figures").Figures(optimizer.estimator(optimizer.catalog, bound.columns), optimizer.cost)
    memo = copy.module("memo.memo").Memo(figures, None, bound.columns.label)
    engine = copy.module("search.search").Search(memo, optimizer.rules, ready.context, optimizer.cost)
    plan = copy.module("search.extract").extract(engine, engine.run(ready.tree, ready.required))
    return float(plan.cost)
