"""Tables made in parts by Spark tasks, or by this process where they are small. What is there already is only looked at.

A table in one part is DIR/orders.parquet, in several DIR/orders/part-00000.parquet and so on. A file has its name once it
is whole: it is written in a folder of its own task first, synced to the disk and renamed. So a task may be killed, or run
twice, and whoever goes on knows from names alone what is missing.
"""

from __future__ import annotations

import errno
import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.pipeline.generate.recipe import Recipe, Task
from experiments.pipeline.spark.manifest import file_facts
from experiments.pipeline.spark.publish import SCRATCH
from experiments.pipeline.spark.session import Say
from experiments.pipeline.spark.tasks import run_tasks
from optimizer.catalog.parquet_files import parquet_facts
from optimizer.errors import CatalogError, OutputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHUNK = 1 << 17  # rows of a row group
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FULL_TEXTS = ("No space left on device", "Disk quota exceeded", "File too large")


def make_parts(spark: SparkSession | None, recipe: Recipe, folder: Path, say: Say) -> dict[str, dict[str, Any]]:
    """Have every part written that is missing; rows, bytes and checksum of each, by path. Raises PipelineError with what the
    recipe's module raises."""
    there = sum((folder / part.path).exists() for part in recipe.parts)
    if there:
        say(f"{recipe.label}: {there} of {len(recipe.parts)} files are there already")
    if recipe.before is not None:
        recipe.before(spark, folder, say)
    tasks = []
    for part in sorted(recipe.parts, key=lambda part: -part.bytes):  # no task runs long after all others
        (folder / part.path).parent.mkdir(exist_ok=True)
        common = {"folder": str(folder), "scale": recipe.scale, "module": recipe.module}
        tasks.append({**common, **part._asdict(), "path": part.path})
    found = run_tasks(spark, make_part, tasks, f"generate {recipe.label}", say)
    return {task["path"]: facts for task, facts in zip(tasks, found, strict=True)}


def make_part(task: Task) -> dict[str, Any]:
    """A task: has the part written unless it is there and can be read; what there is to know of it."""
    path = Path(task["folder"], task["path"])
    try:
        facts = parquet_facts(path)
    except CatalogError:
        module = importlib.import_module(task["module"])
        with part_file(task) as target:
            if hasattr(module, "rows_of"):
                _write_rows(task, target, module.rows_of)
            else:
                module.write_part(task, target)
        facts = parquet_facts(path)
    return {"rows": facts.rows, **file_facts(path)}


@contextmanager
def part_file(task: Task) -> Iterator[Path]:
    """A name to write the part to, alone in a folder; when the block ends well the file takes its place. Raises OutputError
    when the disk is full; nothing remains then."""
    inside = Path(task["folder"])
    if not inside.is_dir():
        raise OutputError(f"a worker does not see {inside}: the folder must be one that this machine and all workers share")
    with scratch(task["path"], inside) as alone:
        target = alone / Path(task["path"]).name
        yield target
        with target.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(target, inside / task["path"])


@contextmanager
def scratch(what: str, inside: Path) -> Iterator[Path]:
    """A folder to write `what` in, gone at the end. Raises OutputError when the disk is full, whichever way a writer says so."""
    try:
        with TemporaryDirectory(prefix=SCRATCH, dir=inside, ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    except Exception as error:
        if getattr(error, "errno", None) in _FULL or any(text in str(error) for text in _FULL_TEXTS):
            raise OutputError(f"no space left for {what} in {inside.parent.parent}: make space") from error
        raise


def _write_rows(task: Task, target: Path, rows_of: Callable[..., pa.RecordBatch]) -> None:
    """Writes the part's range of the rows that `rows_of` (table, scale, start, end) makes."""
    table, scale = task["table"], float(task["scale"])
    start, end = row_range(task["rows"], task)
    with pq.ParquetWriter(target, rows_of(table, scale, start, start).schema, write_page_checksum=True) as writer:
        for first in range(start, end, _CHUNK):
            writer.write_batch(rows_of(table, scale, first, min(first + _CHUNK, end)))


def row_range(rows: int, task: Task) -> tuple[int, int]:
    """The rows of a part, of so many of its table: from the first to the one after the last."""
    return rows * task["number"] // task["of"], rows * (task["number"] + 1) // task["of"]
