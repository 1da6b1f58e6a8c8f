"""Catalogs as JSON: schemas and statistics of tables, without their rows."""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from optimizer.algebra.types import is_opaque
from optimizer.catalog.statistics import column_entry, column_of
from optimizer.catalog.table import Catalog, ColumnStats, ForeignKey, Table, TableColumn, TableStats
from optimizer.catalog.value_text import reader, text

_TYPES = {
    str(type): type
    for type in (
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.binary(),
        pa.date32(), pa.timestamp("us"),
    )
}  # fmt: skip

_OPAQUE = "arrow "


def catalog_json(catalog: Catalog, names: Iterable[str] | None = None) -> dict[str, Any]:
    """Some tables of a catalog, and those that their foreign keys refer to; all where no names are given."""
    wanted = list(catalog.tables) if names is None else list(names)
    tables: dict[str, Table] = {}
    while wanted:
        table = catalog.table(wanted.pop())
        if table is not None and table.name not in tables:
            tables[table.name] = table
            wanted += [key.table for key in table.foreign_keys]
    return {"name": catalog.name, "tables": [_table(tables[name]) for name in sorted(tables)]}


def read_catalog(value: Any) -> Catalog:
    """The catalog, without rows. Raises KeyError, TypeError, ValueError or ArithmeticError for what none is."""
    return Catalog(str(value["name"]), [_read_table(table) for table in value["tables"]])


def _table(table: Table) -> dict[str, Any]:
    stats = table.stats
    return {
        "name": table.name,
        "columns": [[c.name, _type_text(c.type), c.nullable] for c in table.columns],
        "keys": [list(key) for key in table.keys],
        "foreign_keys": [[list(k.columns), k.table, list(k.referenced)] for k in table.foreign_keys],
        "order": list(table.order),
        "rows": stats.rows,
        "bytes": stats.bytes,
        "distinct": [[list(names), count] for names, count in sorted(stats.distinct.items())],
        "statistics": {c.name: _figures(stats.columns[c.name]) for c in table.columns if c.name in stats.columns},
    }


def _figures(stats: ColumnStats) -> dict[str, Any]:
    histogram = stats.histogram
    buckets = None if histogram is None else [list(map(text, histogram.bounds)), list(histogram.rows), list(histogram.ndv)]
    return {**column_entry(stats), "histogram": buckets}


def _read_table(value: Any) -> Table:
    columns = tuple(TableColumn(str(name), _type(str(type)), bool(nullable)) for name, type, nullable in value["columns"])
    types = {column.name: column.type for column in columns}
    figures = {str(name): column_of(each, reader(types[name]), each["histogram"]) for name, each in value["statistics"].items()}
    distinct = {tuple(map(str, names)): float(count) for names, count in value["distinct"]}
    return Table(
        str(value["name"]),
        columns,
        tuple(tuple(map(str, key)) for key in value["keys"]),
        tuple(
            ForeignKey(tuple(map(str, own)), str(table), tuple(map(str, other))) for own, table, other in value["foreign_keys"]
        ),
        tuple(map(str, value["order"])),
        TableStats(int(value["rows"]), int(value["bytes"]), figures, distinct),
    )


def _type_text(type: pa.DataType) -> str:
    """Its name; an opaque type, as Arrow writes it in a schema."""
    if not is_opaque(type):
        return str(type)
    return _OPAQUE + b64encode(pa.schema([pa.field("", type)]).serialize()).decode()


def _type(name: str) -> pa.DataType:
    if name in _TYPES:
        return _TYPES[name]
    if name.startswith(_OPAQUE):
        return pa.ipc.read_schema(pa.py_buffer(b64decode(name.removeprefix(_OPAQUE)))).field(0).type
    decimal = re.fullmatch(r"decimal128\((\d{1,2}), (\d{1,2})\)", name)
    if decimal is None:
        raise ValueError(f"no column has the type {name[:50]}")
    return pa.decimal128(int(decimal[1]), int(decimal[2]))
