"""Rows as their table is to have them, or with the reason why not; written by Spark in parts, a Spark partition each.

FOLDER/part-00000.parquet   good rows, in the order of the files and of their rows
FOLDER/rejects/*.parquet    the others: reason, column, value, record, file, row
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from experiments.pipeline.intake.frames import NULL, PLACE_BITS, Opened, batches, damaged_file, known_type, union
from experiments.pipeline.intake.prepare import damaged
from experiments.pipeline.intake.values import converted, is_bytes, literal, possible, quoted, trimmed, type_of
from experiments.pipeline.spark.paths import reader, to_read, to_write
from experiments.pipeline.spark.session import Say
from experiments.pipeline.spark.tasks import parallelism
from optimizer.algebra.columns import DataType
from optimizer.algebra.types import type_name
from optimizer.catalog.declarations import ColumnDeclaration

_NOT_TEXT = "bytes that are no text in this encoding"
_MISSING = "NULL, which is forbidden here"
_SAMPLE = 1000
_LONGEST = 80


def inferred(tables: Mapping[str, tuple[Sequence[Opened], Sequence[str]]]) -> dict[str, dict[str, DataType]]:
    """By table, the type that all texts of each of its columns have, among those that are known to be possible.

    Looks at every value, of all tables in one query.
    """
    columns = [(table, name) for table, (_, names) in tables.items() for name in names]
    known = [known_type(tables[table][0], name) for table, name in columns]
    among, masks = {i: bits for i, bits in enumerate(known) if isinstance(bits, int)}, dict[int, int]()
    for most in (_SAMPLE, None):  # the first rows of JSON rule out most: whatever is no time
        frames = []
        for table, (files, _) in tables.items():
            asked = [i for i, column in enumerate(columns) if column[0] == table and i in among and masks.get(i, -1) & among[i]]
            if asked and (most is None or files[0].open):
                # a row for each value, so that Spark compiles one expression for all columns
                values = ", ".join(f"{i}, v{place}" for place, i in enumerate(asked))
                for file in files if most is None else files[:1]:
                    frame = (file.texts or file.aligned)([columns[i][1] for i in asked]).where("_broken IS NULL")
                    frame = frame if most is None else frame.limit(most)
                    frames.append(frame.selectExpr(f"stack({len(asked)}, {values}) AS (i, text)"))
        for some in batches(frames):
            rows = union(some).selectExpr("i", f"{trimmed('text')} AS text")
            for row in rows.groupBy("i").agg(F.expr(f"bit_and({possible('text')})").alias("mask")).collect():
                if row["mask"] is not None:
                    masks[row["i"]] = masks.get(row["i"], -1) & row["mask"]
    found: dict[str, dict[str, DataType]] = {table: {} for table in tables}
    for i, (table, name) in enumerate(columns):
        found[table][name] = type_of(masks.get(i), among[i]) if i in among else known[i]
    return found


def checked(file: Opened, targets: Sequence[ColumnDeclaration]) -> DataFrame:
    """`c0`, `c1` …: the targets' values of all rows; `reason`, NULL for good rows, `column`, `value`, `record`; `file`."""
    stored = [file.types.get(target.name) for target in targets]
    both = list(enumerate(zip(targets, stored, strict=True)))
    values = [f"{converted(f'v{i}', type, target.type)} AS c{i}" for i, (target, type) in both]
    frame = file.aligned([target.name for target in targets]).selectExpr("*", *values)
    faults = [f"WHEN _broken IS NOT NULL THEN struct(_broken AS reason, {NULL} AS column, {NULL} AS value)"]
    record = []
    for i, (target, type) in both:
        shown = f"lower(hex(v{i}))" if type is not None and is_bytes(type) else f"CAST(v{i} AS string)"
        record.append(f"{shown} AS {quoted(target.name)}")
        conditions = [(f"v{i} IS NOT NULL AND c{i} IS NULL", f"not a {type_name(target.type)}")]
        if file.marked and type is None:
            conditions.insert(0, (f"contains(v{i}, '\ufffd')", _NOT_TEXT))
        if target.not_null:
            conditions.append((f"c{i} IS NULL", _MISSING))
        for condition, reason in conditions:
            told = f"{literal(reason)} AS reason, {literal(target.name)} AS column, {shown} AS value"
            faults.append(f"WHEN {condition} THEN struct({told})")
    line = f"coalesce(_line, to_json(struct({', '.join(record)}), map('ignoreNullFields', 'false')))"
    return frame.selectExpr("*", f"CASE {' '.join(faults)} END AS fault").selectExpr(
        *(f"c{i}" for i in range(len(targets))),
        "fault.reason",
        "fault.column",
        "fault.value",
        f"CASE WHEN fault IS NOT NULL THEN {line} END AS record",
        f"{literal(file.label)} AS file",
    )


