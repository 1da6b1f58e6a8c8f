"""The task that reads one piece of a table and writes its sketches."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from experiments.pipeline.analyze.pieces import Piece, check_unchanged
from experiments.pipeline.analyze.sketch_files import write_sketches
from experiments.pipeline.sketches.column import ColumnSketch, merge_sketches, sketch_of
from experiments.pipeline.sketches.hashing import hashes
from experiments.pipeline.sketches.hyperloglog import HyperLogLog
from optimizer.catalog.source import open_source
from optimizer.catalog.table import Table, TableColumn
from optimizer.errors import CatalogError

_ROWS = 1 << 20  # that are counted at a time: of more rows at once less is lost than by merging
_BYTES = 256 << 20  # that are held at a time
_GATHERED = 16  # sketches of batches that wait to be merged


class Pass(NamedTuple):
    """What is made in one reading: sketches of `columns`, and of the combinations of each of `joint`."""

    columns: tuple[str, ...]
    joint: tuple[tuple[str, ...], ...]

    @property
    def read(self) -> list[str]:
        return list(dict.fromkeys([*self.columns, *(name for names in self.joint for name in names)]))


def task_of(piece: Piece, joint: Sequence[tuple[str, ...]]) -> dict[str, Any]:
    """What is still to be sketched of a piece, if anything is, and `files`: where all its sketches are then."""
    missing = [names for names in joint if not piece.joint_sketch(names).exists()]
    return {
        "table": piece.table.name,
        "file": str(piece.file.absolute()),
        "format": piece.table.format,
        "schema": base64.b64encode(piece.table.schema.serialize()).decode("ascii"),
        "state": list(piece.state),
        "groups": None if piece.groups is None else list(piece.groups),
        "share": piece.share,
        "sketch": None if piece.sketch.exists() else str(piece.sketch.absolute()),
        "joint": [[list(names), str(piece.joint_sketch(names).absolute())] for names in missing],
        "files": [str(path.absolute()) for path in (piece.sketch, *map(piece.joint_sketch, joint))],
    }


def sketch_piece(task: Mapping[str, Any]) -> dict[str, Any]:
    """{"rows", "seconds"}. Raises CatalogError naming the file that cannot be read or has changed, OutputError."""
    started = time.perf_counter()
    file = Path(task["file"])
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(task["schema"])))
    columns = tuple(TableColumn(field.name, field.type) for field in schema)
    table = Table(task["table"], columns, files=(file,), format=task["format"])
    joint = {tuple(names): Path(path) for names, path in task["joint"]}
    wanted = [column.name for column in columns] if task["sketch"] is not None else []
    try:
        fragment = next(iter(open_source(table).get_fragments()))
        if task["groups"] is not None:
            fragment = fragment.subset(row_group_ids=task["groups"])
        rows, sketches, together = _sketch(fragment, table, _passes(fragment, table, wanted, tuple(joint)), task["share"])
        check_unchanged(file, tuple(task["state"]))
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0].split(". Detail:")[0]
        raise CatalogError(f"{file} cannot be read: {reason}\nwrite it again, or move it out of the folder") from error
    for names, path in joint.items():
        write_sketches(path, {}, {names: together[names]})
    if task["sketch"] is not None:
        write_sketches(Path(task["sketch"]), {name: sketches[name] for name in wanted}, {})
    return {"rows": rows, "seconds": time.perf_counter() - started}


def _passes(fragment: Any, table: Table, columns: Sequence[str], joint: tuple[tuple[str, ...], ...]) -> list[Pass]:
    """A Parquet file is read some columns at a time, as many as fit; any other at once, since all of it has to be looked at."""
    if table.format != "parquet":
        return [Pass(tuple(columns), joint)]
    passes = [Pass((), (names,)) for names in joint]
    widths = _widths(fragment)
    group: list[str] = []
    for name in columns:
        if group and sum(widths.get(each, 0.0) for each in [*group, name]) * _ROWS > _BYTES:
            passes.append(Pass(tuple(group), ()))
            group = []
        group.append(name)
    return [*passes, Pass(tuple(group), ())] if group else passes


def _widths(fragment: Any) -> dict[str, float]:
    """Bytes a row of each column of a Parquet file takes, roughly: decoded, texts may need more."""
    rows, sizes = 1, dict[str, int]()
    for group in fragment.row_groups:
        metadata = fragment.metadata.row_group(group.id)
        rows += metadata.num_rows
        for i in range(metadata.num_columns):
            column = metadata.column(i)
            sizes[column.path_in_schema] = sizes.get(column.path_in_schema, 0) + column.total_uncompressed_size
    return {name: max(8.0, 2 * size / rows) for name, size in sizes.items()}


def _sketch(
    fragment: Any, table: Table, passes: Sequence[Pass], share: float
) -> tuple[int, dict[str, ColumnSketch], dict[tuple[str, ...], HyperLogLog]]:
    """Rows seen, and the sketches of all passes."""
    columns: dict[str, ColumnSketch] = {}
    together: dict[tuple[str, ...], HyperLogLog] = {}
    rows = 0
    for each in passes:
        rows = 0
        parts = {name: [sketch_of(pa.array([], table.schema.field(name).type))] for name in each.columns}
        together |= {names: HyperLogLog() for names in each.joint}
        for batch in _batches(fragment, table, each.read, share):
            rows += batch.num_rows
            for name, gathered in parts.items():
                gathered.append(sketch_of(batch.column(name)))
                if len(gathered) > _GATHERED:
                    parts[name] = [merge_sketches(gathered)]
            for names in each.joint:
                together[names].add(hashes(*(batch.column(name) for name in names)))
        columns |= {name: merge_sketches(gathered) for name, gathered in parts.items()}
    return rows, columns, together


def _batches(fragment: Any, table: Table, names: list[str], share: float) -> Iterator[pa.RecordBatch]:
    """Batches of the named columns, of about _ROWS rows or _BYTES bytes, without empty ones; of `share` of the rows."""
    random = np.random.default_rng(0)
    waiting: list[pa.RecordBatch] = []
    for batch in fragment.to_batches(schema=table.schema, columns=names):
        if share < 1.0:
            batch = batch.filter(pa.array(random.random(batch.num_rows) < share))
        if batch.num_rows:
            waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= _ROWS or sum(each.nbytes for each in waiting) >= _BYTES:
            yield pa.concat_batches(waiting)
            waiting = []
    if waiting:
        yield pa.concat_batches(waiting)
