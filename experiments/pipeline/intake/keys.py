"""Rows that break a declared key or foreign key, found by Spark over the raw parts.

A row is known by its part and its place in it. Of several rows with one key the first in the order of the files stays, and all
others are removed; a row with NULL in a UNIQUE key or a foreign key breaks neither. What a check removes is written to a folder
of its own, and later checks pass it over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from experiments.pipeline.spark.errors import translated
from experiments.pipeline.spark.keys import dangling, repeated, with_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SORTED = [("part", "ascending"), ("place", "ascending")]


@dataclass(slots=True)
class RawTable:
    """`parts`: raw part files, part-NUMBER.parquet; `removed`: folders of places that checks removed."""

    name: str
    parts: tuple[Path, ...]
    removed: list[Path] = field(default_factory=list)


def write_duplicates(spark: SparkSession, table: RawTable, key: Sequence[str], folder: Path) -> int:
    """Writes the places of all rows but the first of each key into `folder`. How many they are."""
    from pyspark.sql import functions as F

    with translated(f"checking key ({', '.join(key)}) of {table.name}"):
        rows = _rows(spark, table, key)
        names = _key_names(key)
        first = F.min(F.struct("part", "place")).alias("first")
        later = rows.join(repeated(rows, names, first), names).where("struct(part, place) <> first").select("part", "place")
        return _write(later, folder)


def write_dangling(
    spark: SparkSession, child: RawTable, columns: Sequence[str], parent: RawTable, referenced: Sequence[str], folder: Path
) -> int:
    """Writes the places of the rows of `child` that refer to no row of `parent` into `folder`. How many they are."""
    with translated(f"checking that {child.name} ({', '.join(columns)}) refers to rows of {parent.name}"):
        rows, others = _rows(spark, child, columns), _rows(spark, parent, referenced).select(*_key_names(referenced))
        return _write(dangling(rows, _key_names(columns), others).select("part", "place"), folder)


def places(folder: Path, part: int) -> np.ndarray:
    """The places of one part in a folder written here, ascending."""
    found = [
        pq.read_table(file, filters=[("part", "=", part)]).column("place").to_numpy() for file in sorted(folder.glob("*.parquet"))
    ]
    return np.sort(np.concatenate(found)) if found else np.array([], np.int64)


def parts_with_places(folder: Path) -> set[int]:
    """The parts that a folder written here has places of."""
    return {
        part for file in folder.glob("*.parquet") for part in pq.read_table(file, columns=["part"])["part"].unique().to_pylist()
    }


def first_place(folder: Path) -> tuple[int, int]:
    """The first (part, place) of a folder written here, which has one."""
    tables = [pq.read_table(file).sort_by(_SORTED)[:1] for file in sorted(folder.glob("*.parquet"))]
    return min((row["part"], row["place"]) for table in tables for row in table.to_pylist())


def _key_names(key: Sequence[str]) -> list[str]:
    """Names of our own for key columns: those of the table may be anything."""
    return [f"k{i}" for i in range(len(key))]


def _rows(spark: SparkSession, table: RawTable, key: Sequence[str]) -> DataFrame:
    """`part`, `place` and the key columns of all rows of the table in which none of these is NULL and that are still there."""
    from pyspark.sql import functions as F

    reader = spark.read.option("__globPaths__", "false")  # a path is a path, even with brackets in it
    stored = reader.parquet(*(f"file:{path}" for path in table.parts))
    place = F.col("_metadata.row_index").alias("place")
    part = F.regexp_extract("_metadata.file_name", r"(\d+)\.parquet$", 1).cast("int").alias("part")
    columns = [F.col("`" + name.replace("`", "``") + "`").alias(k) for name, k in zip(key, _key_names(key), strict=True)]
    rows = with_values(stored.select(part, place, *columns), _key_names(key))
    for folder in table.removed:
        rows = rows.join(reader.parquet(f"file:{folder}"), ["part", "place"], "left_anti")
    return rows


def _write(rows: DataFrame, folder: Path) -> int:
    rows.write.mode("overwrite").parquet(f"file:{folder}")
    return sum(pq.read_metadata(file).num_rows for file in folder.glob("*.parquet"))
