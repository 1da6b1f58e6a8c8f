"""Sketches of the columns of one piece of a table as a Parquet file: a row for each column. Nothing in it is executed."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.pipeline.sketches import stored
from experiments.pipeline.sketches.column import ColumnSketch
from experiments.pipeline.sketches.hyperloglog import REGISTERS, HyperLogLog
from optimizer.errors import CatalogError, OutputError

_SCHEMA = pa.schema([("columns", pa.list_(pa.string())), ("sketch", pa.binary())])
_MARK = {"planscope-sketches": str(stored.VERSION)}
_AGAIN = "what was read before stays: once the folder can be written and has space, planscope data analyze goes on from there"
Joint = dict[tuple[str, ...], HyperLogLog]
Content = bytes


def write_sketches(path: Path, columns: Mapping[str, ColumnSketch], joint: Joint) -> None:
    """Atomically: other processes may write the same file. Raises OutputError."""
    names = [*([name] for name in columns), *(list(together) for together in joint)]
    content = [*map(stored.to_bytes, columns.values()), *(sketch.registers.tobytes() for sketch in joint.values())]
    table = pa.table({"columns": names, "sketch": content}, schema=_SCHEMA).replace_schema_metadata(_MARK)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, temporary, compression="none", write_page_checksum=True)
        os.replace(temporary, path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {os.strerror(error.errno) if error.errno else error}\n{_AGAIN}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def contents(path: Path) -> list[tuple[tuple[str, ...], Content]]:
    """(column or columns, sketch) as `write_sketches` wrote them: `stored.from_bytes` and `from_registers` read those of one
    column and of several. Raises CatalogError when damaged."""
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        if (table.schema.metadata or {}).get(b"planscope-sketches") != str(stored.VERSION).encode():
            raise ValueError("another version")
        found = [(tuple(row["columns"]), row["sketch"]) for row in table.to_pylist()]
        for columns, content in found:
            stored.from_bytes(content) if len(columns) == 1 else from_registers(content)
        return found
    except (OSError, EOFError, StopIteration, ValueError, LookupError, TypeError, pa.ArrowException) as error:
        raise CatalogError(f"cannot read {path} ({error})\ndelete it: planscope data analyze makes it again") from error


def from_registers(content: Content) -> HyperLogLog:
    """Raises ValueError for what is none."""
    registers = np.frombuffer(content, np.uint8).copy()
    if len(registers) != REGISTERS:
        raise ValueError(f"{len(registers)} registers")
    return HyperLogLog(registers)
