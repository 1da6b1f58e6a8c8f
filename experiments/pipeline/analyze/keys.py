"""Whether declared keys and foreign keys hold: proved by sketches, known from an earlier run, or else counted by Spark.

    pieces -> the key's columns, read as queries read them -> groupBy(key) with a count above 1
                                                           -> left anti join with the keys referred to

Values of the two sides of a foreign key are brought to one type first, and what Spark compares otherwise than SQL here (floats)
or has no type for is passed on as whole numbers.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.comparisons import normalized
from experiments.pipeline.analyze.pieces import State, check_unchanged, parts_of
from experiments.pipeline.sketches.column import ColumnSketch
from experiments.pipeline.sketches.figures import is_unique
from experiments.pipeline.sketches.hashing import hashes
from experiments.pipeline.spark.tasks import collect, run_tasks
from optimizer.catalog.findings import Constraint, read_findings
from optimizer.catalog.order import rows_ascend
from optimizer.catalog.source import open_source
from optimizer.catalog.table import Catalog, Table, TableColumn
from optimizer.catalog.value_text import text
from optimizer.errors import CatalogError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS = 8_000_000  # that a task of the reading passes on at most
Sketches = Mapping[str, Mapping[str, ColumnSketch]]  # by table and column


def declared(catalog: Catalog, tables: Mapping[str, Table]) -> list[Constraint]:
    """Every declared key of `tables`, and every foreign key from or to one of them, where both sides have rows at hand."""
    found = [Constraint(table.name, tuple(key)) for table in tables.values() for key in table.keys if table.files]
    for table in catalog.tables.values():
        for key in table.foreign_keys:
            target = catalog.table(key.table)
            if target is not None and table.files and target.files and {table.name, target.name} & set(tables):
                found.append(Constraint(table.name, tuple(key.columns), target.name, tuple(key.referenced)))
    return found


def verify(
    folder: Path,
    catalog: Catalog,
    chosen: Mapping[str, Table],
    sketches: Sketches,
    known: Mapping[str, Mapping[str, str]],
    states: Mapping[Path, State],
    start: Callable[[], SparkSession],
    say: Callable[[str], None],
) -> list[Constraint]:
    """Every declared key and foreign key of and to the tables, all of which hold. `known`: identities of files, by table;
    `states`: what the files were then.

    What was found is remembered, so that nothing is verified twice. Raises CatalogError for what the data contradicts.
    """
    every, findings = declared(catalog, chosen), read_findings(folder)
    found = {one: words for one in every if (words := findings.against(one, known)) is not None}
    found |= {one: "" for one in every if one not in found and proved(one, sketches)}
    if left := [one for one in every if one not in found]:
        say(f"verifying {len(left)} of {len(every)} keys and foreign keys by reading their columns")
        try:
            found |= {one: _complaint(one, *against) for one, against in count_against(catalog, left, start(), say).items()}
        finally:  # what has changed may not be readable either
            for file, state in states.items():
                check_unchanged(file, state)
    findings.with_found(found, known).write(folder)
    if complaints := list(filter(None, found.values())):
        raise CatalogError("\n".join(complaints) + "\ncorrect schema.sql, or the data; until then queries do not rely on it")
    return every


def proved(one: Constraint, sketches: Sketches) -> bool:
    """Whether what was sketched is enough to know that the declaration holds; False proves nothing."""
    here = sketches.get(one.table, {}).get(one.columns[0])
    if len(one.columns) > 1 or here is None:
        return False
    if not one.target:
        return here.nulls == 0 and is_unique(here) is True
    there = sketches.get(one.target, {}).get(one.referenced[0])
    return there is not None and there.type == here.type and not here.nans and _contains(there, here)


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
    catalog: Catalog, every: Sequence[Constraint], spark: SparkSession, say: Callable[[str], None]
) -> dict[Constraint, tuple[int, list[str]]]:
    """How many values of a key several rows have, or how many rows refer to nothing, and one of these as texts. Raises
    CatalogError, PipelineError."""
    from pyspark.sql import functions as f

    in_order = [one for one in every if not one.target and _is_stored_by(catalog.tables[one.table], one.columns)]
    tasks = [_source(catalog.tables[one.table], one.columns) for one in in_order]
    results = run_tasks(spark, ascends, tasks, what="verify keys in stored order") if tasks else []
    found: dict[Constraint, tuple[int, list[str]]] = {
        one: (0, []) for one, result in zip(in_order, results, strict=True) if result["ascends"]
    }
    left = [one for one in every if one not in found]
    counted: list[DataFrame] = []
    for i, one in enumerate(left):
        rows, types = _against(spark, catalog, one)
        shown = [
            f.base64(name) if pa.types.is_binary(type) else f.col(name).cast("string")
            for name, type in zip(rows.columns, types, strict=True)
        ]
        first = f.min(f.array(*shown)).alias("first")
        counted.append(rows.agg(f.lit(i).alias("which"), f.count(f.lit(1)).alias("rows"), first))
    what = f"verify {len(left)} keys of {', '.join(dict.fromkeys(one.table for one in left))}"
    for row in collect(spark, reduce(lambda a, b: a.union(b), counted), what, say) if counted else []:
        one = left[row["which"]]
        _, types = _sides(catalog, one)
        found[one] = (row["rows"], [_shown(value, type) for value, type in zip(row["first"] or [], types, strict=False)])
    return found


def _against(spark: SparkSession, catalog: Catalog, one: Constraint) -> tuple[DataFrame, list[pa.DataType]]:
    """The values of a key that several rows have, or the rows without NULL in a foreign key that refer to no row; and their
    types."""
    from pyspark.sql import functions as f

    sides, types = _sides(catalog, one)
    rows, *others = [_rows(spark, table, names, types) for table, names in sides]
    if others:
        return rows.na.drop().join(others[0], rows.columns, "left_anti"), types
    return rows.groupBy(*rows.columns).agg(f.count(f.lit(1)).alias("count")).where("count > 1").drop("count"), types


def _sides(catalog: Catalog, one: Constraint) -> tuple[list[tuple[Table, Sequence[str]]], list[pa.DataType]]:
    """The table, and the one that it refers to, each with its columns; and the types that hold the values of both."""
    sides = [(catalog.tables[one.table], one.columns)]
    if one.target:
        sides.append((catalog.tables[one.target], one.referenced))
    found = [[table.schema.field(name).type for name in names] for table, names in sides]
    return [*sides], [reduce(common_type, types) for types in zip(*found, strict=True)]


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


def _rows(spark: SparkSession, table: Table, names: Sequence[str], types: Sequence[pa.DataType]) -> DataFrame:
    """The named columns of all rows, as `types`, called k0, k1, …; read by tasks, as queries read them."""
    from pyspark.sql import functions as f

    shares = 1 if table.format == "parquet" else 1 + table.stats.rows // (len(table.files) * _ROWS)
    source = _source(table, names)
    parts = [(str(file), groups, share, shares) for file, groups in parts_of(table) for share in range(shares)]
    wanted = [_SQL.get(str(_passed(pa.array([], type)).type), str(type).replace("128", "")) for type in types]

    def read(ids: pa.Array) -> pa.Array:
        return pa.concat_arrays([_part(source, types, *parts[i]) for i in ids.to_pylist()])

    read.__annotations__ = {"ids": pa.Array, "return": pa.Array}
    struct = ", ".join(f"k{i}: {name}" for i, name in enumerate(wanted))
    rows = f.arrow_udf(read, f"array<struct<{struct}>>").asNondeterministic()
    return spark.range(0, len(parts), 1, len(parts)).select(f.explode(rows("id")).alias("row")).select("row.*")


_SQL = {"int64": "bigint", "string": "string", "binary": "binary"}


def _part(
    source: Mapping[str, Any], types: Sequence[pa.DataType], file: str, groups: Sequence[int] | None, share: int, shares: int
) -> pa.Array:
    """One list of the rows of a part of a file, those of one of `shares` shares by their hash."""
    fragment = next(iter(open_source(_table({**source, "files": [file]})).get_fragments()))
    fragment = fragment if groups is None else fragment.subset(row_group_ids=groups)
    table = _table(source)
    found = []
    for batch in fragment.to_batches(schema=table.schema, columns=source["columns"]):
        columns = [_passed(normalized(column.cast(type))) for column, type in zip(batch.columns, types, strict=True)]
        rows = pa.StructArray.from_arrays(columns, [f"k{i}" for i in range(len(columns))])
        found.append(rows if shares == 1 else rows.filter(pa.array(hashes(*columns) % np.uint64(shares) == np.uint64(share))))
    empty = pa.StructArray.from_arrays([_passed(pa.array([], type)) for type in types], [f"k{i}" for i in range(len(types))])
    rows = pa.concat_arrays([empty, *found])
    return pa.ListArray.from_arrays(pa.array([0, len(rows)], pa.int32()), rows)


def _passed(values: pa.Array) -> pa.Array:
    """Values as Spark gets them: numbers that are equal where the values are; decimals, texts and bytes as they are."""
    t, type = pa.types, values.type
    if t.is_floating(type):
        return values.cast(pa.float64()).view(pa.int64())
    if t.is_date32(type):
        return values.view(pa.int32()).cast(pa.int64())
    if t.is_timestamp(type):
        return values.view(pa.int64())
    return values.cast(pa.int64()) if t.is_integer(type) or t.is_boolean(type) else values


def _shown(value: str | None, type: pa.DataType) -> str:
    """The text of a value that Spark made a text of what was `_passed`."""
    t = pa.types
    if value is None:
        return "NULL"
    if t.is_decimal(type) or t.is_string(type) or t.is_binary(type):
        return value
    number = pa.array([int(value)])
    if t.is_floating(type):
        number = number.view(pa.float64())
    elif t.is_timestamp(type):
        number = number.view(type)
    else:
        number = number.cast(pa.int32()).view(type) if t.is_date32(type) else number.cast(type)
    return text(number[0].as_py())


def _is_stored_by(table: Table, columns: Sequence[str]) -> bool:
    return set(table.order[: len(columns)]) == set(columns)


def ascends(task: Mapping[str, Any]) -> dict[str, Any]:
    """Whether the rows are stored in order of the key, no two of them equal in it. Raises CatalogError."""
    table = _table(task)
    try:
        return {"ascends": rows_ascend(table, task["order"], strictly=True)}
    except (pa.ArrowException, OSError) as error:
        raise CatalogError(f"cannot read the files in {table.files[0].parent}: {str(error).splitlines()[0]}") from error


def _source(table: Table, names: Sequence[str]) -> dict[str, Any]:
    """What a worker has to know of a table to read some columns of it."""
    return {
        "table": table.name,
        "files": [str(file.absolute()) for file in table.files],
        "format": table.format,
        "schema": base64.b64encode(table.schema.serialize()).decode("ascii"),
        "columns": list(names),
        "order": list(table.order[: len(names)]),
    }


def _table(source: Mapping[str, Any]) -> Table:
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(source["schema"])))
    columns = tuple(TableColumn(field.name, field.type) for field in schema)
    return Table(source["table"], columns, files=tuple(map(Path, source["files"])), format=source["format"])


def _complaint(one: Constraint, rows: int, example: Sequence[str]) -> str:
    """ "" where nothing is against it."""
    if not rows:
        return ""
    columns, values = ", ".join(one.columns), ", ".join(example)
    if not one.target:
        return f"{one.table} ({columns}) is declared as a key, but {rows:,} values occur more than once, as ({values}) does"
    target = f"{one.target} ({', '.join(one.referenced)})"
    return f"{one.table} ({columns}) is declared to reference {target}, but {rows:,} rows refer to none, as ({values}) does"
