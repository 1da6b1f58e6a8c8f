"""Queries through the engines, in turn: one run to warm up and to compare the rows, then rounds in which each engine runs once.

Of the rounds the quickest counts, by time on the clock and by CPU time, since other programs can only slow a run down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from experiments.exec_bench.engines import NAMES, installed
from experiments.exec_bench.worker import Job, Run, Worker
from experiments.same_rows import difference
from experiments.workloads.queries import built_in_queries, resolve_sql
from optimizer.errors import ExecutionError
from optimizer.settings import Settings

ROUNDS = 3
OPERATORS = {  # TPC-H: one operator each does nearly all the work
    "scan": "select min(l_orderkey), min(l_partkey), min(l_quantity), min(l_shipdate) from lineitem",
    "text": "select min(l_comment), min(l_shipmode) from lineitem",
    "filter": "select count(*) from lineitem where l_quantity + l_linenumber < 10 and l_shipdate > l_commitdate",
    "arithmetic": "select sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) from lineitem",
    "few_groups": "select l_returnflag, l_linestatus, sum(l_quantity), count(*) from lineitem group by all",
    "some_groups": "select l_partkey, sum(l_quantity), count(*) from lineitem group by l_partkey order by 2 desc limit 10",
    "many_groups": "select l_orderkey, sum(l_quantity), count(*) from lineitem group by l_orderkey order by 2 desc limit 10",
    "join": "select sum(l_quantity), sum(o_totalprice) from lineitem join orders on l_orderkey = o_orderkey",
    "semi_join": "select count(*) from orders where o_orderkey in (select l_orderkey from lineitem where l_quantity > 49)",
    "top": "select * from orders order by o_totalprice desc, o_orderkey limit 100",
    "sort": "select l_extendedprice, l_orderkey from lineitem order by l_extendedprice, l_orderkey",
    "window": "select max(r) from (select rank() over (partition by o_custkey order by o_totalprice) r from orders)",
}


class Row(NamedTuple):
    """One query and engine, a row of the result files. Milliseconds; `ratio` and `cpu_ratio` are planscope's to this engine's
    (`ms` over `ms`, planning not counted); `peak_mb`: memory beyond that of the idle process. `problem`: why there are no
    figures, or how the rows differ from planscope's."""

    query: str
    engine: str
    rows: int | None
    ms: float | None
    cpu_ms: float | None
    plan_ms: float | None
    peak_mb: float | None
    ratio: float | None
    cpu_ratio: float | None
    problem: str


def default_queries(data: str) -> list[str]:
    """The built-in queries that are about `data`: all of a folder's name, as tpch of tpch:1."""
    workload = data.partition(":")[0]
    return [query.name for query in built_in_queries() if query.name.startswith(f"{workload}/q")]


def query_text(name: str) -> str:
    return OPERATORS.get(name) or resolve_sql(name)


def measure(
    queries: Sequence[str],
    data: str,
    settings: Settings,
    threads: int,
    rounds: int = ROUNDS,
    engines: Sequence[str] = NAMES,
    progress: Callable[[str], None] | None = None,
) -> Iterator[list[Row]]:
    """The rows of each query, one for each engine that is installed, planscope first. Raises SqlError, ExecutionError."""
    for query in queries:
        if progress:
            progress(f"exec: {query}")
        jobs = [Job(name, data, query_text(query), settings, threads) for name in engines if installed(name)]
        workers: list[Worker] = []
        try:
            for job in jobs:
                workers.append(Worker(job))
            yield _rows(query, jobs, workers, rounds)
        finally:
            for worker in workers:
                worker.close()


def _rows(query: str, jobs: Sequence[Job], workers: Sequence[Worker], rounds: int) -> list[Row]:
    firsts = [worker.first() for worker in workers]
    if isinstance(firsts[0], str):
        raise ExecutionError(f"{query}: {firsts[0]}")
    able = [i for i, first in enumerate(firsts) if not isinstance(first, str)]
    runs: dict[int, list[Run]] = {i: [] for i in able}
    for _ in range(rounds):
        for i in able:
            runs[i].append(workers[i].run())
    ours = min(run.ms for run in runs[0]), min(run.cpu_ms for run in runs[0])
    rows = []
    for i, (job, first) in enumerate(zip(jobs, firsts, strict=True)):
        if isinstance(first, str):
            rows.append(Row(query, job.engine, None, None, None, None, None, None, None, first))
            continue
        ms, cpu = min(run.ms for run in runs[i]), min(run.cpu_ms for run in runs[i])
        plan = min(run.plan_ms for run in runs[i]) if i == 0 else None
        rows.append(
            Row(
                query, job.engine, first.num_rows, ms, cpu, plan, workers[i].peak(),
                ours[0] / ms if i else None, ours[1] / cpu if i else None, _different(firsts[0], first),
            )
        )  # fmt: skip
    return rows


def _different(ours: pa.Table, theirs: pa.Table) -> str:
    """How the rows of two engines differ, whose types of numbers need not agree; empty where they are the same."""
    if ours.num_columns != theirs.num_columns:
        return f"{theirs.num_columns} columns, not {ours.num_columns}"
    return difference(_plain(ours), _plain(theirs)) or ""


def _plain(table: pa.Table) -> pa.Table:
    """Numbers as doubles, texts as one type, columns numbered."""
    arrays = []
    for column in table.columns:
        t, type = pa.types, column.type
        if t.is_integer(type) or t.is_decimal(type) or t.is_floating(type):
            column = column.cast(pa.float64(), safe=False)
        elif t.is_large_string(type) or t.is_string_view(type) or t.is_dictionary(type):
            column = column.cast(pa.string())
        elif t.is_temporal(type):
            column = column.cast(pa.timestamp("us"))
        arrays.append(column)
    return pa.table(arrays, names=[f"c{i}" for i in range(len(arrays))])
