"""The queries of the Join Order Benchmark from SQL text to plan, over published statistics, with DuckDB beside.

The whole set is planned once to warm up, then several times; each time DuckDB explains and prepares the same queries in the same
process, over empty tables of the same schema. A time is the median of the repetitions.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import NamedTuple

import experiments.workloads
from experiments.search_bench.clock import Times, median_times
from experiments.search_bench.duckdb_plans import DuckDB, duckdb_module, for_duckdb
from experiments.search_bench.figure import Figure
from experiments.workloads.job_data import job_catalog
from experiments.workloads.queries import built_in_queries, resolve_sql
from memo_viz.explain import regions_text
from optimizer.algebra.logical import Scan
from optimizer.algebra.trees import Tree, postorder
from optimizer.pipeline import OptimizedQuery, Optimizer
from optimizer.search.counters import SearchStats

REPETITIONS = 3
STAGES = ("parse", "bind", "prepass", "search")
PROVEN_UP_TO = 14  # relations that every search has to get through
MOST_OF_DUCKDB = 6.0  # times DuckDB's total
QUICK_STEP = 12  # a quick run plans every twelfth query, once


class JobRow(NamedTuple):
    """One query, and a row of the result files: milliseconds on the clock for each stage, from SQL text to plan (`ms`), and of
    DuckDB, None without it. `relations`: tables in FROM; `regions`: how its regions of joins were searched."""

    query: str
    relations: int
    regions: str
    pairs: int
    costed: int
    tasks: int
    proven: bool
    parse_ms: float
    bind_ms: float
    prepass_ms: float
    search_ms: float
    ms: float
    duckdb_explain_ms: float | None
    duckdb_prepare_ms: float | None


class JobResult(NamedTuple):
    """`rows` by query, `figures` on all of them; `duckdb` is its version, None when it is not installed."""

    rows: list[JobRow]
    figures: list[Figure]
    duckdb: str | None


class _Planner:
    """Something that plans all queries, and the times of each repetition: of every query on the clock, of the set in both."""

    def __init__(self, name: str, plan: Callable[[str], object], texts: Sequence[str]) -> None:
        self.name, self._plan, self._texts = name, plan, texts
        self.each: list[list[float]] = [[] for _ in texts]
        self.sets: list[Times] = []

    def repeat(self, see: Callable[[int, object], None]) -> None:
        """Plan every query; `see` gets the number of each and what came out, off the clock."""
        gc.collect()
        wall = cpu = 0.0
        for number, (text, times) in enumerate(zip(self._texts, self.each, strict=True)):
            start, cpu_start = perf_counter(), process_time()
            result = self._plan(text)
            seconds, cpu_seconds = perf_counter() - start, process_time() - cpu_start
            see(number, result)
            del result  # off the clock as well
            times.append(seconds * 1e3)
            wall, cpu = wall + seconds * 1e3, cpu + cpu_seconds * 1e3
        self.sets.append(Times(wall, cpu))

    def forget(self) -> None:
        """What came before was to warm up, and does not count."""
        self.sets.clear()
        for times in self.each:
            times.clear()

    def ms(self, query: int) -> float:
        return median(self.each[query])


class _Planned(NamedTuple):
    """What is kept of a planned query: all but its memo."""

    relations: int
    ms: dict[str, float]
    search: SearchStats


def measure(progress: Callable[[str], None] | None = None, quick: bool = False) -> JobResult:
    """`quick`: some of the queries, and one repetition."""
    names = [query.name for query in built_in_queries() if query.name.startswith("job/")][:: QUICK_STEP if quick else 1]
    texts = [resolve_sql(name) for name in names]
    optimizer = Optimizer(job_catalog())
    planned: list[list[_Planned]] = [[] for _ in names]

    def keep(number: int, query: object) -> None:
        if isinstance(query, OptimizedQuery):
            relations = sum(isinstance(node, Tree) and isinstance(node.op, Scan) for node in postorder(query.bound.tree))
            planned[number].append(_Planned(relations, query.ms, query.search))

    planners = [_Planner("planscope", optimizer.optimize, texts)]
    module = duckdb_module()
    schema = Path(experiments.workloads.__file__).with_name("job") / "schema.sql"
    database = None if module is None else DuckDB(module, schema.read_text(encoding="utf-8"))
    if database is not None:
        quoted = [for_duckdb(text) for text in texts]
        planners.append(_Planner("DuckDB EXPLAIN", database.explain, quoted))
        planners.append(_Planner("DuckDB PREPARE", database.prepare, quoted))
    try:
        for repetition in range(1 + (1 if quick else REPETITIONS)):
            if progress:
                progress(f"job: {len(names)} queries, " + (f"repetition {repetition}" if repetition else "to warm up"))
            for planner in planners:
                planner.repeat(keep)
                if not repetition:
                    planner.forget()
    finally:
        if database is not None:
            database.close()
    rows = [_row(name, planned[i][1:], i, planners) for i, name in enumerate(names)]
    return JobResult(rows, [*_stages(rows), *_totals(planners), *_proofs(rows)], None if database is None else database.version)


def _row(name: str, planned: Sequence[_Planned], number: int, planners: Sequence[_Planner]) -> JobRow:
    """`planned`: the repetitions that count."""
    parse, bind, prepass, search = (median(each.ms[stage] for each in planned) for stage in STAGES)
    explain, prepare = (planners[1].ms(number), planners[2].ms(number)) if len(planners) > 1 else (None, None)
    done = planned[-1].search
    return JobRow(
        name, planned[-1].relations, regions_text(done.regions), done.joins_enumerated, done.costed, done.tasks, done.proven,
        parse, bind, prepass, search, planners[0].ms(number), explain, prepare,
    )  # fmt: skip


def _stages(rows: Sequence[JobRow]) -> list[Figure]:
    return [
        Figure("job", f"{stage} of all queries", "planscope", sum(getattr(row, f"{stage}_ms") for row in rows), "ms")
        for stage in STAGES
    ]


def _totals(planners: Sequence[_Planner]) -> list[Figure]:
    """Totals of the set, and ours as multiples of DuckDB's: in CPU time, and on the clock."""
    totals = {planner.name: median_times(planner.sets) for planner in planners}
    ours = totals.pop("planscope")
    figures = []
    for name, times in (("planscope", ours), *totals.items()):
        figures.append(Figure("job", "all queries, CPU time", name, times.cpu, "ms"))
        figures.append(Figure("job", "all queries, on the clock", name, times.wall, "ms"))
    for name, times in totals.items():
        both, target = f"planscope to {name}", MOST_OF_DUCKDB if name.endswith("EXPLAIN") else None
        figures.append(Figure("job", "ratio of CPU times", both, ours.cpu / times.cpu, "", target))
        figures.append(Figure("job", "ratio of times on the clock", both, ours.wall / times.wall, "", target))
    return figures


def _proofs(rows: Sequence[JobRow]) -> list[Figure]:
    small = [row for row in rows if row.relations <= PROVEN_UP_TO]
    found = []
    for of, some, target in ((f"up to {PROVEN_UP_TO} relations", small, 0.0), ("all", rows, None)):
        left = [row.query for row in some if not row.proven]
        note = f"of {len(some)}" + (f": {', '.join(left)}" if left else "")
        found.append(Figure("job", "queries not proven", of, len(left), "", target, note))
    return found