class TableWriter:
    """Writes one table to `folder`; what was written of it before is written anew."""

    def __init__(
        self, spark: SparkSession, name: str, files: Sequence[Opened], targets: Sequence[ColumnDeclaration], folder: Path
    ) -> None:
        self.spark, self.name, self.targets, self.folder = spark, name, targets, folder
        self.files, self.batches = files, batches(files)
        self.numbered = all(file.numbered for file in files)
        # a large file is for all cores, many small ones are for one each; kept for later, since ids follow from it
        self.splits = max(1, 2 * parallelism(spark) // max(1, len(files)))

    def write(self, say: Say) -> dict[str, Any]:
        """{"read", "rejected", "parts", "splits"}; raises what Spark raises.

        `rejected`: [{"reason", "column", "rows", "value", "file", "row"}]; `parts`: [{"batch", "partition", "rows"}].
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        read, parts = 0, list[dict[str, Any]]()
        for number in range(len(self.batches)):
            rows, bad, made = self._write_batch(number, len(parts))
            read += rows
            parts += made
            if bad:
                self._write_rejects(number)
            done = sum(map(len, self.batches[: number + 1]))
            say(f"{self.name}: {done} of {len(self.files)} files, {read:,} rows read")
        if not parts:
            columns = [pa.field(one.name, one.type, nullable=not one.not_null) for one in self.targets]
            pq.write_table(pa.schema(columns).empty_table(), self.part(0))
            parts.append({"batch": 0, "partition": 0, "rows": 0})
        return {"read": read, "rejected": self._rejected(), "parts": parts, "splits": self.splits}

    def part(self, number: int) -> Path:
        return self.folder / f"part-{number:05d}.parquet"

    @property
    def rejects(self) -> Path:
        return self.folder / "rejects"

    def _frame(self, batch: int) -> DataFrame:
        """To be run before the next one is made: how files are split is a setting of the session."""
        self.spark.conf.set("spark.sql.files.minPartitionNum", str(self.splits))
        return union([checked(file, self.targets) for file in self.batches[batch]]).withColumn(
            "id", F.monotonically_increasing_id()
        )

    def _write_batch(self, batch: int, after: int) -> tuple[int, int, list[dict[str, Any]]]:
        """Rows read and rejected, and the parts written, which are numbered from `after` on."""
        seen = Observation()
        frame = self._frame(batch).observe(seen, F.count(F.lit(1)).alias("read"), F.count("reason").alias("bad"))
        columns = [f"c{i} AS {quoted(target.name)}" for i, target in enumerate(self.targets)]
        written = self.folder / f"batch-{batch}"
        good = frame.where("reason IS NULL").selectExpr(*columns)
        good.write.mode("overwrite").option("compression", "zstd").parquet(to_write(written))
        parts: list[dict[str, Any]] = []
        for path in sorted(written.glob("part-*.parquet")):
            rows = pq.read_metadata(path).num_rows
            if rows or path.name.startswith("part-00000"):
                os.replace(path, self.part(after + len(parts)))
                parts.append({"batch": batch, "partition": int(path.name[5:10]), "rows": rows})
        shutil.rmtree(written)
        return int(seen.get["read"]), int(seen.get["bad"]), parts

    def starts(self, batch: int) -> dict[int, tuple[str, int | None, int]]:
        """By partition: its file, how many rows of that come before it (None: rows have no numbers), how many it has."""
        partition = F.shiftright("id", PLACE_BITS).alias("partition")
        counted = self._frame(batch).groupBy("file", partition).count().orderBy("partition").collect()
        before: dict[str, int] = {}
        found: dict[int, tuple[str, int | None, int]] = {}
        for row in counted:
            found[row["partition"]] = (row["file"], before.get(row["file"], 0) if self.numbered else None, row["count"])
            before[row["file"]] = before.get(row["file"], 0) + row["count"]
        return found

    def _write_rejects(self, batch: int) -> None:
        starts = [(partition, before) for partition, (_, before, _) in self.starts(batch).items()]
        known = self.spark.createDataFrame(starts, "partition long, before long")
        bad = self._frame(batch).where("reason is not null").withColumn("partition", F.shiftright("id", PLACE_BITS))
        row = F.col("before") + 1 + F.col("id").bitwiseAND((1 << PLACE_BITS) - 1)
        told = ("reason", "column", "value", "record", "file", row.alias("row"))
        numbered = bad.join(F.broadcast(known), "partition").select(*told)
        numbered.write.mode("append").option("compression", "zstd").parquet(to_write(self.rejects))

    def _rejected(self) -> list[dict[str, Any]]:
        """An entry for each reason and column, with the first such row."""
        if not self.rejects.exists():
            return []
        first = F.min(F.struct("file", "row", F.substring(F.coalesce("value", "record"), 1, _LONGEST).alias("value")))
        found = reader(self.spark).parquet(to_read(self.rejects)).groupBy("reason", "column")
        rows = [row.asDict() for row in found.agg(F.count(F.lit(1)).alias("rows"), first.alias("first")).collect()]
        entries = [{**row.pop("first").asDict(), **row} for row in rows]
        return sorted(entries, key=lambda one: (one["file"], one["row"] or 0, one["column"] or ""))


def without_damaged(files: dict[str, Any], format: str, aside: dict[str, str], job: Callable[[dict[str, Any]], Any]) -> Any:
    """`job` of the files, again without each one that Spark finds damaged, which goes to `aside` with the reason; {} of none."""
    while True:
        try:
            return job(files) if files else {}
        except Exception as error:
            label = damaged_file(error, list(files))
            if label is None:
                raise
            aside[label] = str(damaged(label, format, error))
            files = {other: file for other, file in files.items() if other != label}
