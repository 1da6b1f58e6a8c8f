"""The engines that `bench exec` compares: each runs SQL over the files of a dataset and gives the whole result as an Arrow table.

DuckDB and Polars plan when they are run; of planscope planning is timed apart.
Neither DuckDB nor Polars is a dependency: an engine that is not installed is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from time import perf_counter, process_time
from typing import Any, Protocol

import pyarrow as pa

from executor.execution import reader
from executor.session import Session
from experiments.bench.child import status_mb
from experiments.bench.experiment import Item, Row
from experiments.duckdb_sql import READERS, for_duckdb, quoted
from experiments.workloads.data import open_data
from optimizer.catalog.table import Catalog, Table
from optimizer.errors import ExecutionError
from optimizer.settings import Settings

NAMES = ("planscope", "duckdb", "polars")


class Engine(Protocol):
    """What `plan` gives, when it is called, runs the query. Anything may be raised for SQL that is not known."""

    def plan(self, sql: str) -> Callable[[], pa.Table]: ...


def installed(name: str) -> bool:
    return name == "planscope" or find_spec(name) is not None


def open_engine(name: str, catalog: Catalog, settings: Settings, threads: int) -> Engine:
    engines: dict[str, type[Planscope | DuckDB | Polars]] = {"planscope": Planscope, "duckdb": DuckDB, "polars": Polars}
    return engines[name](catalog, settings, threads)


class Planscope:
    def __init__(self, catalog: Catalog, settings: Settings, threads: int) -> None:
        pa.set_cpu_count(threads)
        self._session = Session(catalog, settings)

    def plan(self, sql: str) -> Callable[[], pa.Table]:
        query = self._session.optimize(sql)
        return lambda: reader(query).read_all()


class DuckDB:
    def __init__(self, catalog: Catalog, settings: Settings, threads: int) -> None:
        import duckdb

        self._connection = duckdb.connect(":memory:")
        self._connection.execute(f"SET threads = {threads}; SET enable_progress_bar = false")
        for table in catalog.tables.values():
            files = ", ".join("'" + str(file).replace("'", "''") + "'" for file in table.files)
            columns = ", ".join(quoted(column.name) for column in table.columns)
            source = f"{READERS[table.format]}([{files}])"
            self._connection.execute(f"CREATE VIEW {quoted(table.name)} AS SELECT {columns} FROM {source}")

    def plan(self, sql: str) -> Callable[[], pa.Table]:
        text = for_duckdb(sql)
        return lambda: self._connection.execute(text).to_arrow_table()


class Polars:
    """Its SQL knows no correlated subqueries, so it refuses some queries."""

    def __init__(self, catalog: Catalog, settings: Settings, threads: int) -> None:
        import polars

        self._context = polars.SQLContext({table.name: _lazy(table) for table in catalog.tables.values()})

    def plan(self, sql: str) -> Callable[[], pa.Table]:
        text = sql.strip().rstrip(";")
        return lambda: self._context.execute(text).collect().to_arrow()


def _lazy(table: Table) -> Any:
    import polars

    files = [str(file) for file in table.files]
    return polars.scan_csv(files) if table.format == "csv" else polars.scan_parquet(files)


# -- one process, one engine, one query -----------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _opened(name: str, data: str, pairs: tuple[str, ...], threads: int) -> tuple[Engine, float | None]:
    """The engine, and the megabytes that the process held when it was open."""
    engine = open_engine(name, open_data(data), Settings.from_pairs(pairs), threads)
    return engine, status_mb("VmRSS")


def measure(item: Item) -> list[Row]:
    """A run of `item["sql"]`: milliseconds on the clock and of CPU time (all threads), and of planning before it; `mb`: the most
    that the process held beyond the open engine. With `item["rows"]` its result as well, as an Arrow stream."""
    try:
        engine, before = _opened(item["engine"], item["data"], tuple(item["pairs"]), item["threads"])
        started = perf_counter()
        execute = engine.plan(item["sql"])
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
