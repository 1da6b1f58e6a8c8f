"""How long planning takes, from SQL text to plan and stage by stage, with DuckDB's PREPARE and EXPLAIN beside.

Both are measured in one process, taking turns, after one round to warm up; DuckDB has tables with rows, since it plans by what
it knows of them. Times are CPU times of this process, so that other work on the machine changes them little; of a query's time
each stage has the share that it has on the clock. The time of a query is the median of its rounds.
"""

import gc
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from statistics import median
from time import process_time
from typing import Any, NamedTuple, TypeVar

import click
import pyarrow as pa

from executor.session import Session
from experiments.bench.experiment import Item, Options, Row, Section, Table
from experiments.bench.summary import grouped
from experiments.duckdb_sql import MISSING, duckdb_module, for_duckdb, load_table
from experiments.workloads.data import open_data
from experiments.workloads.queries import built_in_queries, resolve_sql
from memo_viz.explain import regions_text
from optimizer.algebra.logical import Scan
from optimizer.algebra.trees import Tree, postorder
from optimizer.errors import SqlError
from optimizer.pipeline import Optimizer
from optimizer.settings import Settings
from optimizer.sql.derivable import is_compiled

NAME = "plan"
HELP = """How long planning takes, from SQL text to plan and stage by stage, with DuckDB's PREPARE and EXPLAIN beside.

Milliseconds of CPU time for all queries of job, tpch and tpcds (default: all three), or for those that are named. DuckDB has
tables with rows, is in the same process, and takes turns with planscope; where it is not installed its times are left out.

\b
planscope bench plan
planscope bench plan tpch job/17e --rounds 5 -o results
"""
ARGUMENT = "[WORKLOAD]..."
PARAMETERS = (
    click.Option(["--rounds"], type=click.IntRange(1), metavar="N", help="Rounds that count. Default: 3; 1 with --quick."),
)
OWN = ("data",)
SHARED = {"rounds": ""}
COMPARED = ("ms", "pairs", "costed", "tasks")
THEIRS = {"prepare_ms": "PREPARE query AS", "explain_ms": "EXPLAIN"}
STAGES = ("parse", "bind", "ctes", "subqueries", "filters", "decorrelate", "prepass", "semi_joins", "common_parts", "search")
QUICK_STEP = 12  # a quick run plans every twelfth query, once
PROVEN_UP_TO = 14  # relations that every search has to get through


class Workload(NamedTuple):
    """Two datasets, of which DuckDB's has rows; the ratio to PREPARE to be reached, and with `planscope[fast]`."""

    data: str
    rows: str
    target: float
    fast_target: float


WORKLOADS = {
    "job": Workload("job", "imdb_like:0.001", 2.5, 1.5),
    "tpch": Workload("tpch:0.01", "tpch:0.01", 6, 4),
    "tpcds": Workload("tpcds:0.01", "tpcds:0.01", 8, 8),
}
Result = TypeVar("Result")


def items(options: Options) -> list[Item]:
    """One for each query. Raises SqlError for a name of neither a workload nor one of its queries."""
    known = [query.name for query in built_in_queries() if query.name.partition("/")[0] in WORKLOADS]
    found: list[str] = []
    for name in options.queries or WORKLOADS:
        queries = [query for query in known if query == name or query.startswith(f"{name}/")]
        if not queries:
            raise SqlError(
                f'there is no workload "{name}"', hint=f"choose one of {', '.join(WORKLOADS)}, or name a query of these"
            )
        found += queries[:: QUICK_STEP if options.quick else 1]
    for name in dict.fromkeys(query.partition("/")[0] for query in found):
        open_data(WORKLOADS[name].data), open_data(WORKLOADS[name].rows)  # made, if need be, before the clock runs
    rounds = options.own.get("rounds") or (1 if options.quick else 3)
    return [{"query": query, "rounds": rounds, "settings": options.pairs_for(query)} for query in dict.fromkeys(found)]


