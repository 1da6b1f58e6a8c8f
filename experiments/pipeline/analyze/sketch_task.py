"""The task that reads one piece of a table, column by column, and writes its sketch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from experiments.pipeline.analyze.pieces import Joint, Piece
from experiments.pipeline.analyze.sketch_files import write_sketches
from experiments.pipeline.sketches.column import merge_sketches, sketch_of
from experiments.pipeline.sketches.hashing import hashes
from experiments.pipeline.sketches.hyperloglog import HyperLogLog
from optimizer.catalog.source import open_source
from optimizer.catalog.table import Table
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError

BATCH = 1 << 20  # rows that are counted at a time


def task_of(folder: Path, piece: Piece, joint: Joint) -> dict[str, Any]:
    return {
        "folder": str(folder.absolute()),
        "table": piece.table.name,
        "file": str(piece.file.absolute()),
        "groups": None if piece.groups is None else list(piece.groups),
        "joint": [list(names) for names in joint],
        "sketch": str(piece.sketch.absolute()),
    }


def sketch_piece(task: Mapping[str, Any]) -> dict[str, Any]:
    """{"rows", "seconds"}. Raises CatalogError naming the file that cannot be read."""
    started = time.perf_counter()
    table = open_dataset(task["folder"]).tables[task["table"]]
    file = Path(task["file"])
    joint = tuple(tuple(names) for names in task["joint"])
    try:
        fragment = _fragment(table, file, task["groups"])
        columns = {}
        for column in table.columns:
            batches = [sketch_of(arrays[0]) for arrays in _arrays(fragment, table, [column.name])]
            columns[column.name] = merge_sketches(batches or [sketch_of(pa.array([], column.type))])
        together = {names: HyperLogLog() for names in joint}
        for names, sketch in together.items():
            for arrays in _arrays(fragment, table, list(names)):
                sketch.add(hashes(*arrays))
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0]
        raise CatalogError(f"{file} cannot be read: {reason}\nwrite it again, or move it out of the folder") from error
    write_sketches(Path(task["sketch"]), columns, together)
    return {"rows": next(iter(columns.values())).rows, "seconds": time.perf_counter() - started}


def _fragment(table: Table, file: Path, groups: list[int] | None) -> ds.Fragment:
    fragment = next(iter(open_source(replace(table, files=(file,))).get_fragments()))
    return fragment if groups is None else fragment.subset(row_group_ids=groups)


def _arrays(fragment: ds.Fragment, table: Table, names: list[str]) -> Any:
    """Arrays of the named columns, of about BATCH rows, without empty ones."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in fragment.to_batches(schema=table.schema, columns=names):
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= BATCH:
            yield _together(waiting, names)
            waiting, rows = [], 0
    if rows:
        yield _together(waiting, names)


def _together(batches: list[pa.RecordBatch], names: list[str]) -> list[pa.Array]:
    return [pa.concat_arrays([batch.column(name) for batch in batches]) for name in names]
