"""Whether declared keys and foreign keys hold: known from an earlier run, proved by sketches or, where the files are small, by
their rows, or else counted by Spark.

    the key's columns, as queries read them -> groupBy(key) with a count above 1
                                            -> left anti join with the keys referred to

Values of the two sides of a foreign key are brought to the type first in which queries compare them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from executor.arrow.comparisons import normalized
from experiments.pipeline.analyze.pieces import Sketches, State, batches_of, check_unchanged, of_file, parts_of
from experiments.pipeline.sketches.column import ColumnSketch
from experiments.pipeline.sketches.figures import is_unique
from experiments.pipeline.sketches.hyperloglog import hashes
from experiments.pipeline.spark.keys import dangling, none_breaks, repeated, with_values
from experiments.pipeline.spark.paths import reader, to_read
from experiments.pipeline.spark.session import SMALL, Say, Start
from experiments.pipeline.spark.tasks import collect, rows_of_tasks
from experiments.stored_rows import as_declared, open_source
from optimizer.algebra.types import common_type
from optimizer.catalog.findings import Constraint, read_findings
from optimizer.catalog.table import Catalog, Table
from optimizer.errors import CatalogError, many

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS = 8_000_000  # that a task of the reading passes on at most


def declared(catalog: Catalog, tables: Mapping[str, Table]) -> list[Constraint]:
    """Every declared key of `tables`, and every foreign key from or to one of them, where both sides have rows at hand."""
    at_hand = [table for table in tables.values() if table.files]
    found = [Constraint(table.name, tuple(key)) for table in at_hand for key in (*table.keys, *table.unique)]
    for table in catalog.tables.values():
        for key in table.foreign_keys:
            target = catalog.table(key.table)
            if target is not None and table.files and target.files and {table.name, target.name} & set(tables):
                found.append(Constraint(table.name, tuple(key.columns), target.name, tuple(key.referenced)))
    return found


def verify(
    folder: Path, catalog: Catalog, chosen: Mapping[str, Table], sketches: Mapping[str, Sketches],
    known: Mapping[str, Mapping[str, str]], states: Mapping[Path, State], start: Start, say: Say,
) -> list[Constraint]:  # fmt: skip
    """Every declared key and foreign key of and to the tables, all of which hold. `known`: identities of files, by table;
    `states`: what the files were then. What was found is remembered, so that nothing is verified twice. Raises CatalogError for
    what the data contradicts."""
    every, findings = declared(catalog, chosen), read_findings(folder)
    found = {one: words for one in every if (words := findings.against(one, known)) is not None}
    found |= {one: "" for one in every if one not in found and proved(one, sketches)}
    if left := [one for one in every if one not in found]:
        say(f"verifying {len(left)} of {len(every)} keys and foreign keys by reading their columns")
        try:
            found |= {one: "" for one in left if held_by_few(catalog, one)}
            if left := [one for one in left if one not in found]:
                found |= {one: _complaint(one, *against) for one, against in count_against(catalog, left, start(), say).items()}
        finally:  # what has changed may not be readable either
            check_unchanged(states)
    findings.with_found(found, known).write(folder)
    if complaints := list(filter(None, found.values())):
        raise CatalogError("\n".join(complaints) + "\ncorrect schema.sql, or the data; until then queries do not rely on it")
    return every


def proved(one: Constraint, sketches: Mapping[str, Sketches]) -> bool:
    """Whether what was sketched, by table, is enough to know that the declaration holds; False proves nothing."""
    here, there = sketches.get(one.table, {}).get(one.columns), sketches.get(one.target, {}).get(one.referenced)
    if not isinstance(here, ColumnSketch):
        return False
    if not one.target:
        return here.nulls == 0 and is_unique(here) is True
    return isinstance(there, ColumnSketch) and there.type == here.type and not here.nans and _contains(there, here)


def held_by_few(catalog: Catalog, one: Constraint) -> bool:
    """Whether the declaration holds, as this process sees sooner than Spark would. False proves nothing."""
    sides = _sides(catalog, one)
    if sum(file.stat().st_size for table, _ in sides for file in table.files) > SMALL:
        return False
    types, is_integer = _types(sides), pa.types.is_integer
    if not all(a == b or (is_integer(a) and is_integer(b)) for a, b in zip(types, _types(sides[:1]), strict=True)):
        return False
    read = [open_source(table).to_table(columns=as_declared(table, names)) for table, names in sides]
    rows, *others = [each.cast(pa.schema(list(zip(each.column_names, types, strict=True)))) for each in read]
    return none_breaks(rows.drop_null() if _is_unique(catalog, one) else rows, *others)


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


def count_against(
    catalog: Catalog, every: Sequence[Constraint], spark: SparkSession, say: Say
) -> dict[Constraint, tuple[int, list[str]]]:
    """How many values of a key several rows have, or how many rows refer to nothing, and one of these as texts. Raises
    PipelineError."""
    from pyspark.sql import functions as f

    counted: list[DataFrame] = []
    for i, one in enumerate(every):
        against = _against(spark, catalog, one)
        shown = [f.base64(name) if type == "binary" else f.col(name).cast("string") for name, type in against.dtypes]
        first = f.min(f.array(*(f.coalesce(text, f.lit("NULL")) for text in shown)))
        counted.append(against.agg(f.lit(i).alias("which"), f.count(f.lit(1)).alias("rows"), first.alias("first")))
    what = f"verify {many(len(every), 'key')} of {', '.join(dict.fromkeys(one.table for one in every))}"
    rows = collect(spark, reduce(lambda a, b: a.union(b), counted), what, say)
    return {every[row["which"]]: (row["rows"], row["first"] or []) for row in rows}


def _against(spark: SparkSession, catalog: Catalog, one: Constraint) -> DataFrame:
    """The values of a key that several rows have, or those of rows without NULL in a foreign key that refer to no row."""
    sides = _sides(catalog, one)
    rows, *others = [_rows(spark, table, names, _types(sides)) for table, names in sides]
    if others:
        return dangling(rows, rows.columns, others[0])
    return repeated(with_values(rows, rows.columns) if _is_unique(catalog, one) else rows, rows.columns).drop("count")


def _sides(catalog: Catalog, one: Constraint) -> list[tuple[Table, Sequence[str]]]:
    """The table of a key and its columns; of a foreign key also those that it refers to."""
    return [(catalog.tables[one.table], one.columns), *([(catalog.tables[one.target], one.referenced)] if one.target else [])]


def _types(sides: Sequence[tuple[Table, Sequence[str]]]) -> list[pa.DataType]:
    """Of each column, the one in which queries compare the sides."""
    found = [[table.schema.field(name).type for name in names] for table, names in sides]
    return [reduce(lambda a, b: common_type(a, b) or b, each) for each in zip(*found, strict=True)]


def _is_unique(catalog: Catalog, one: Constraint) -> bool:
    """Whether this is a UNIQUE, which rows with NULL do not break."""
    return one.columns in catalog.tables[one.table].unique


def _rows(spark: SparkSession, table: Table, names: Sequence[str], types: Sequence[pa.DataType]) -> DataFrame:
    """The named columns of all rows, as `types`, called k0, k1, …: read by Spark where it reads what queries do, else by tasks,
    with what queries read with."""
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type

    if _is_read_alike(table, names):
        schema = from_arrow_schema(pa.schema([table.schema.field(name) for name in names]))
        read_all = reader(spark).schema(schema).option("recursiveFileLookup", "true")
        stored = read_all.parquet(*(to_read(file.absolute()) for file in table.files))
        return stored.toDF(*(f"k{i}" for i in range(len(names)))).select(
            *(f.col(f"k{i}").cast(from_arrow_type(type)).alias(f"k{i}") for i, type in enumerate(types))
        )
    shares = 1 if table.format == "parquet" else 1 + table.stats.rows // (len(table.files) * _ROWS)
    parts = [(of_file(table, file), groups, share) for file, groups in parts_of(table) for share in range(shares)]
    row = pa.struct([(f"k{i}", type) for i, type in enumerate(types)])

    def read(part: tuple[Table, Sequence[int] | None, int]) -> pa.StructArray:
        (there, groups, share), batches = part, [pa.array([], row)]
        for batch in batches_of(there, there.files[0], groups, names):
            columns = [normalized(column.cast(type)) for column, type in zip(batch.columns, types, strict=True)]
            rows = pa.StructArray.from_arrays(columns, fields=list(row))
            if shares > 1:
                rows = rows.filter(pa.array(hashes(*columns) % np.uint64(shares) == np.uint64(share)))
            batches.append(rows)
        return pa.concat_arrays(batches)

    # Spark believes that these are few rows, and would send all of them to each worker
    return rows_of_tasks(spark, parts, read, row).hint("merge")


def _is_read_alike(table: Table, names: Sequence[str]) -> bool:
    """Whether Spark reads of a table what queries do: whole numbers, decimals and texts that Parquet files store as such."""
    types, t = {name: table.schema.field(name).type for name in names}, pa.types
    plain = all(t.is_integer(type) or t.is_decimal(type) or t.is_string(type) for type in types.values())
    if table.format != "parquet" or not plain:
        return False
    schemas = [pq.read_schema(file) for file in table.files]
    return all(name in schema.names and schema.field(name).type == type for schema in schemas for name, type in types.items())


def _complaint(one: Constraint, rows: int, example: Sequence[str]) -> str:
    """What is said of a declaration that does not hold; of another one nothing."""
    if not rows:
        return ""
    columns, values = ", ".join(one.columns), ", ".join(example)
    if not one.target:
        return f"{one.table} ({columns}) is declared as a key, but has {many(rows, 'value')} more than once, as ({values})"
    target = f"{one.target} ({', '.join(one.referenced)})"
    return f"{one.table} ({columns}) is declared to reference {target}, but has {many(rows, 'row')} that it lacks, as ({values})"
