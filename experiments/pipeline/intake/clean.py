"""A few small CSV files without a fault are imported without Spark, which takes ten times as long to start and to warm up.

They are read as queries read them, and written. Whatever is not plain, and every fault, be it in one value, is left to Spark,
which then imports everything: it tells faults apart, and what it makes of good files is the same.
"""

from collections.abc import Mapping
from itertools import product
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
from experiments.pipeline.spark.session import SMALL, Say
from optimizer.algebra.types import MAX_PRECISION, is_float, is_string, type_name
from optimizer.catalog.csv_files import csv_facts
from optimizer.catalog.declarations import ColumnDeclaration, TableDeclaration
from optimizer.catalog.table import Table
from optimizer.errors import CatalogError, many

_GROUP_ROWS = 122_880
_LIKE_SPARKS = r"^\s*(\d{4}-\d\d-\d\d|(?i:true|false)\s*$)"


class _Read(NamedTuple):
    """`files`: the rows of each, in order."""

    columns: list[ColumnDeclaration]
    files: list[pa.Table]

    @property
    def rows(self) -> pa.Table:
        return pa.concat_tables(self.files)


def import_clean(request: ImportRequest, plan: Plan, inside: Path, say: Say) -> tuple[dict[str, Any], list[Path]] | None:
    """What `tables.Tables.make` gives; None, with nothing written, where that is for Spark to do."""
    sources = plan.found.tables
    if request.options or request.jars or not all(map(_is_plain, sources)) or (inside / WORK).exists():
        return None
    if sum(file["bytes"] for file in plan.inputs.values()) > SMALL:
        return None
    try:
        read = {one.name: _read(one, plan.declared.get(one.name.lower(), TableDeclaration(one.name))) for one in sources}
    except (CatalogError, OSError, pa.ArrowException):
        return None
    declared = declared_tables({name: one.columns for name, one in read.items()}, plan.declared)
    if not all(_keeps(table, read) for table in declared.values()) or plan.inputs != read_inputs(plan.found):
        return None
    parts = []
    for name, one in read.items():
        for number, rows in enumerate(one.files):
            parts.append(make_folder(inside / name) / f"part-{number:05d}.parquet")
            with atomic_output(parts[-1]) as file:
                pq.write_table(rows, file, _GROUP_ROWS, compression="zstd", write_page_checksum=True)
        say(f"{name}: {many(len(one.files), 'file')}, {len(one.rows):,} rows read")
    publish_declared(inside, declared)
    counts = {
        name: {"read": len(one.rows), "kept": len(one.rows), "rejected": [], "dropped": {}, "left_out": declared[name].left_out}
        for name, one in read.items()
    }
    return {"tables": counts, "skipped": [str(path) for path in plan.found.skipped], "damaged": {}}, parts


def _is_plain(source: Source) -> bool:
    plain = source.format == "csv" and bool(source.files)
    return plain and all(path.lower().endswith(".csv") and not values for path, values in source.files.items())


def _read(source: Source, declared: TableDeclaration) -> _Read:
    """Raises CatalogError, OSError or ArrowException for faults, and for all that Spark may take for something else."""
    paths = [Path(path) for path in source.files]
    known = {column.name.lower(): column for column in declared.columns}
    types = [one.type for one in known.values()]
    if any(type is None or pa.types.is_binary(type) or getattr(type, "precision", 0) == MAX_PRECISION for type in types):
        raise CatalogError("types of which Spark reads other texts, such as 1e5 for the widest decimals")
    facts = csv_facts(paths, {name: one.type for name, one in known.items() if one.type is not None})
    names = [column.name for column in facts[0].columns]
    lower = [name.lower() for name in names]
    required = {*map(str.lower, declared.primary_key), *(name for name, one in known.items() if one.not_null)}
    alike = all([column.name for column in one.columns] == names for one in facts)
    if not alike or len({*lower}) < len(names) or not required | known.keys() <= {*lower}:
        raise CatalogError("columns that differ, are there twice, or are missing")
    table = Table(source.name, facts[0].columns, files=tuple(paths), format="csv")
    files = [pa.Table.from_batches(batches_of(table, path, None, names), table.schema) for path in paths]
    for name, rows in product(names, files):
        if (name.lower() in required and rows[name].null_count) or _is_odd(rows[name], name.lower() in known):
            raise CatalogError("a NULL that is forbidden, or texts that Spark may take for something else")
    columns = [ColumnDeclaration(c.name, c.type, type_name(c.type), c.name.lower() in required) for c in table.columns]
    return _Read(columns, files)


def _is_odd(values: pa.ChunkedArray, declared: bool) -> bool:
    """Whether Spark may take the texts for something else: -nan, or times and BOOLEANs that Arrow does not know."""
    if is_float(values.type):
        return not pc.all(pc.is_finite(values)).as_py()
    texts = values.slice(0, 0) if declared or not is_string(values.type) else values.drop_null()
    return len(texts) > 0 and all(pc.all(pc.match_substring_regex(some, _LIKE_SPARKS)).as_py() for some in (texts[:1], texts))


def _keeps(table: Declared, read: Mapping[str, _Read]) -> bool:
    """Whether the rows keep all keys and foreign keys for sure."""
    rows = read[table.name].rows
    return all(none_breaks(rows.select(key).drop_null()) for key in (table.primary_key, *table.unique) if key) and all(
        none_breaks(rows.select(one.columns), read[one.table].rows.select(one.referenced)) for one in table.foreign_keys
    )
