"""Whether declared keys and foreign keys hold: exactly, by what sketches prove or else by reading the columns.

A task holds the rows of one share of the key's values at a time: rows that could contradict each other have equal values, so they
are in the same share. Values of the two sides of a foreign key are brought to one type first.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.comparisons import normalized
from experiments.pipeline.sketches.column import ColumnSketch
from experiments.pipeline.sketches.figures import is_unique
from experiments.pipeline.sketches.hashing import hashes
from optimizer.catalog.order import rows_ascend
from optimizer.catalog.source import open_source
from optimizer.catalog.table import Catalog, ForeignKey, Table, TableColumn
from optimizer.catalog.value_text import text
from optimizer.errors import CatalogError

SHARE = 8_000_000  # rows that one task holds, of all its tables together
Check = Mapping[str, Any]
Sketches = Mapping[str, Mapping[str, ColumnSketch]]  # by table and column


def checks(catalog: Catalog, tables: Mapping[str, Table]) -> list[Check]:
    """Every declared key of `tables`, and every foreign key from or to one of them, where both sides have rows at hand."""
    found: list[Check] = [_check("key", table, key) for table in tables.values() for key in table.keys if table.files]
    for table in catalog.tables.values():
        for key in table.foreign_keys:
            target = catalog.table(key.table)
            if target is not None and table.files and target.files and {table.name, target.name} & set(tables):
                found.append(_check("foreign key", table, key.columns, target, key))
    return found


def _check(
    kind: str, table: Table, columns: tuple[str, ...], target: Table | None = None, key: ForeignKey | None = None
) -> Check:
    there = {} if target is None or key is None else {"target": target.name, "referenced": list(key.referenced)}
    return {"kind": kind, "table": table.name, "columns": list(columns), **there}


def proved(check: Check, sketches: Sketches) -> bool:
    """Whether what was sketched is enough to know that the declaration holds; False proves nothing."""
    here = [sketches.get(check["table"], {}).get(name) for name in check["columns"]]
    if len(here) > 1 or here[0] is None:
        return False
    if check["kind"] == "key":
        return here[0].nulls == 0 and is_unique(here[0]) is True
    there = sketches.get(check["target"], {}).get(check["referenced"][0])
    return there is not None and there.type == here[0].type and not here[0].nans and _contains(there, here[0])


def _contains(all: ColumnSketch, some: ColumnSketch) -> bool:
    """Whether every value of the one column is known to occur in the other, which has the same type."""
    if not len(some.bounds):
        return True
    if some.frequent.is_exact and all.frequent.is_exact:
        return bool(pc.all(pc.is_in(some.frequent.values, value_set=all.frequent.values)).as_py())
    if not pa.types.is_integer(all.type) or not len(all.bounds) or not is_unique(all):
        return False
    low, high = all.bounds.to_pylist()
    least, most = some.bounds.to_pylist()
    return bool(all.present == high - low + 1 and low <= least and most <= high)  # different, and as many as there can be


def tasks_of(check: Check, catalog: Catalog) -> list[dict[str, Any]]:
    """Tasks for `run_check`; the declaration holds if all of them find nothing against it."""
    sides = [_side(catalog.tables[check["table"]], check["columns"])]
    rows = catalog.tables[check["table"]].stats.rows
    if check["kind"] == "foreign key":
        sides.append(_side(catalog.tables[check["target"]], check["referenced"]))
        rows += catalog.tables[check["target"]].stats.rows
    shares = 1 if _is_sorted(check, catalog) else max(1, -(-rows // SHARE))
    return [{**check, "sides": sides, "share": share, "shares": shares} for share in range(shares)]


def _is_sorted(check: Check, catalog: Catalog) -> bool:
    """Whether the rows are stored in order of the key."""
    order = catalog.tables[check["table"]].order[: len(check["columns"])]
    return check["kind"] == "key" and set(order) == set(check["columns"])


def _side(table: Table, columns: list[str]) -> dict[str, Any]:
    schema = table.schema
    return {
        "files": [str(file.absolute()) for file in table.files],
        "format": table.format,
        "schema": base64.b64encode(schema.serialize()).decode("ascii"),
        "columns": columns,
        "order": list(table.order[: len(columns)]) if set(table.order[: len(columns)]) == set(columns) else [],
    }


def run_check(task: Mapping[str, Any]) -> dict[str, Any]:
    """{"against": None, or the values, as texts, of a key that several rows have or of a row that refers to nothing; "rows": how
    many such rows there are}. Raises CatalogError when a file cannot be read."""
    tables = [_table(task["table"] if i == 0 else task["target"], side) for i, side in enumerate(task["sides"])]
    try:
        found = _twice(tables[0], task) if task["kind"] == "key" else _missing(tables[0], tables[1], task)
    except (pa.ArrowException, OSError) as error:
        files = ", ".join(str(table.files[0].parent) for table in tables)
        raise CatalogError(f"cannot read the files in {files}: {str(error).splitlines()[0]}") from error
    if not found.num_rows:
        return {"against": None, "rows": 0}
    first = [found[name][0].as_py() for name in found.column_names]
    return {"against": ["NULL" if value is None else text(value) for value in first], "rows": found.num_rows}


def _table(name: str, side: Mapping[str, Any]) -> Table:
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(side["schema"])))
    columns = tuple(TableColumn(field.name, field.type) for field in schema)
    return Table(name, columns, files=tuple(map(Path, side["files"])), format=side["format"])


def _twice(table: Table, task: Mapping[str, Any]) -> pa.Table:
    """The values of the key that several rows have."""
    side = task["sides"][0]
    if side["order"] and rows_ascend(table, side["order"], strictly=True):
        return pa.table({name: [] for name in side["columns"]})
    rows = _rows(table, side["columns"], table.schema, task)
    hashed = hashes(*_columns(rows)) if rows.num_rows else np.empty(0, np.uint64)
    order = np.argsort(hashed)
    same = np.flatnonzero(hashed[order][1:] == hashed[order][:-1])
    suspects = rows.take(pa.array(np.unique(np.concatenate([order[same], order[same + 1]]))))
    counted = suspects.group_by(side["columns"], use_threads=False).aggregate([([], "count_all")])
    return counted.filter(pc.greater(counted["count_all"], 1)).select(side["columns"])


def _missing(table: Table, target: Table, task: Mapping[str, Any]) -> pa.Table:
    """The rows of `table` without NULL in the foreign key whose values no row of `target` has."""
    here, there = task["sides"]
    pairs = zip(here["columns"], there["columns"], strict=True)
    types = [common_type(table.schema.field(a).type, target.schema.field(b).type) for a, b in pairs]
    rows = _rows(table, here["columns"], pa.schema(zip(here["columns"], types, strict=True)), task)
    for name in here["columns"]:
        rows = rows.filter(pc.is_valid(rows[name]))
    known = _rows(target, there["columns"], pa.schema(zip(there["columns"], types, strict=True)), task)
    names = [str(i) for i in range(len(types))]
    known = _joinable(known).rename_columns(names).group_by(names, use_threads=False).aggregate([])
    asked = _joinable(rows).rename_columns(names).append_column("row", pa.array(np.arange(rows.num_rows)))
    lost = asked.join(known, names, join_type="left anti", use_threads=False)
    return rows.take(lost["row"].combine_chunks().sort())


def _joinable(table: pa.Table) -> pa.Table:
    """Floats as their bits, since Arrow joins no NaN with another."""
    columns = [column.combine_chunks() for column in table.columns]
    columns = [column.cast(pa.float64()).view(pa.int64()) if pa.types.is_floating(column.type) else column for column in columns]
    return pa.table(columns, names=table.column_names)


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """A type that holds the values of both, which are of one family: whole numbers, decimals, texts …"""
    t = pa.types
    if one == other:
        return one
    if t.is_integer(one) and t.is_integer(other):
        return pa.int64()
    if t.is_floating(one) or t.is_floating(other):
        return pa.float64()
    if t.is_decimal128(one) or t.is_decimal128(other):
        return pa.decimal128(38, max(kind.scale for kind in (one, other) if t.is_decimal128(kind)))
    return one if t.is_timestamp(one) or t.is_binary(one) else other


def _rows(table: Table, names: list[str], schema: pa.Schema, task: Mapping[str, Any]) -> pa.Table:
    """The named columns, as the types in `schema`, of the rows in this task's share."""
    parts = []
    for batch in open_source(table).to_batches(columns=names):
        columns = [normalized(batch.column(name).cast(schema.field(name).type)) for name in names]
        part = pa.record_batch(columns, names=names)
        if task["shares"] > 1 and part.num_rows:
            part = part.filter(pa.array(hashes(*columns) % np.uint64(task["shares"]) == np.uint64(task["share"])))
        parts.append(part)
    return pa.Table.from_batches(parts) if parts else pa.table({name: pa.array([], schema.field(name).type) for name in names})


def _columns(table: pa.Table) -> list[pa.Array]:
    return [column.combine_chunks() for column in table.columns]
