"""The engines that `bench exec` compares: each runs SQL over the files of a dataset and gives the whole result as an Arrow table.

DuckDB and Polars plan when they are run; of planscope planning is timed apart.
Neither DuckDB nor Polars is a dependency: an engine that is not installed is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from time import perf_counter, process_time
from typing import Any

import pyarrow as pa

from executor.execution import reader
from executor.session import Session
from experiments import duckdb_sql
from experiments.bench.child import status_mb
from experiments.bench.experiment import Item, Row
from experiments.workloads.data import open_data
from optimizer.catalog.table import Catalog, Table
from optimizer.errors import ExecutionError
from optimizer.settings import Settings

NAMES = ("planscope", "duckdb", "polars")


Plan = Callable[[str], Callable[[], pa.Table]]
"""Of SQL what runs it when it is called. Anything may be raised for SQL that is not known."""


def installed(name: str) -> bool:
    return name == "planscope" or find_spec(name) is not None


def _planscope(catalog: Catalog, settings: Settings, threads: int) -> Plan:
    pa.set_cpu_count(threads)
    session = Session(catalog, settings)

    def plan(sql: str) -> Callable[[], pa.Table]:
        query = session.optimize(sql)
        return lambda: reader(query).read_all()

    return plan


def _duckdb(catalog: Catalog, settings: Settings, threads: int) -> Plan:
    import duckdb

    connection = duckdb.connect(":memory:")
    connection.execute(f"SET threads = {threads}; SET enable_progress_bar = false")
    quoted = duckdb_sql.quoted
    for table in catalog.tables.values():
        files = ", ".join("'" + str(file).replace("'", "''") + "'" for file in table.files)
        columns, read = ", ".join(quoted(column.name) for column in table.columns), duckdb_sql.reader(table)
        connection.execute(f"CREATE VIEW {quoted(table.name)} AS SELECT {columns} FROM {read}([{files}])")
    return lambda sql: lambda: connection.execute(duckdb_sql.for_duckdb(sql)).to_arrow_table()


def _polars(catalog: Catalog, settings: Settings, threads: int) -> Plan:
    """Its SQL knows no correlated subqueries, so it refuses some queries."""
    import polars

    context = polars.SQLContext({table.name: _lazy(table) for table in catalog.tables.values()})
    return lambda sql: lambda: context.execute(sql.strip().rstrip(";")).collect().to_arrow()


def _lazy(table: Table) -> Any:
    import polars

    files = [str(file) for file in table.files]
    return polars.scan_csv(files) if table.format == "csv" else polars.scan_parquet(files)


# -- one process, one engine, one query -----------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _opened(name: str, data: str, pairs: tuple[str, ...], threads: int) -> tuple[Plan, float | None]:
    """What plans queries, and the megabytes that the process held when the engine was open."""
    plan = {"planscope": _planscope, "duckdb": _duckdb, "polars": _polars}[name]
    return plan(open_data(data), Settings.from_pairs(pairs), threads), status_mb("VmRSS")


def measure(item: Item) -> list[Row]:
    """A run of `item["sql"]`: milliseconds on the clock and of CPU time (all threads), and of planning before it; `mb`: the most
    that the process held beyond the open engine. With `item["rows"]` its result as well, as an Arrow stream."""
    try:
        plan, before = _opened(item["engine"], item["data"], tuple(item["pairs"]), item["threads"])
        started = perf_counter()
        execute = plan(item["sql"])
        planned, cpu = perf_counter(), process_time()
        table = execute()
        row: Row = {
            "ms": (perf_counter() - planned) * 1e3,
            "cpu_ms": (process_time() - cpu) * 1e3,
            "plan_ms": (planned - started) * 1e3,
        }
    except BaseException as error:  # Polars panics
        raise ExecutionError((str(error) or type(error).__name__).strip().splitlines()[0]) from None
    held = status_mb("VmHWM")
    row["mb"] = None if held is None or before is None else held - before
    if item["rows"]:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        row["table"] = sink.getvalue().to_pybytes()
    return [row]
