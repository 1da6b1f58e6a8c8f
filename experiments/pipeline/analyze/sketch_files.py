"""Sketches of columns as Parquet files: one row a column, its summaries as Arrow IPC bytes. Nothing in them is executed."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.pipeline.sketches.column import ColumnSketch
from experiments.pipeline.sketches.counts import Counts
from experiments.pipeline.sketches.distinct_sample import DistinctSample
from experiments.pipeline.sketches.frequent import Frequent
from experiments.pipeline.sketches.hyperloglog import REGISTERS, HyperLogLog
from optimizer.catalog.value_text import reader, text
from optimizer.errors import CatalogError

VERSION = 1
_SCHEMA = pa.schema(
    [
        ("name", pa.string()),  # of the column, or of several: a JSON list
        ("figures", pa.string()),  # JSON
        ("registers", pa.binary()),
        ("frequent", pa.binary()),
        ("sample", pa.binary()),
    ]
)
Joint = Mapping[tuple[str, ...], HyperLogLog]


def write_sketches(path: Path, columns: Mapping[str, ColumnSketch], joint: Joint) -> None:
    """Atomically: other processes may write the same file. Raises OSError."""
    rows = []
    for name, sketch in columns.items():
        figures = {
            "rows": sketch.rows,
            "nulls": sketch.nulls,
            "nans": sketch.nans,
            "bytes": sketch.bytes,
            "low": None if sketch.low is None else text(sketch.low),
            "high": None if sketch.high is None else text(sketch.high),
            "error": sketch.frequent.error,
            "level": sketch.sample.level,
        }
        kept = [_bytes(sketch.frequent.kept), _bytes(sketch.sample.kept)]
        rows.append((name, json.dumps(figures), sketch.distinct.registers.tobytes(), *kept))
    rows += [(json.dumps(list(names)), "", sketch.registers.tobytes(), None, None) for names, sketch in joint.items()]
    table = pa.Table.from_pylist([dict(zip(_SCHEMA.names, row, strict=True)) for row in rows], _SCHEMA)
    table = table.replace_schema_metadata({"planscope-sketches": str(VERSION)})
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        pq.write_table(table, temporary, compression="zstd")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read_sketches(
    path: Path, types: Mapping[str, pa.DataType]
) -> tuple[dict[str, ColumnSketch], dict[tuple[str, ...], HyperLogLog]]:
    """The sketches of the columns named in `types`, and those of several columns. Raises CatalogError when damaged."""
    columns: dict[str, ColumnSketch] = {}
    joint: dict[tuple[str, ...], HyperLogLog] = {}
    try:
        table = pq.read_table(path)
        if (table.schema.metadata or {}).get(b"planscope-sketches") != str(VERSION).encode():
            raise ValueError("another version")
        for row in table.to_pylist():
            registers = np.frombuffer(row["registers"], np.uint8).copy()
            if len(registers) != REGISTERS:
                raise ValueError(f"{len(registers)} registers")
            if row["frequent"] is None:
                joint[tuple(json.loads(row["name"]))] = HyperLogLog(registers)
            elif row["name"] in types:
                columns[row["name"]] = _sketch(row, types[row["name"]], registers)
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise CatalogError(f"cannot read {path} ({error})\ndelete it: planscope data analyze makes it again") from error
    return columns, joint


def _sketch(row: Mapping[str, object], type: pa.DataType, registers: np.ndarray) -> ColumnSketch:
    figures = json.loads(str(row["figures"]))
    sketch, read = ColumnSketch(type), reader(type)
    sketch.rows, sketch.nulls, sketch.nans, sketch.bytes = (figures[name] for name in ("rows", "nulls", "nans", "bytes"))
    sketch.low = None if figures["low"] is None else read(figures["low"])
    sketch.high = None if figures["high"] is None else read(figures["high"])
    sketch.distinct = HyperLogLog(registers)
    sketch.frequent = Frequent(type, _counts(row["frequent"]), figures["error"])
    sketch.sample = DistinctSample(type, _counts(row["sample"]), figures["level"])
    return sketch


def _bytes(counts: Counts) -> bytes:
    batch = pa.record_batch([counts.values, pa.array(counts.counts)], names=["values", "counts"])
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, batch.schema) as stream:
        stream.write_batch(batch)
    return buffer.getvalue()


def _counts(content: object) -> Counts:
    table = pa.ipc.open_stream(content).read_all().combine_chunks()
    values, counts = (table[name].chunk(0) if table.num_rows else pa.array([], table[name].type) for name in ("values", "counts"))
    return Counts(values, counts.to_numpy())
