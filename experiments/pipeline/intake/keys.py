"""Rows that break a declared key or foreign key, found by Spark over the raw parts, and taken out of them.

A row is known by its part and its place in it. Of several rows with one key the first in the order of the files stays, and all
others are removed; a row with NULL in a UNIQUE key or a foreign key breaks neither. Later checks pass over what was removed.
"""

import shutil
from collections.abc import Mapping, Sequence

import pyarrow.dataset as ds
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from experiments.pipeline.intake.declared import Declared, reference_text
from experiments.pipeline.intake.raw import RawTable
from experiments.pipeline.spark.errors import translated
from experiments.pipeline.spark.keys import dangling, none_breaks, repeated, with_values
from experiments.pipeline.spark.paths import reader, to_read
from experiments.pipeline.spark.session import SMALL, Say
from optimizer.errors import many


def check_constraints(
    tables: Mapping[str, Declared], raw: Mapping[str, RawTable], reject_dangling: bool, say: Say
) -> dict[str, dict[str, str]]:
    """Removes the rows that break keys. By table and foreign key (`reference_text`), what is said of rows that still break it.
    Keys come first. Then foreign keys: rows that refer to no row are counted or, if so wished, removed; since other rows may
    have referred to those, that goes on until no foreign key loses a row."""
    for read in raw.values():  # an interrupted run may have begun
        shutil.rmtree(read.removed, ignore_errors=True)
    for name, table in tables.items():
        for key in filter(None, (table.primary_key, *table.unique)):
            say(f"{name}: checking key ({', '.join(key)})")
            with translated(f"checking key ({', '.join(key)}) of {name}"):
                if (rows := duplicates(raw[name], key)) is not None:
                    raw[name].remove(rows, "a row before it has the same key", key)
    lost, found = True, dict[str, dict[str, str]]()
    while lost:
        lost, found = False, {name: {} for name in tables}
        for name, table in tables.items():
            for one in table.foreign_keys:
                say(f"{name}: checking foreign key {reference_text(one)}")
                with translated(f"checking that {name} ({', '.join(one.columns)}) refers to rows of {one.table}"):
                    rows = orphans(raw[name], one.columns, raw[one.table], one.referenced)
                    if rows is not None and reject_dangling:
                        lost |= raw[name].remove(rows, f"refers to no row of {one.table}", one.columns) > 0
                    elif rows is not None and (told := _told(raw[name], rows)):
                        found[name][reference_text(one)] = told
    return found


def duplicates(table: RawTable, key: Sequence[str]) -> DataFrame | None:
    """All rows but the first of each key, by `part` and `place`; None where there are none for sure."""
    if _is_kept((table, key)):
        return None
    rows, names = _rows(table, key), _key_names(key)
    first = F.min(F.struct("part", "place")).alias("first")
    return rows.join(repeated(rows, names, first), names).where("struct(part, place) <> first")


def orphans(child: RawTable, columns: Sequence[str], parent: RawTable, referenced: Sequence[str]) -> DataFrame | None:
    """The rows of `child` that refer to no row of `parent`, by `part` and `place`; None where there are none for sure."""
    if _is_kept((child, columns), (parent, referenced)):
        return None
    return dangling(_rows(child, columns), _key_names(columns), _rows(parent, referenced).select(*_key_names(referenced)))


def _told(table: RawTable, rows: DataFrame) -> str:
    """How many rows these are, and where the first one is; "" without any."""
    count, first = rows.agg(F.count(F.lit(1)), F.min(F.struct("part", "place"))).collect()[0]
    return f"{many(count, 'row')} without a row to refer to, first {table.row(*first)}" if count else ""


def _is_kept(*sides: tuple[RawTable, Sequence[str]]) -> bool:
    """Whether a key, or a foreign key of the first side to the second, holds as this process sees sooner than Spark would: where
    the parts are small. False proves nothing."""
    small = sum(path.stat().st_size for table, _ in sides for path in table.paths) <= SMALL
    if not small or any(table.removed.exists() for table, _ in sides):
        return False
    good = ds.field("reason").is_null()
    found = [ds.dataset(list(map(str, table.paths))).to_table(table.places(key), filter=good) for table, key in sides]
    return none_breaks(found[0].drop_null(), *found[1:])


def _key_names(key: Sequence[str]) -> list[str]:
    """One set of names for the key columns of two tables."""
    return [f"k{i}" for i in range(len(key))]


def _rows(table: RawTable, key: Sequence[str]) -> DataFrame:
    """`part`, `place` and the key columns of the rows that are good, still there, and have no NULL in these."""
    stored = table.stored  # first: without a session PySpark makes no columns
    place = F.col("_metadata.row_index").alias("place")
    part = F.regexp_extract("_metadata.file_name", r"(\d+)\.parquet$", 1).cast("int").alias("part")
    columns = [F.col(column).alias(k) for column, k in zip(table.places(key), _key_names(key), strict=True)]
    rows = with_values(stored.where("reason IS NULL").select(part, place, *columns), _key_names(key))
    if table.removed.exists():
        gone = reader(table.spark).schema("part int, place long").parquet(to_read(table.removed))
        rows = rows.join(gone, ["part", "place"], "left_anti")
    return rows
