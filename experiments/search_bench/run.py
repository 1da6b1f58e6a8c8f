"""The parts of the benchmark, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from experiments.search_bench import graphs, job, memory, rates, tracing
from experiments.search_bench.clock import RUNS
from experiments.search_bench.duckdb_plans import MISSING
from experiments.search_bench.report import Results, Section, figures_section, graphs_section, job_section

QUICK_LARGEST = 6  # relations of a graph

Progress = Callable[[str], None] | None


def run(parts: Sequence[str], quick: bool, progress: Progress, results: Results) -> Iterator[Section]:
    """A table or more for each part named, when it is done; what was measured goes into `results` as well.

    `quick`: smaller graphs, fewer queries, one run each: to see that everything works. Raises InternalError when
    searches that must agree on a plan's cost do not.
    """
    for part in parts:
        yield from _PARTS[part](quick, progress, results)


def _rates(quick: bool, progress: Progress, results: Results) -> Iterator[Section]:
    figures = list(rates.measure(progress, quick))
    results.figures += figures
    yield figures_section("Rates", figures, ["CPU time of the search alone, the quickest of up to three"])


def _graphs(quick: bool, progress: Progress, results: Results) -> Iterator[Section]:
    sizes = (QUICK_LARGEST, 1) if quick else (max(graphs.SIZES), RUNS)
    rows = list(graphs.measure(progress, *sizes))
    figures = graphs.by_rules(rows)
    results.graphs += rows
    results.figures += figures
    yield graphs_section(rows)
    yield figures_section("Join graphs by commute and associate", figures, ["CPU time from SQL text to plan"])


def _job(quick: bool, progress: Progress, results: Results) -> Iterator[Section]:
    found = job.measure(progress, quick)
    results.job += found.rows
    results.figures += found.figures
    results.duckdb = found.duckdb
    yield job_section(found.rows, found.duckdb)
    notes = ["totals: medians of the repetitions of the whole set, after one to warm up"]
    yield figures_section("Join Order Benchmark, all queries", found.figures, notes if found.duckdb else [*notes, MISSING])


def _memory(quick: bool, progress: Progress, results: Results) -> Iterator[Section]:
    figures = list(memory.measure(progress, quick))
    results.figures += figures
    notes = [
        "bytes: sys.getsizeof of an object and all it reaches that is of no other kind and no scalar, each counted once",
        "peaks: by tracemalloc, from SQL text to plan",
    ]
    yield figures_section("Memory", figures, notes)


def _tracing(quick: bool, progress: Progress, results: Results) -> Iterator[Section]:
    figures = list(tracing.measure(progress, quick))
    results.figures += figures
    yield figures_section("Tracing", figures, ["CPU time of the search alone, the quickest of up to three"])


_PARTS = {"rates": _rates, "graphs": _graphs, "job": _job, "memory": _memory, "tracing": _tracing}
