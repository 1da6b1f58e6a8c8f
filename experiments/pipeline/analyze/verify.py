"""Whether declared keys and foreign keys hold: exactly, by reading the columns.

Rows are told apart by 64-bit hashes first; where hashes are equal, the values themselves decide. Large tables are looked at in
shares: a task takes the rows whose hash falls into its share, and rows that could contradict each other are always in the
same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from experiments.pipeline.sketches.hashing import hashes
from optimizer.catalog.source import open_source
from optimizer.catalog.table import Catalog, Table
from optimizer.catalog.value_text import text
from optimizer.dataset import open_dataset

SHARE = 20_000_000  # rows of a table that one task holds


def key_tasks(folder: str, catalog: Catalog, tables: Mapping[str, Table]) -> list[dict[str, Any]]:
    """Tasks for `check_key`: every declared key of `tables`."""
    return [
        {"folder": folder, "table": table.name, "columns": list(key), "share": share, "shares": shares}
        for table in tables.values()
        for key in table.keys
        for shares in [max(1, -(-table.stats.rows // SHARE))]
        for share in range(shares)
    ]


def foreign_key_tasks(folder: str, catalog: Catalog, tables: Mapping[str, Table]) -> list[dict[str, Any]]:
    """Tasks for `check_foreign_key`: every foreign key from or to one of `tables`, where both sides have rows at hand."""
    tasks = []
    for table in catalog.tables.values():
        for key in table.foreign_keys:
            target = catalog.table(key.table)
            if target is None or not (table.files and target.files) or not {table.name, target.name} & set(tables):
                continue
            shares = max(1, -(-(table.stats.rows + target.stats.rows) // SHARE))
            for share in range(shares):
                names = {"columns": list(key.columns), "target": target.name, "referenced": list(key.referenced)}
                tasks.append({"folder": folder, "table": table.name, **names, "share": share, "shares": shares})
    return tasks


def check_key(task: Mapping[str, Any]) -> dict[str, Any]:
    """{"twice": None, or the values, as texts, of a key that several rows have}."""
    table = open_dataset(task["folder"]).tables[task["table"]]
    rows = _rows(table, task["columns"], task)
    if not rows.num_rows:
        return {"twice": None}
    hashed = hashes(*_columns(rows))
    order = np.argsort(hashed, kind="stable")
    same = np.flatnonzero(hashed[order][1:] == hashed[order][:-1])
    if not len(same):
        return {"twice": None}
    suspects = rows.take(pa.array(np.unique(np.concatenate([order[same], order[same + 1]]))))
    counted = suspects.group_by(rows.column_names, use_threads=False).aggregate([([], "count_all")])
    twice = counted.filter(pc.greater(counted["count_all"], 1))
    return {"twice": _texts(twice, rows.column_names) if twice.num_rows else None}


def check_foreign_key(task: Mapping[str, Any]) -> dict[str, Any]:
    """{"missing": None, or the values of a row that refers to nothing, "rows": how many such rows there are}."""
    catalog = open_dataset(task["folder"])
    rows = _rows(catalog.tables[task["table"]], task["columns"], task)
    for name in rows.column_names:
        rows = rows.filter(pc.is_valid(rows[name]))
    if not rows.num_rows:
        return {"missing": None, "rows": 0}
    target = _rows(catalog.tables[task["target"]], task["referenced"], task)
    known = np.unique(hashes(*_columns(target))) if target.num_rows else np.empty(0, np.uint64)
    lost = ~np.isin(hashes(*_columns(rows)), known)
    if not lost.any():
        return {"missing": None, "rows": 0}
    first = rows.take(pa.array(np.flatnonzero(lost)[:1]))
    return {"missing": _texts(first, rows.column_names), "rows": int(lost.sum())}


def _rows(table: Table, names: list[str], task: Mapping[str, Any]) -> pa.Table:
    """The named columns of the rows in this task's share; whole numbers of any size as 64 bits, so that sides compare."""
    parts = []
    for batch in open_source(table).to_batches(columns=names):
        if not batch.num_rows:
            continue
        columns = [c.cast(pa.int64()) if pa.types.is_integer(c.type) else c for c in batch.columns]
        part = pa.record_batch(columns, names=names)
        if task["shares"] > 1:
            mine = hashes(*part.columns) % np.uint64(task["shares"]) == np.uint64(task["share"])
            part = part.filter(pa.array(mine))
        parts.append(part)
    return pa.Table.from_batches(parts) if parts else pa.table({name: [] for name in names})


def _columns(table: pa.Table) -> list[pa.Array]:
    return [pa.concat_arrays(column.chunks) for column in table.columns]


def _texts(table: pa.Table, names: list[str]) -> list[str]:
    return ["NULL" if (value := table[name][0].as_py()) is None else text(value) for name in names]
