"""A few small CSV files without a fault are imported without Spark, which takes ten times as long to start and to warm up.

They are read as queries read them, and written. Whatever is not plain, and every fault, be it in one value, is left to Spark,
which then imports everything: it tells faults apart, and what it makes of good files is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from executor.atomic import atomic_output, make_folder
from experiments.pipeline.analyze.pieces import batches_of
from experiments.pipeline.intake.declared import Declared, declared_tables, publish_declared
from experiments.pipeline.intake.request import ImportRequest, Plan, read_inputs
from experiments.pipeline.intake.sources import Source
from experiments.pipeline.spark.keys import none_breaks
from experiments.pipeline.spark.publish import WORK
from experiments.pipeline.spark.session import Say
from optimizer.algebra.columns import DataType
from optimizer.algebra.types import MAX_PRECISION, is_decimal, is_float, is_string, type_name
from optimizer.catalog.csv_files import csv_facts
from optimizer.catalog.declarations import ColumnDeclaration, TableDeclaration
from optimizer.catalog.table import Table
from optimizer.errors import CatalogError, many

SMALL = 32 << 20  # bytes of all files
_GROUP_ROWS = 122_880
_LIKE_SPARKS = r"^\s*(\d{4}-\d\d-\d\d|(?i:true|false)\s*$)"


class _Read(NamedTuple):
    """`files`: the rows of each, in order."""

    columns: list[ColumnDeclaration]
    files: list[pa.Table]


def import_clean(request: ImportRequest, plan: Plan, inside: Path, say: Say) -> tuple[dict[str, Any], list[Path]] | None:
    """What `tables.Tables.make` gives; None, with nothing written, where that is for Spark to do."""
    sources = plan.found.tables
    if request.options or request.jars or not all(map(_is_plain, sources)) or (inside / WORK).exists():
        return None
    if sum(file["bytes"] for file in plan.inputs.values()) > SMALL:
        return None
    read: dict[str, _Read] = {}
    for source in sources:
        try:
            table = _read(source, plan.declared.get(source.name.lower(), TableDeclaration(source.name)))
        except (CatalogError, OSError, pa.ArrowException):
            return None
        if table is None:
            return None
        read[source.name] = table
    declared = declared_tables({name: one.columns for name, one in read.items()}, plan.declared)
    if not all(_keeps(table, read) for table in declared.values()) or plan.inputs != read_inputs(plan.found):
        return None
    parts = []
    for name, one in read.items():
        for number, rows in enumerate(one.files):
            parts.append(make_folder(inside / name) / f"part-{number:05d}.parquet")
            with atomic_output(parts[-1]) as file:
                pq.write_table(rows, file, _GROUP_ROWS, compression="zstd", write_page_checksum=True)
        say(f"{name}: {many(len(one.files), 'file')}, {_count(one):,} rows read")
    publish_declared(inside, declared)
    counts = {
        name: {"read": _count(one), "kept": _count(one), "rejected": [], "dropped": {}, "left_out": declared[name].left_out}
        for name, one in read.items()
    }
    return {"tables": counts, "skipped": [str(path) for path in plan.found.skipped], "damaged": {}}, parts


def _is_plain(source: Source) -> bool:
    plain = source.format == "csv" and bool(source.files)
    return plain and all(path.lower().endswith(".csv") and not values for path, values in source.files.items())


def _count(read: _Read) -> int:
    return sum(rows.num_rows for rows in read.files)


def _read(source: Source, declared: TableDeclaration) -> _Read | None:
    """Raises CatalogError, OSError or ArrowException for faults."""
    paths = [Path(path) for path in source.files]
    known = {column.name.lower(): column for column in declared.columns}
    if any(one.type is None or pa.types.is_binary(one.type) or _is_widest(one.type) for one in known.values()):
        return None
    facts = csv_facts(paths, {name: one.type for name, one in known.items() if one.type is not None})
    names = [column.name for column in facts[0].columns]
    lower = [name.lower() for name in names]
    if any([column.name for column in one.columns] != names for one in facts) or len({*lower}) < len(names):
        return None
    required = {*map(str.lower, declared.primary_key), *(name for name, one in known.items() if one.not_null)}
    if not required | known.keys() <= {*lower}:
        return None
    table = Table(source.name, facts[0].columns, files=tuple(paths), format="csv")
    files = [pa.Table.from_batches(batches_of(table, path, None, names), table.schema) for path in paths]
    for rows in files:
        if any(rows[name].null_count for name in names if name.lower() in required):
            return None
        if any(_is_odd(rows[name], name.lower() in known) for name in names):
            return None
    columns = [ColumnDeclaration(c.name, c.type, type_name(c.type), c.name.lower() in required) for c in table.columns]
    return _Read(columns, files)


def _is_widest(type: DataType) -> bool:
    """A decimal of which Spark does not read all texts, as 1e5."""
    return is_decimal(type) and bool(type.precision == MAX_PRECISION)


def _is_odd(values: pa.ChunkedArray, declared: bool) -> bool:
    """Whether Spark may take the texts for something else: -nan, or times and BOOLEANs that Arrow does not know."""
    if is_float(values.type):
        return not pc.all(pc.is_finite(values)).as_py()
    texts = values.slice(0, 0) if declared or not is_string(values.type) else values.drop_null()
    return len(texts) > 0 and all(pc.all(pc.match_substring_regex(some, _LIKE_SPARKS)).as_py() for some in (texts[:1], texts))


def _keeps(table: Declared, read: Mapping[str, _Read]) -> bool:
    """Whether the rows keep all keys and foreign keys for sure."""
    for key in filter(None, (table.primary_key, *table.unique)):
        if not none_breaks(_keys(read[table.name], key).drop_null()):
            return False
    return all(
        none_breaks(_keys(read[table.name], one.columns), _keys(read[one.table], one.referenced)) for one in table.foreign_keys
    )


def _keys(read: _Read, names: Sequence[str]) -> pa.Table:
    """With one set of names for the columns of two tables."""
    return pa.concat_tables(rows.select(names) for rows in read.files).rename_columns([f"k{i}" for i in range(len(names))])
