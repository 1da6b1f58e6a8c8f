"""The Spark task of a sweep: the items of one chunk, in a child process, to one Parquet file.

    OUT/results/run=RUN/chunk-00017.parquet

The file appears whole or not at all, so a task may be repeated, or run twice at a time: every attempt writes the same rows
(but for times) to the same name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from executor.atomic import atomic_output
from experiments.pipeline.sweep.columns import SCHEMA
from experiments.pipeline.sweep.journal import Journal
from experiments.pipeline.sweep.keeper import Keeper
from experiments.pipeline.sweep.plan import SweepPlan, read_plan

_keepers: list[Keeper] = []  # at most one: that of the run this process worked on last, kept for its next chunk


def run_chunk(task: dict[str, Any]) -> dict[str, Any]:
    """Makes the chunk `task["chunk"]` of the run in the folder `task["folder"]`, and says how many items and errors it has.

    `task["measure"]`: the function that makes a row. Raises PipelineError and OutputError; an item that fails is a row.
    """
    folder, chunk = Path(task["folder"]), task["chunk"]
    plan = replace(_plan(folder), measure=task["measure"])
    target = chunk_file(folder, chunk)
    if not is_whole(target, plan.chunk_size(chunk)):  # it is, where a Spark task is repeated after it was done
        with Journal(folder, chunk) as journal:
            items = list(plan.items(chunk))
            keeper = _keeper(folder, plan)
            for item in items:
                if item.id not in journal.rows:
                    journal.add(keeper.row(item.number))
            write_rows(target, (journal.rows[item.id] for item in items))
            journal.drop()
    status = pq.read_table(target, columns=["status"], page_checksum_verification=True).column("status").to_pylist()
    return {"chunk": chunk, "items": len(status), "errors": status.count("error")}


def chunk_file(folder: Path, chunk: int) -> Path:
    return folder / f"chunk-{chunk:05}.parquet"


def is_whole(path: Path, rows: int) -> bool:
    """Whether there is a Parquet file with so many rows."""
    try:
        return bool(pq.read_metadata(path).num_rows == rows)
    except (OSError, pa.ArrowException):
        return False


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Rows by column name, absent ones NULL, as a Parquet file. Raises OutputError."""
    table = pa.Table.from_pylist([_typed(row) for row in rows], SCHEMA)
    with atomic_output(path) as file:
        pq.write_table(table, file, write_page_checksum=True)


def _typed(row: dict[str, Any]) -> dict[str, Any]:
    """With a time for the text that a journal has, and lists of pairs for maps."""
    row = {name: list(value.items()) if isinstance(value, dict) else value for name, value in row.items()}
    if row.get("started") is not None:
        row["started"] = datetime.fromisoformat(row["started"])
    return row


@lru_cache(maxsize=4)
def _plan(folder: Path) -> SweepPlan:
    return read_plan(folder)


def _keeper(folder: Path, plan: SweepPlan) -> Keeper:
    """The keeper of this worker process, whose child has imported everything and opened the data already."""
    wanted = (folder, plan, plan.measure, os.getpid())
    if not _keepers or (_keepers[0].folder, _keepers[0].plan, _keepers[0].plan.measure, _keepers[0].process) != wanted:
        for other in _keepers:
            other.close()
        _keepers[:] = [Keeper(folder, plan)]
    return _keepers[0]
