"""Rows that break a declared key or foreign key, found by Spark over the raw parts, and taken out of them.

A row is known by its part and its place in it. Of several rows with one key the first in the order of the files stays, and all
others are removed; a row with NULL in a UNIQUE key or a foreign key breaks neither. What a check removes is written to a folder
of its own, and later checks pass it over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from executor.atomic import atomic_output, make_folder
from experiments.pipeline.intake.declared import Declared, reference_text
from experiments.pipeline.intake.frames import SMALL
from experiments.pipeline.intake.values import quoted
from experiments.pipeline.spark.errors import translated
from experiments.pipeline.spark.keys import dangling, repeated, with_values
from experiments.pipeline.spark.paths import reader, to_read, to_write
from experiments.pipeline.spark.session import Say

REJECT_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("reason", "column", "value", "record", "file")] + [("row", pa.int64())]
)
_GROUP_ROWS = 122_880


@dataclass(slots=True)
class RawTable:
    """`parts`: raw part files, part-NUMBER.parquet; `removed`: folders of places that checks removed. `stored`: the parts, once
    Spark has looked at them."""

    name: str
    parts: tuple[Path, ...]
    removed: list[Path] = field(default_factory=list)
    stored: DataFrame | None = None


def check_constraints(
    spark: SparkSession,
    tables: Mapping[str, Declared],
    raw: Mapping[str, RawTable],
    folder: Path,
    reject_dangling: bool,
    say: Say,
) -> dict[str, dict[str, Any]]:
    """By table: {"removed": [{"folder", "reason", "column", "rows"}], "dangling": [{"key", "rows", "first"}]}.

    Keys come first. Then foreign keys: rows that refer to no row are counted or, if so wished, removed; since other rows may
    have referred to those, that goes on until no foreign key loses a row. What is found goes into new folders in `folder`.
    `removed` in the order of the checks; `column`: names joined by NUL; `first`: (part, place) of the first dangling row.
    """
    found: dict[str, dict[str, Any]] = {name: {"removed": [], "dangling": []} for name in tables}
    targets = (folder / str(number) for number in count())

    def remove(name: str, target: Path, reason: str, columns: Sequence[str], rows: int) -> None:
        raw[name].removed.append(target)
        found[name]["removed"].append({"folder": str(target), "reason": reason, "column": "\0".join(columns), "rows": rows})

    for name, table in tables.items():
        for key in filter(None, (table.primary_key, *table.unique)):
            say(f"{name}: checking key ({', '.join(key)})")
            if rows := write_duplicates(spark, raw[name], key, target := next(targets)):
                remove(name, target, "a row before it has the same key", key, rows)
    lost = True
    while lost:
        lost = False
        for name, table in tables.items():
            for one in table.foreign_keys:
                say(f"{name}: checking foreign key {reference_text(one)}")
                target = next(targets)
                rows = write_dangling(spark, raw[name], one.columns, raw[one.table], one.referenced, target)
                if rows and reject_dangling:
                    lost = True
                    remove(name, target, f"refers to no row of {one.table}", one.columns, rows)
                elif rows:
                    first = removed_rows(target).sort_by([("part", "ascending"), ("place", "ascending")])[:1].to_pylist()[0]
                    place = (first["part"], first["place"])
                    found[name]["dangling"].append({"key": reference_text(one), "rows": rows, "first": place})
    return found


def write_duplicates(spark: SparkSession, table: RawTable, key: Sequence[str], folder: Path) -> int:
    """Writes the places of all rows but the first of each key into `folder`. How many they are."""
    if _is_kept((table, key)):
        return 0
    with translated(f"checking key ({', '.join(key)}) of {table.name}"):
        rows, names = _rows(spark, table, key), _key_names(key)
        first = F.min(F.struct("part", "place")).alias("first")
        return _write(rows.join(repeated(rows, names, first), names).where("struct(part, place) <> first"), folder)


def write_dangling(
    spark: SparkSession, child: RawTable, columns: Sequence[str], parent: RawTable, referenced: Sequence[str], folder: Path
) -> int:
    """Writes the places of the rows of `child` that refer to no row of `parent` into `folder`. How many they are."""
    if _is_kept((child, columns), (parent, referenced)):
        return 0
    with translated(f"checking that {child.name} ({', '.join(columns)}) refers to rows of {parent.name}"):
        rows, others = _rows(spark, child, columns), _rows(spark, parent, referenced).select(*_key_names(referenced))
        return _write(dangling(rows, _key_names(columns), others), folder)


def _is_kept(*sides: tuple[RawTable, Sequence[str]]) -> bool:
    """Whether a key, or a foreign key of the first side to the second, holds as this process sees sooner than Spark would: where
    the parts are small, and their values equal only if they are the same. False proves nothing."""
    if any(table.removed for table, _ in sides) or sum(f.stat().st_size for table, _ in sides for f in table.parts) > SMALL:
        return False
    found = [ds.dataset(list(map(str, table.parts))).to_table(list(key)).rename_columns(_key_names(key)) for table, key in sides]
    if found[0].schema.types != found[-1].schema.types or not all(map(_is_plain, found[0].schema.types)):
        return False
    rows = found[0].drop_null()
    if len(sides) == 1:
        return bool(rows.group_by(rows.column_names).aggregate([]).num_rows == rows.num_rows)
    return bool(rows.join(found[1], rows.column_names, join_type="left anti").num_rows == 0)


def _is_plain(type: pa.DataType) -> bool:
    return any(test(type) for test in (pa.types.is_integer, pa.types.is_string, pa.types.is_date, pa.types.is_timestamp))


def removed_rows(folder: Path) -> pa.Table:
    """`part` and `place` of the rows in a folder written here."""
    return ds.dataset(folder, format="parquet").to_table(columns=["part", "place"])


def places(folder: Path, part: int) -> np.ndarray:
    """The places of one part in a folder written here, ascending."""
    return np.sort(ds.dataset(folder, format="parquet").to_table(["place"], filter=ds.field("part") == part)["place"].to_numpy())


def _key_names(key: Sequence[str]) -> list[str]:
    """Names of our own for key columns: those of the table may be anything."""
    return [f"k{i}" for i in range(len(key))]


def _rows(spark: SparkSession, table: RawTable, key: Sequence[str]) -> DataFrame:
    """`part`, `place` and the key columns of all rows of the table in which none of these is NULL and that are still there."""
    place = F.col("_metadata.row_index").alias("place")
    part = F.regexp_extract("_metadata.file_name", r"(\d+)\.parquet$", 1).cast("int").alias("part")
    columns = [F.col(quoted(name)).alias(k) for name, k in zip(key, _key_names(key), strict=True)]
    if table.stored is None:
        table.stored = reader(spark).parquet(*map(to_read, table.parts))
    rows = with_values(table.stored.select(part, place, *columns), _key_names(key))
    for folder in table.removed:
        gone = reader(spark).schema("part int, place long").parquet(to_read(folder))
        rows = rows.join(gone, ["part", "place"], "left_anti")
    return rows


def _write(rows: DataFrame, folder: Path) -> int:
    rows.select("part", "place").write.mode("overwrite").parquet(to_write(folder))
    return sum(pq.read_metadata(file).num_rows for file in folder.glob("*.parquet"))


def finish(task: dict[str, Any]) -> dict[str, Any]:
    """A raw part into its final one, without the rows that checks removed: a task, which may be repeated.

    in   {"raw", "part", "rejects", "earlier", "number", "file", "before", "count", "removed": [{"folder", "reason", "column"}]}
    out  {"rows", "rejected": as in `checked`}

    `earlier`: where the rows that were rejected before are; `before`: how many rows of `file` come before those of the part, and
    `count` how many it had with the rejected ones, from which their numbers follow; null where rows have none.
    """
    table = pq.read_table(task["raw"], page_checksum_verification=True)
    numbers = row_numbers(table.num_rows, task["file"], task["before"], task["count"], Path(task["earlier"]))
    keep = np.ones(table.num_rows, bool)
    rejects: list[dict[str, Any]] = []
    counts = []
    for one in task["removed"]:
        gone = places(Path(one["folder"]), task["number"])
        gone = gone[keep[gone]]
        keep[gone] = False
        names = one["column"].split("\0")
        told = {"reason": one["reason"], "column": ", ".join(names), "file": task["file"]}
        for place, record in zip(gone.tolist(), table.take(pa.array(gone)).to_pylist(), strict=True):
            value = ", ".join(str(_shown(record[name])) for name in names)
            text = json.dumps(record, ensure_ascii=False, default=_shown)
            row = None if numbers is None else int(numbers[place])
            rejects.append({**told, "value": value, "record": text, "row": row})
        if len(gone):
            counts.append({**rejects[-len(gone)], "value": rejects[-len(gone)]["value"][:80], "rows": len(gone)})
    _write_rows(pa.Table.from_pylist(rejects, REJECT_SCHEMA), Path(task["rejects"]))
    _write_rows(table.filter(pa.array(keep)), Path(task["part"]))
    return {"rows": int(keep.sum()), "rejected": counts}


def row_numbers(rows: int, file: str, before: int | None, count: int, rejects: Path) -> np.ndarray | None:
    """The numbers, in the file they came from, of the rows of a raw part, which rejected ones are missing from."""
    if before is None:
        return None
    numbers = np.arange(before + 1, before + count + 1)
    if rejects.exists():
        gone = ds.dataset(rejects).to_table(columns=["row"], filter=ds.field("file") == file)["row"].to_numpy()
        numbers = numbers[~np.isin(numbers, gone)]
    return numbers[:rows]


def _write_rows(table: pa.Table, path: Path) -> None:
    make_folder(path.parent)
    with atomic_output(path) as file:
        pq.write_table(table, file, row_group_size=_GROUP_ROWS, compression="zstd", write_page_checksum=True)


def _shown(value: Any) -> str | None:
    return value if isinstance(value, str) or value is None else value.hex() if isinstance(value, bytes) else str(value)
