"""One file into a raw part of its table and the rows rejected from it: a task.

    in   {"path", "format", "options", "names", "merge", "schema", "part", "rejects", "label", "stored", "partition"}
    out  {"read", "kept", "rejected": [{"reason", "column", "rows", "value", "file", "row"}], "part": {"bytes", "sha256"},
          "source": {"bytes", "sha256"}, "reject_file"}

`stored`: what the columns of the schema are called in the file, whose rows have no numbers that mean anything; null: the same.
`label`: what to call the file. `partition`: columns that the file lacks, each with the text that all its rows have there.
out of a file that turns out to be damaged: {"trouble"}, why it cannot be read to its end.
`rejected` has an entry for each reason and column, with the first such row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from experiments.pipeline.intake.checked import checked
from experiments.pipeline.intake.csv_records import CsvFile
from experiments.pipeline.intake.json_records import JsonFile
from experiments.pipeline.intake.parts import PartWriter, RejectWriter, part_facts, whole
from experiments.pipeline.intake.records import Records
from experiments.pipeline.intake.target import text_schema
from experiments.pipeline.intake.typed_records import TypedFile
from experiments.pipeline.spark.errors import PipelineError


def convert(task: dict[str, Any]) -> dict[str, Any]:
    """Raises PipelineError when the part cannot be written."""
    schema = text_schema(task["schema"])
    partition = task["partition"]
    file, batches = _open(task, pa.schema([field for field in schema if field.name not in partition]))
    rows = _partitioned(_readable(batches), partition)
    try:
        done = write_checked(rows, schema, Path(task["part"]), Path(task["rejects"]), task["label"])
    except _Damaged as damaged:
        return {"trouble": str(damaged)}
    return {**done, "source": {"bytes": file.size, "sha256": file.sha256}}


def write_checked(batches: Iterator[Records], schema: pa.Schema, part: Path, rejects: Path, file: str) -> dict[str, Any]:
    """Checks records and writes them; the answer of `convert`, but for `source`."""
    read = 0
    with whole(rejects) as reject_path, whole(part) as part_path:
        writer, aside = PartWriter(part_path, schema), RejectWriter(reject_path, file)
        try:
            for records in batches:
                read += len(records) + len(records.broken)
                batch, rejected = checked(records, schema)
                writer.write(batch)
                aside.write(rejected)
            writer.close()
        except BaseException:
            writer.abandon()
            raise
        any_rejected = aside.close()
    return {
        "read": read,
        "kept": writer.rows,
        "rejected": aside.as_json(),
        "reject_file": any_rejected,
        "part": part_facts(part),
    }


def _open(task: dict[str, Any], schema: pa.Schema) -> tuple[CsvFile | JsonFile | TypedFile, Iterator[Records]]:
    path, format = Path(task["path"]), task["format"]
    if format == "csv":
        csv = CsvFile(path, task["options"], task["names"])
        return csv, csv.records()
    if format == "json":
        json = JsonFile(path, task["options"], schema.names)
        return json, json.records()
    typed = TypedFile(path, format)
    if task["stored"] is not None:
        return typed, _renamed(typed.records(task["stored"]), task["stored"], schema.names)
    missing = [name for name in schema.names if name not in typed.schema.names]
    if missing and not task["merge"]:
        raise PipelineError(f"{path} changed while it was imported: it has no column {missing[0]} any more")
    return typed, typed.records([name for name in schema.names if name in typed.schema.names])


def _partitioned(batches: Iterator[Records], partition: dict[str, str | None]) -> Iterator[Records]:
    for records in batches:
        texts = {name: pa.repeat(pa.scalar(value, pa.string()), _rows(records)) for name, value in partition.items()}
        yield replace(records, columns={**records.columns, **texts})


class _Damaged(PipelineError):
    """Reading failed, and not writing."""


def _readable(batches: Iterator[Records]) -> Iterator[Records]:
    try:
        yield from batches
    except PipelineError as error:
        raise _Damaged(str(error)) from error


def _rows(records: Records) -> int:
    """Also of rows without a column of their own."""
    return len(records) if records.rows is None else len(records.rows)


def _renamed(batches: Iterator[Records], stored: list[str], names: list[str]) -> Iterator[Records]:
    for records in batches:
        yield Records({name: records.columns[column] for name, column in zip(names, stored, strict=True)}, None)
