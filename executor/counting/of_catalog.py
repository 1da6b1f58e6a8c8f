"""Counts rows over the tables of a catalog; what is counted is kept from one process to the next."""

from __future__ import annotations

import hashlib

import pyarrow as pa

from executor.arrow.run import execute
from executor.counting.counter import RowCounter
from executor.counting.kept import KeptCounts
from experiments.workloads.cache import cache_folder
from optimizer.algebra.columns import Columns
from optimizer.algebra.trees import Tree
from optimizer.catalog.table import Catalog
from optimizer.errors import ExecutionError
from optimizer.pipeline import Optimizer

LONGEST_COUNT = 60e6  # microseconds, by the cost model, that counting one relation set may take


def row_counter(catalog: Catalog) -> RowCounter:
    """Counts the rows of trees over the tables of a catalog, and keeps the counts under `PLANSCOPE_HOME`.

    Counting raises ExecutionError where a tree can only be counted by running it, and that would take too long: eager
    aggregation, say, may group the pairs of two tables that only an inequality links. `true` then has the default estimate.
    """
    optimizer = Optimizer(catalog)

    def run(tree: Tree, columns: Columns) -> pa.RecordBatchReader:
        plan = optimizer.plan(tree, columns)
        if plan.cost > LONGEST_COUNT:
            raise ExecutionError(f"counting these rows is thought to take {plan.cost / 1e6:,.0f} s")
        return execute(plan, columns, catalog.tables)

    return RowCounter(run, KeptCounts(cache_folder() / "true_cardinalities" / f"{data_version(catalog)}.jsonl"))


def data_version(catalog: Catalog) -> str:
    """32 hex digits that change with the data: the catalog's digest, and when its files were written."""
    stored = [(table.name, file, file.stat()) for table in catalog.tables.values() for file in table.files]
    files = [(table, file.name, found.st_size, found.st_mtime_ns) for table, file, found in stored]
    return hashlib.sha256(repr((catalog.digest, files)).encode()).hexdigest()[:32]
