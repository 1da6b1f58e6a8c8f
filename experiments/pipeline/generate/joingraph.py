"""Rows for the tables of join graphs, as many and as distinct as the statistics of the dataset `joingraph` say.

A column's values are 1 to `max`, of which `ndv` occur, evenly spread and including both ends, each in the same number of rows up
to one. Which row has which follows from a pseudo-random permutation of its own for each column (a Feistel network over row
numbers, cycle-walked into their range: Black and Rogaway, CT-RSA 2002), so columns are independent of each other, any part
of a table can be made alone, and the same name gives the same rows everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.pipeline.generate.parts import all_files, make_parts, part_file, parts_of
from experiments.pipeline.generate.recipe import Facts, Progress, Recipe
from experiments.workloads.join_graphs import join_graph
from experiments.workloads.joingraph_data import graph_tables
from experiments.workloads.permutation import Integers, permuted
from optimizer.catalog.table import Table
from optimizer.errors import CatalogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GRAPHS = ("chain/4", "star/4", "cycle/4", "clique/4")  # where nobody names any
_VALUE_BYTES = 4.0  # of a 64-bit integer in a file, about
_CHUNK = 1 << 17  # rows of a row group
_MOST_SCALE = 100


def joingraph(scale: Decimal, graphs: Sequence[str] = GRAPHS, parts: int | None = None) -> Recipe:
    """The tables of `graphs`, rows and distinct counts times `scale`.

    Raises SqlError for a name of no graph, CatalogError for a scale beyond 100 (a billion rows in the largest table).
    """
    if scale > _MOST_SCALE:
        raise CatalogError(
            f"joingraph is made up to scale {_MOST_SCALE}, where its largest table has a billion rows; not at {scale}"
        )
    named = {graph.name: graph for graph in map(join_graph, graphs)}
    tables = [table for name in sorted(named) for table in graph_tables(named[name], float(scale))]
    text = f"{scale.normalize():f}"

    def fill(spark: SparkSession, folder: Path, progress: Progress) -> Facts:
        files = [part for table in tables for part in parts_of(table.name, table.stats.rows, _bytes(table), parts)]
        made = make_parts(spark, write_joingraph_parts, folder, files, {"scale": text}, {}, f"joingraph:{text}", progress)
        for table in tables:
            if made[table.name].rows != table.stats.rows:
                raise CatalogError(f"{table.name} has {made[table.name].rows} rows, expected {table.stats.rows}")
        (folder / "schema.sql").write_text("\n\n".join(map(_declaration, tables)) + "\n", encoding="utf-8")
        return all_files(made)

    settings: dict[str, Any] = {"graphs": sorted(named)} | ({} if parts is None else {"parts": parts})
    options = [f"--graph {name}" for name in sorted(named)] + ([] if parts is None else [f"--parts {parts}"])
    return Recipe("joingraph", text, sum(map(_bytes, tables)), fill, settings, " ".join(options))


def _bytes(table: Table) -> float:
    return table.stats.rows * len(table.columns) * _VALUE_BYTES


def _declaration(table: Table) -> str:
    columns = [f"    {column.name} BIGINT NOT NULL" for column in table.columns]
    keys = [f"    UNIQUE ({', '.join(key)})" for key in table.keys]
    return f"CREATE TABLE {table.name} (\n" + ",\n".join(columns + keys) + "\n);"


def write_joingraph_parts(tasks: Sequence[dict[str, Any]]) -> None:
    for task in tasks:
        table = _table(task["table"], float(task["scale"]))
        rows, of = table.stats.rows, task["of"]
        start, end = rows * task["number"] // of, rows * (task["number"] + 1) // of
        with part_file(task) as target, pq.ParquetWriter(target, table.schema, write_page_checksum=True) as writer:
            for first in range(start, end, _CHUNK):
                numbers = np.arange(first, min(first + _CHUNK, end), dtype=np.uint64)
                columns = [pa.array(column_values(table, column.name, numbers)) for column in table.columns]
                writer.write_batch(pa.record_batch(columns, schema=table.schema))


def _table(name: str, scale: float) -> Table:
    from experiments.workloads.join_graphs import graph_of_table

    graph = graph_of_table(name)
    assert graph is not None, f"{name} is a table of a join graph"
    return next(table for table in graph_tables(graph, scale) if table.name == name)


def column_values(table: Table, column: str, numbers: Integers) -> npt.NDArray[np.int64]:
    """The values of a column in the rows of these numbers (from 0)."""
    stats = table.stats.columns[column]
    assert stats.ndv is not None
    ndv, most = int(stats.ndv), int(stats.max)
    which = permuted(numbers, table.stats.rows, f"{table.name} {column}") % np.uint64(ndv)
    if ndv == 1:
        return np.ones(len(numbers), np.int64)
    step, rest = divmod(most - 1, ndv - 1)
    place = which.astype(np.int64)
    return 1 + place * step + place * rest // (ndv - 1)
