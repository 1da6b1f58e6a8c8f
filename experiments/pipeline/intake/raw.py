"""One table on its way from opened files to the dataset.

FOLDER/part-00000.parquet   all rows, a part for each Spark partition, in the order of the files and of their rows: `c0`, `c1` …,
                            the values; `reason`, NULL for good rows, `column`, `value`, `record`; of files that Spark read
                            also `file` and `start`, where the row is from
FOLDER/removed/*.parquet    good rows that break keys: part, place, reason, column (names joined by NUL)

A row is known by its part and its place in it. At the end each part is read once more, and its good rows go into the dataset.
"""

import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from executor.atomic import atomic_output, make_folder
from experiments.pipeline.intake.opened import OPEN_COST, Opened, batches, slots, union
from experiments.pipeline.intake.values import NO_TEXT, converted, literal, quoted
from experiments.pipeline.spark.paths import reader, to_read, to_write
from experiments.pipeline.spark.session import SMALL, Say, Start, configured
from experiments.pipeline.spark.tasks import run_tasks
from optimizer.algebra.types import type_name
from optimizer.catalog.declarations import ColumnDeclaration

Facts = dict[str, Any]
_LONGEST = 80  # characters of a rejected value that is told
_GROUP_ROWS = 122_880
_TOLD = pa.schema([(name, pa.string()) for name in ("reason", "column", "value", "record")])
_REJECTS = _TOLD.append(pa.field("file", pa.string())).append(pa.field("row", pa.int64()))


def checked(files: Opened, targets: Sequence[ColumnDeclaration]) -> DataFrame:
    """`c0`, `c1` …: the targets' values of all rows; `reason`, NULL for good rows, `column`, `value`, `record`; `file`, `start`,
    where they are from. Bytes that are no text are a mark in `value` and `record`."""
    stored = [files.types.get(target.name) for target in targets]
    both = list(enumerate(zip(targets, stored, strict=True)))
    values = [f"{converted(f'v{i}', type, target.type)} AS c{i}" for i, (target, type) in both]
    frame = files.rows([target.name for target in targets]).selectExpr("*", *values)
    faults = [f"WHEN _broken IS NOT NULL THEN struct(_broken AS reason, {literal(None)} AS column, {literal(None)} AS value)"]
    record = []
    for i, (target, type) in both:
        shown = f"lower(hex(v{i}))" if type is not None and pa.types.is_binary(type) else f"CAST(v{i} AS string)"
        record.append(f"{shown} AS {quoted(target.name)}")
        conditions = [(f"v{i} IS NOT NULL AND c{i} IS NULL", f"not a {type_name(target.type)}")]
        if (files.marked and type is None) or (type is not None and pa.types.is_string(type)):
            conditions.insert(0, (f"contains(v{i}, '\ufffd')" if type is None else f"NOT is_valid_utf8(v{i})", NO_TEXT))
        if target.not_null:
            conditions.append((f"c{i} IS NULL", "NULL, which is forbidden here"))
        for condition, reason in conditions:
            told = f"{literal(reason)} AS reason, {literal(target.name)} AS column, {shown} AS value"
            faults.append(f"WHEN {condition} THEN struct({told})")
    line = f"coalesce(_line, to_json(struct({', '.join(record)}), map('ignoreNullFields', 'false')))"
    return frame.selectExpr("*", f"CASE {' '.join(faults)} END AS fault").selectExpr(
        *(f"c{i}" for i in range(len(targets))), "fault.reason", "fault.column", "make_valid_utf8(fault.value) AS value",
        f"make_valid_utf8(CASE WHEN fault IS NOT NULL THEN {line} END) AS record", "_file AS file", "_start AS start",
    )  # fmt: skip


