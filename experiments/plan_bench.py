"""How long planning takes, from SQL text to plan and stage by stage, with DuckDB's PREPARE of the same queries beside.

Both are measured in one process, taking turns, after one round to warm up; DuckDB has tables with rows, since it plans by what
it knows of them. Times are CPU times of this process, so that other work on the machine changes them little; of a query's time
each stage has the share that it has on the clock. The time of a query is the median of its rounds.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from statistics import median
from time import process_time
from typing import Any, NamedTuple, TypeVar

from experiments.search_bench.duckdb_plans import duckdb_module, for_duckdb
from experiments.workloads.data import open_data
from experiments.workloads.queries import built_in_queries, resolve_sql
from optimizer.catalog.table import Catalog
from optimizer.pipeline import Optimizer

STAGES = ("parse", "bind", "ctes", "subqueries", "filters", "decorrelate", "prepass", "semi_joins", "search")
HEAD = ("workload", "queries", *STAGES, "CPU ms", "slowest", "its ms", "PREPARE", "ratio", "target")
QUICK_STEP = 12  # a quick run plans every twelfth query, once


class Workload(NamedTuple):
    """Queries of this name over two datasets, of which DuckDB's has rows; the ratio to be reached, and with `planscope[fast]`."""

    name: str
    data: str
    rows: str
    target: float
    fast_target: float


WORKLOADS = (
    Workload("job", "job", "imdb_like:0.001", 2.5, 1.5),
    Workload("tpch", "tpch:0.01", "tpch:0.01", 6, 4),
    Workload("tpcds", "tpcds:0.01", "tpcds:0.01", 8, 8),
)
Progress = Callable[[str], None] | None
Result = TypeVar("Result")


class Row(NamedTuple):
    """One workload: milliseconds of CPU time for all its queries, by stage and in all; `prepare_ms` None: there is no DuckDB."""

    workload: str
    queries: int
    stages: tuple[float, ...]
    ms: float
    slowest: str
    slowest_ms: float
    prepare_ms: float | None
    target: float

    def cells(self) -> tuple[str, ...]:
        other = ("–", "–") if self.prepare_ms is None else (f"{self.prepare_ms:,.0f}", f"{self.ms / self.prepare_ms:.2f}")
        numbers = [f"{ms:,.0f}" for ms in (*self.stages, self.ms)]
        return (
            self.workload, str(self.queries), *numbers, self.slowest, f"{self.slowest_ms:,.1f}", *other, f"≤ {self.target:g}",
        )  # fmt: skip


def fast() -> bool:
    """Whether sqlglot is compiled here, as with the extra `fast`."""
    return find_spec("sqlglotc") is not None


def measure(names: Sequence[str], rounds: int, quick: bool, progress: Progress) -> Iterator[Row]:
    """A row for each workload of `names`, or for all, as it is found."""
    for workload in WORKLOADS:
        if not names or workload.name in names:
            yield _measure(workload, rounds, QUICK_STEP if quick else 1, progress)


def _measure(workload: Workload, rounds: int, step: int, progress: Progress) -> Row:
    say = progress or (lambda text: None)
    names = [query.name for query in built_in_queries() if query.name.startswith(f"{workload.name}/")][::step]
    texts = [resolve_sql(name) for name in names]
    quoted = [for_duckdb(text) for text in texts]
    optimizer = Optimizer(open_data(workload.data, progress))
    connection = _duckdb(open_data(workload.rows, progress))
    ours: list[list[tuple[float, ...]]] = [[] for _ in names]  # of each query and round: the time, and that of each stage
    theirs: list[list[float]] = [[] for _ in names]
    for number in range(rounds + 1):
        say(f"{workload.name}: {len(names)} queries, " + (f"round {number}" if number else "to warm up"))
        gc.collect()
        for text, times in zip(texts, ours, strict=True):
            ms, query = _timed(optimizer.optimize, text)
            scale = ms / sum(query.ms.values())
            times += [(ms, *(scale * query.ms.get(stage, 0.0) for stage in STAGES))] if number else []
        for text, found in zip(quoted if connection is not None else (), theirs, strict=False):
            ms, _ = _timed(connection.execute, f"PREPARE query AS {text}")
            found += [ms] if number else []
    each = [tuple(median(column) for column in zip(*times, strict=True)) for times in ours]
    slowest = max(range(len(names)), key=lambda i: each[i][0])
    total, *stages = (sum(column) for column in zip(*each, strict=True))
    return Row(
        workload.name, len(names), tuple(stages), total, names[slowest], each[slowest][0],
        sum(map(median, theirs)) if connection is not None else None, workload.fast_target if fast() else workload.target,
    )  # fmt: skip


def _timed(run: Callable[[str], Result], text: str) -> tuple[float, Result]:
    start = process_time()
    result = run(text)
    return (process_time() - start) * 1e3, result


def _duckdb(catalog: Catalog) -> Any:
    """A connection to a database in memory with all tables and rows of a dataset; None where DuckDB is not installed."""
    module = duckdb_module()
    if module is None:
        return None
    connection = module.connect(":memory:")
    connection.execute("SET threads = 1")
    for table in catalog.tables.values():
        files = ", ".join("'" + str(file).replace("'", "''") + "'" for file in table.files)
        connection.execute(f'CREATE TABLE "{table.name}" AS SELECT * FROM read_parquet([{files}])')
    return connection
