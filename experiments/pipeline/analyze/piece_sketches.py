"""Sketches of one piece of a table: made in one reading, kept as a Parquet file with a row for each column.

Nothing in such a file is executed. It is the checkpoint of an analysis, and what spares the next one the reading.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.pipeline.analyze.pieces import Piece, check_unchanged, fragment_of
from experiments.pipeline.sketches import stored
from experiments.pipeline.sketches.column import ColumnSketch, merge_sketches, sketch_of
from experiments.pipeline.sketches.hashing import hashes
from experiments.pipeline.sketches.hyperloglog import REGISTERS, HyperLogLog
from optimizer.catalog.table import Table
from optimizer.errors import CatalogError, OutputError

_ROWS = 1 << 20  # that are counted at a time: of more rows at once less is lost than by merging
_BYTES = 256 << 20  # that are held at a time
_GATHERED = 16  # sketches of batches that wait to be merged
_SCHEMA = pa.schema([("columns", pa.list_(pa.string())), ("sketch", pa.binary())])
_MARK = {"planscope-sketches": str(stored.VERSION)}
_AGAIN = "what was read before stays: once the folder can be written and has space, planscope data analyze goes on from there"
Joint = dict[tuple[str, ...], HyperLogLog]
Content = bytes


def is_missing(piece: Piece, joint: Sequence[tuple[str, ...]]) -> bool:
    """Whether something of a piece is still to be sketched: a column, or one of the combinations `joint`."""
    return not all(path.exists() for path in sketches_of(piece, joint))


def sketches_of(piece: Piece, joint: Sequence[tuple[str, ...]]) -> list[Path]:
    """Where all sketches of a piece are once they are made."""
    return [piece.sketch, *map(piece.joint_sketch, joint)]


def sketch_piece(piece: Piece, joint: Sequence[tuple[str, ...]]) -> float:
    """Makes what is missing; seconds. Raises CatalogError naming the file that cannot be read or has changed, OutputError."""
    started, table = time.perf_counter(), piece.table
    wanted = [] if piece.sketch.exists() else [column.name for column in table.columns]
    paths = {names: path for names in joint if not (path := piece.joint_sketch(names)).exists()}
    try:
        fragment = fragment_of(table, piece.file, piece.groups)
        sketches, together = _sketch(fragment, table, wanted, tuple(paths), piece.share)
        check_unchanged(piece.file, piece.state)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0].split(". Detail:")[0]
        raise CatalogError(f"{piece.file} cannot be read: {reason}\nwrite it again, or move it out of the folder") from error
    for names, path in paths.items():
        write_sketches(path, {}, {names: together[names]})
    if wanted:
        write_sketches(piece.sketch, {name: sketches[name] for name in wanted}, {})
    return time.perf_counter() - started


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


def _sketch(
    fragment: Any, table: Table, columns: Sequence[str], joint: Sequence[tuple[str, ...]], share: float
) -> tuple[dict[str, ColumnSketch], Joint]:
    """In one reading, the sketches of `columns` and of the combinations of each of `joint`."""
    parts = {name: [sketch_of(pa.array([], table.schema.field(name).type))] for name in columns}
    together = {names: HyperLogLog() for names in joint}
    read = list(dict.fromkeys([*columns, *(name for names in joint for name in names)]))
    for batch in _batches(fragment, table, read, share):
        for name, gathered in parts.items():
            gathered.append(sketch_of(batch.column(name)))
            if len(gathered) > _GATHERED:
                parts[name] = [merge_sketches(gathered)]
        for names, found in together.items():
            found.add(hashes(*(batch.column(name) for name in names)))
    return {name: merge_sketches(gathered) for name, gathered in parts.items()}, together


def _batches(fragment: Any, table: Table, names: list[str], share: float) -> Iterator[pa.RecordBatch]:
    """Batches of the named columns, of about _ROWS rows or _BYTES bytes, without empty ones; of `share` of the rows."""
    random = np.random.default_rng(0)
    waiting: list[pa.RecordBatch] = []
    for batch in fragment.to_batches(schema=table.schema, columns=names, batch_readahead=2):
        if share < 1.0:
            batch = batch.filter(pa.array(random.random(batch.num_rows) < share))
        if batch.num_rows:
            waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= _ROWS or sum(each.nbytes for each in waiting) >= _BYTES:
            yield pa.concat_batches(waiting)
            waiting = []
    if waiting:
        yield pa.concat_batches(waiting)