class RawTable:
    """A table in `folder`; `files`: for Spark to read, or rows without a fault by file. `parts`, once they are written: {"file",
    "rows"} of each."""

    def __init__(
        self, start: Start, name: str, files: Sequence[Opened] | Mapping[str, pa.Table], columns: Sequence[ColumnDeclaration],
        folder: Path,
    ) -> None:  # fmt: skip
        self.start, self.name, self.files, self.columns, self.folder = start, name, files, columns, folder
        self.numbered = all(file.numbered for file in files if isinstance(file, Opened))
        self.removed = folder / "removed"
        self.parts: list[Facts] = []

    @property
    def spark(self) -> SparkSession:
        return self.start()

    @property
    def paths(self) -> list[Path]:
        return [self.folder / f"part-{number:05d}.parquet" for number in range(len(self.parts))]

    def places(self, names: Sequence[str]) -> list[str]:
        """What columns are called in the parts."""
        known = [column.name for column in self.columns]
        return [f"c{known.index(name)}" for name in names]

    @cached_property
    def stored(self) -> DataFrame:
        """All parts, once they are written."""
        return reader(self.spark).parquet(*map(to_read, self.paths))

    def write(self, say: Say) -> list[Facts]:
        """Writes the parts, anew if they are there, and tells of them. Raises what Spark raises."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if isinstance(self.files, Mapping):
            for file, rows in self.files.items():
                self.parts.append({"file": file, "rows": len(rows)})
                told = [pa.nulls(len(rows), pa.string()) for _ in _TOLD]
                raw = pa.table([*rows.columns, *told], [*self.places(rows.column_names), *_TOLD.names])
                pq.write_table(raw, make_folder(self.folder) / self.paths[-1].name, write_page_checksum=True)
            say(f"{self.name}: {len(self.files)} of {len(self.files)} files, {sum(map(len, self.files.values())):,} rows read")
            return self.parts
        # a large file is for all cores, many small ones are for one each
        count, done, written = sum(len(one.paths) for one in self.files), 0, self.folder / "batch"
        few = {"spark.sql.files.minPartitionNum": str(2 * slots(self.spark) // count), OPEN_COST: str(4 << 20)}
        for files in batches(self.files):
            with configured(self.spark, few if count < 2 * slots(self.spark) else {}):
                rows = union([checked(one, self.columns) for one in files])
                rows.write.mode("overwrite").option("compression", "zstd").parquet(to_write(written))
            labels = {to_write(path): label for one in files for label, path in one.paths.items()}
            order, found = list(labels), list[tuple[int, int, Path]]()
            for path in sorted(written.glob("part-*.parquet")):
                first = next(pq.ParquetFile(path).iter_batches(1, columns=["file", "start"]), pa.table({})).to_pylist()
                if first or not (self.parts or found):
                    found.append((order.index(unquote(first[0]["file"])), first[0]["start"], path) if first else (0, 0, path))
            for place, _, path in sorted(found):
                self.parts.append({"file": labels[order[place]], "rows": pq.read_metadata(path).num_rows})
                os.replace(path, self.paths[-1])
            done += sum(len(one.paths) for one in files)
            say(f"{self.name}: {done} of {count} files, {sum(part['rows'] for part in self.parts):,} rows read")
            shutil.rmtree(written)
        return self.parts

    def row(self, number: int, place: int) -> str:
        """Where a row of a part is from: `row 7 of sales.csv`."""
        file, before = self.parts[number]["file"], self._before[number]
        return f"one from {file}" if before is None else f"row {before + place + 1:,} of {file}"

    @cached_property
    def _before(self) -> list[int | None]:
        """How many rows of its file come before each part; None where rows have no numbers."""
        found, seen = list[int | None](), Counter[str]()
        for part in self.parts:
            found.append(seen[part["file"]] if self.numbered else None)
            seen[part["file"]] += part["rows"]
        return found

    def remove(self, rows: DataFrame, reason: str, columns: Sequence[str]) -> int:
        """Takes good rows, told by part and place, out of the table. How many they are."""
        seen, others = Observation(), self.removed.exists()
        told = rows.select("part", "place", F.lit(reason).alias("reason"), F.lit("\0".join(columns)).alias("column"))
        told.observe(seen, F.count(F.lit(1)).alias("rows")).write.mode("append").parquet(to_write(self.removed))
        if not seen.get["rows"] and not others:
            shutil.rmtree(self.removed)
        return int(seen.get["rows"])

    def finish(self, target: Path, rejects: Path) -> Facts:
        """{"read", "kept", "rejected": [{"reason", "column", "rows", "value", "file", "row"}]} of the table, whose rows are in
        their places then: good ones in a file for each part, the others, where there are any, in `rejects`."""
        names, removed = [column.name for column in self.columns], str(self.removed) if self.removed.exists() else None
        tasks = [
            {
                "raw": str(path),
                "part": i,
                "file": self.parts[i]["file"],
                "before": self._before[i],
                "names": names,
                "removed": removed,
            }
            | {"good": str(target / path.name), "bad": str(rejects / path.name)}
            for i, path in enumerate(self.paths)
        ]
        small = sum(path.stat().st_size for path in self.paths) <= SMALL
        done = list(map(finish_part, tasks)) if small else run_tasks(self.spark, finish_part, tasks, f"finish {self.name}")
        found: dict[tuple[str, str | None], Facts] = {}  # by reason and column, with the first such row
        for one in (one for part in done for one in part["rejected"]):
            known = found.setdefault((one["reason"], one["column"]), {**one, "rows": 0})
            known["rows"] += one["rows"]
        read, bad = sum(part["rows"] for part in self.parts), sum(one["rows"] for one in found.values())
        return {"read": read, "kept": read - bad, "rejected": list(found.values())}


def finish_part(task: Facts) -> Facts:
    """The rows of a raw part in their places: a task, which may be repeated.

    in   {"raw", "part": its number, "file" that it is from, "before": rows of that before it or null, "names" of the columns,
         "removed": folder or null, "good", "bad": files to be written}
    out  {"rejected": as `RawTable.finish` tells of them, maybe several for one reason and column}
    """
    names, entries, start = task["names"], list[Facts](), 0
    removed = pa.table({"part": [], "place": [], "reason": [], "column": []})
    if task["removed"] is not None:
        removed = ds.dataset(task["removed"]).to_table(filter=ds.field("part") == task["part"]).sort_by("place")
    with pq.ParquetFile(task["raw"], page_checksum_verification=True) as raw, ExitStack() as files:
        columns = pa.schema([raw.schema_arrow.field(i).with_name(name) for i, name in enumerate(names)])
        good, bad = _writer(files, task["good"], columns), None
        for batch in raw.iter_batches(_GROUP_ROWS):
            rows = pa.table(batch)
            values = rows.select(range(len(names))).rename_columns(names)
            keep = rows["reason"].is_null().to_numpy()
            low, high = np.searchsorted(removed["place"].to_numpy(), [start, start + len(rows)])
            gone = removed.slice(low, high - low)
            places = gone["place"].to_numpy().astype(int) - start
            bad_rows = rows.filter(pa.array(~keep)).select(_TOLD.names).cast(_TOLD)
            rejects = pa.concat_tables([bad_rows, _told(gone, values.take(places))])
            if len(rejects):
                numbers = pa.array(np.append(np.flatnonzero(~keep), places) + start + 1)
                row = pa.nulls(len(numbers)) if task["before"] is None else pc.add(numbers, task["before"])
                file = pa.repeat(task["file"], len(numbers))
                rejects = rejects.append_column("file", file).append_column("row", row.cast(pa.int64()))
                bad = bad or _writer(files, task["bad"], _REJECTS)
                bad.write_table(rejects)
                entries += _entries(rejects)
            keep[places] = False
            good.write_table(values.filter(pa.array(keep)))
            start += len(rows)
    return {"rejected": entries}


def _told(gone: pa.Table, records: pa.Table) -> pa.Table:
    """What is said of rows that break keys."""
    told, texts = [], [one.cast(pa.string()) if pa.types.is_temporal(one.type) else one for one in records.columns]
    records = pa.table(texts, records.column_names)  # Python has no year 0
    for one, record in zip(gone.to_pylist(), records.to_pylist(), strict=True):
        names = one["column"].split("\0")
        value = ", ".join(str(_shown(record[name])) for name in names)
        known = {"reason": one["reason"], "column": ", ".join(names)}
        told.append({**known, "value": value, "record": json.dumps(record, ensure_ascii=False, default=_shown)})
    return pa.Table.from_pylist(told, _TOLD)


def _entries(rejects: pa.Table) -> list[Facts]:
    """An entry for each reason and column, with the first such row."""
    value = pc.utf8_slice_codeunits(pc.coalesce(rejects["value"], rejects["record"]), 0, _LONGEST)
    groups = rejects.set_column(2, "value", value).group_by(["reason", "column"], use_threads=False)
    told = groups.aggregate([("file", "first"), ("row", "first"), ("value", "first"), ([], "count_all")])
    return list(told.rename_columns(["reason", "column", "file", "row", "value", "rows"]).to_pylist())


def _writer(files: ExitStack, path: str, schema: pa.Schema) -> pq.ParquetWriter:
    """For a file that appears whole when `files` are closed."""
    make_folder(Path(path).parent)
    file = files.enter_context(atomic_output(path))
    return files.enter_context(pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True))


def _shown(value: Any) -> str | None:
    return value if isinstance(value, str) or value is None else value.hex() if isinstance(value, bytes) else str(value)
