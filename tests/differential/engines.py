"""DuckDB, the naive evaluator and planscope over one dataset."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from executor.arrow.context import Tuning
from executor.arrow.run import execute
from executor.execution import reader
from executor.session import Session
from optimizer.dataset import open_dataset
from optimizer.errors import NoPlan
from tests import once
from tests.differential.datasets import Dataset
from tests.reference.compare import Row, assert_same_bag, assert_same_kinds, assert_same_list, rows_of
from tests.reference.naive import run_query


class Engines:
    def __init__(self, data: Dataset) -> None:
        self.data = data
        self.duckdb = data.connect()
        self.catalog = open_dataset(data.folder)

    def naive(self, sql: str) -> list[Row]:
        return run_query(once.bound(sql, self.catalog), self.data.tables)

    def optimized(self, sql: str, settings: dict[str, Any]) -> pa.Table:
        """Planned with `settings`, or without them where the rules that are off leave no plan."""
        try:
            return Session(self.catalog, settings).sql(sql).table
        except NoPlan:
            if not settings.get("disable"):
                raise
            return Session(self.catalog).sql(sql).table

    def check(
        self, sql: str, settings: dict[str, Any] | None = None, tuning: Tuning | None = None, ordered: bool = False,
        duckdb_too: bool = True, rounded: Callable[[list[Row]], list[Row]] = list,
    ) -> list[Row]:  # fmt: skip
        """The rows that planscope finds, with `tuning` too, and the naive evaluation; those of DuckDB are the same, `rounded`."""
        same = assert_same_list if ordered else assert_same_bag
        query = Session(self.catalog, settings).optimize(sql)
        table = reader(query).read_all()
        rows = rows_of(table)
        same(self.naive(sql), rows)
        if tuning is not None:
            made = execute(query.plan, query.columns, self.catalog.tables, tuning=tuning).read_all()
            same(rows, rows_of(made.select([f"c{output.id}" for output in query.outputs])))
        if duckdb_too:
            expected = self.duckdb.execute(sql).to_arrow_table()
            assert_same_kinds(expected, table)
            same(rounded(rows_of(expected)), rounded(rows))
        return rows


def engines_over_tables(folder: Path, tables: dict[str, pa.Table]) -> Engines:
    """Of tables in memory, which are files in `folder` for planscope alone: DuckDB computes with the statistics of files, which
    may fail."""
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    engines = Engines(Dataset(folder, tables))
    for name, table in tables.items():
        engines.duckdb.register(name, table)
    return engines
