"""Rows for the tables of join graphs, as many and as distinct as the statistics of the dataset `joingraph` say.

A column's values are 1 to `max`, of which `ndv` occur, evenly spread and including both ends, each in the same number of rows up
to one. Which row has which follows from a pseudo-random permutation of its own for each column (a Feistel network over row
numbers, cycle-walked into their range: Black and Rogaway, CT-RSA 2002), so columns are independent of each other, any part
of a table can be made alone, and the same name gives the same rows everywhere.
"""

from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from experiments.workloads.join_graphs import graph_of_table
from experiments.workloads.joingraph_data import graph_tables
from experiments.workloads.permutation import Integers, permuted
from optimizer.catalog.table import Table


@cache
def table_of(name: str, scale: float) -> Table:
    graph = graph_of_table(name)
    assert graph is not None, f"{name} is a table of a join graph"
    return next(table for table in graph_tables(graph, scale) if table.name == name)


def rows_of(name: str, scale: float, start: int, end: int) -> pa.RecordBatch:
    """Rows `start` to `end` - 1 (from 0) of a table at a scale; the same rows whichever ranges they are made in."""
    table, numbers = table_of(name, scale), np.arange(start, end, dtype=np.uint64)
    columns = [pa.array(column_values(table, column.name, numbers)) for column in table.columns]
    return pa.record_batch(columns, schema=table.schema)


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


def declaration(table: Table) -> str:
    """CREATE TABLE."""
    columns = [f"    {column.name} BIGINT NOT NULL" for column in table.columns]
    keys = [f"    UNIQUE ({', '.join(key)})" for key in table.keys]
    return f"CREATE TABLE {table.name} (\n" + ",\n".join(columns + keys) + "\n);"