def measure(item: Item) -> list[Row]:
    """One row: milliseconds of CPU time, in all and by stage, and of DuckDB, where it is installed."""
    workload, text = WORKLOADS[item["query"].partition("/")[0]], resolve_sql(item["query"])
    optimizer, connection = _optimizer(workload.data, tuple(item["settings"])), _duckdb(workload.rows)
    ours: list[tuple[float, ...]] = []
    theirs: dict[str, list[float]] = {name: [] for name in THEIRS if connection is not None}
    for number in range(item["rounds"] + 1):  # the first is to warm up
        gc.collect()
        ms, query = _timed(optimizer.optimize, text)
        scale = ms / sum(query.ms.values())
        ours += [(ms, *(scale * query.ms.get(stage, 0.0) for stage in STAGES))] * (number > 0)
        for name, times in theirs.items():
            times += [_timed(connection.execute, f"{THEIRS[name]} {for_duckdb(text)}")[0]] * (number > 0)
    ms, *stages = (median(column) for column in zip(*ours, strict=True))
    done = query.search
    relations = sum(isinstance(node, Tree) and isinstance(node.op, Scan) for node in postorder(query.stages[-1].tree))
    return [
        {
            "ms": ms, **{f"{stage}_ms": each for stage, each in zip(STAGES, stages, strict=True)},
            **{name: median(times) for name, times in theirs.items()}, "relations": relations,
            "regions": regions_text(done.regions), "pairs": done.joins_enumerated, "costed": done.costed, "tasks": done.tasks,
            "proven": done.proven,
        }
    ]  # fmt: skip


@lru_cache(maxsize=1)
def _optimizer(data: str, pairs: tuple[str, ...]) -> Optimizer:
    return Session(open_data(data), Settings.from_pairs(pairs)).optimizer


def _timed(run: Callable[[str], Result], text: str) -> tuple[float, Result]:
    start = process_time()
    result = run(text)
    return (process_time() - start) * 1e3, result


@lru_cache(maxsize=1)
def _duckdb(data: str) -> Any:
    """A connection to a database in memory with all tables and rows of a dataset; None where DuckDB is not installed."""
    module = duckdb_module()
    if module is None:
        return None
    connection = module.connect(":memory:")
    connection.execute("SET threads = 1")
    for table in open_data(data).tables.values():
        load_table(connection, table)
    return connection


def report(rows: pa.Table) -> list[Section]:
    """A row for each workload, and one for each query."""
    found = [row for row in rows.to_pylist() if row["status"] == "ok"]
    if not found:
        return [Section("Nothing was measured")]
    lines, left = [], []
    for name, mine in grouped(found, lambda row: str(row["query"]).partition("/")[0]).items():
        slowest, total = max(mine, key=itemgetter("ms")), _sum(mine, "ms")
        line = {"workload": name, "queries": len(mine), "CPU ms": total, "slowest": slowest["query"], "its ms": slowest["ms"]}
        for other in THEIRS:
            if theirs := _sum(mine, other):
                line |= {other: theirs, f"over {other.removesuffix('_ms')}": total / theirs}
        line["target"] = WORKLOADS[name].fast_target if is_compiled() else WORKLOADS[name].target
        lines.append(line | {stage: _sum(mine, f"{stage}_ms") for stage in STAGES})
        left += [row["query"] for row in mine if row["relations"] <= PROVEN_UP_TO and not row["proven"]]
    text = f"CPU milliseconds; sqlglot is {'compiled' if is_compiled() else 'not compiled: `planscope[fast]` brings that'}. "
    text += "`target`: what the ratio to PREPARE should be at most."
    text += f"\n\nNot proven, of {PROVEN_UP_TO} relations or fewer: {', '.join(left) or 'none'}."
    if not any(row.get("prepare_ms") for row in found):
        text += f"\n\n{MISSING}"
    columns = ("query", "relations", "regions", "pairs", "costed", "proven", *(f"{stage}_ms" for stage in STAGES), "ms", *THEIRS)
    each = pa.Table.from_pylist([{name: row.get(name) for name in columns} for row in found])
    tables = [
        Table("workloads", "CPU milliseconds of all queries of a workload.", pa.Table.from_pylist(lines), True),
        Table("queries", "CPU milliseconds of each query, medians of the rounds.", each),
    ]
    return [Section("Planning", text, tables)]


def _sum(rows: list[Row], name: str) -> float:
    return sum(row.get(name) or 0.0 for row in rows)
