"""Tables made in parts by Spark tasks. What is there already is only looked at.

A table in one part is DIR/orders.parquet, in several DIR/orders/part-00000.parquet and so on. A file has its name once it
is whole: it is written in a folder of its own task first, synced to the disk and renamed. So a task may be killed, or run
twice, and whoever goes on knows from names alone what is missing.
"""

from __future__ import annotations

import errno
import importlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.pipeline.generate.recipe import Made, Part, Recipe, Task
from experiments.pipeline.spark.manifest import file_facts
from experiments.pipeline.spark.publish import scratch_folder
from experiments.pipeline.spark.session import Say
from optimizer.catalog.folder import find_tables
from optimizer.catalog.order import rows_ascend
from optimizer.catalog.parquet_files import parquet_facts
from optimizer.catalog.table import Table, TableStats
from optimizer.errors import CatalogError, OutputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BUNDLE_BYTES = 32e6  # of parts, the same of each table, that share a task: processes that generate start slowly
_CHUNK = 1 << 17  # rows of a row group
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FULL_TEXTS = ("No space left on device", "Disk quota exceeded", "File too large")
Write = Callable[[Sequence[Task], Sequence[Path]], None]


def make_parts(spark: SparkSession, recipe: Recipe, folder: Path, say: Say) -> dict[str, dict[str, Any]]:
    """Have every part written that is missing; rows, bytes and checksum of each, by path.

    Raises PipelineError with what the recipe's `write` raises, and OutputError when files were written where this machine does
    not see them.
    """
    from experiments.pipeline.spark.tasks import run_tasks

    there = sum((folder / part.path).exists() for part in recipe.parts)
    if there:
        say(f"{recipe.label}: {there} of {len(recipe.parts)} files are there already")
    tasks = []
    for bundle in _bundles(recipe.parts):
        for part in bundle:
            (folder / part.path).parent.mkdir(exist_ok=True)
        common = {"folder": str(folder), "scale": recipe.scale}
        parts = [{**common, "table": part.table, "number": part.number, "of": part.of, "path": part.path} for part in bundle]
        tasks.append({"name": bundle[0].path, "write": recipe.write, "parts": parts})
    found: dict[str, dict[str, Any]] = {}
    for result in run_tasks(spark, make_bundle, tasks, f"generate {recipe.label}", say):
        found |= result
    if lost := [path for path in found if not (folder / path).exists()]:
        raise OutputError(
            f"the workers wrote {lost[0]}, but it is not in {folder} here\n"
            "with a Spark cluster, the folder must be one that this machine and all workers share"
        )
    return found


def _bundles(parts: Sequence[Part]) -> list[list[Part]]:
    """Parts by task, the largest first: no task runs long after all others."""
    bundles: list[list[Part]] = []
    last: dict[tuple[int, int], list[Part]] = {}
    for part in sorted(parts, key=lambda part: -part.bytes):
        bundle = last.get((part.number, part.of), [])
        if bundle and sum(each.bytes for each in [*bundle, part]) <= _BUNDLE_BYTES:
            bundle.append(part)
        else:
            last[part.number, part.of] = bundle = [part]
            bundles.append(bundle)
    return bundles


def make_bundle(task: dict[str, Any]) -> dict[str, Any]:
    """A Spark task: have those parts written that are missing; what there is to know of each, by path."""
    module, name = task["write"].split(":")
    write: Write = getattr(importlib.import_module(module), name)
    if missing := [part for part in task["parts"] if not _is_made(Path(part["folder"], part["path"]))]:
        with part_files(missing) as targets:
            write(missing, targets)
    paths = {part["path"]: Path(part["folder"], part["path"]) for part in task["parts"]}
    return {name: {"rows": parquet_facts(path).rows, **file_facts(path)} for name, path in paths.items()}


def _is_made(path: Path) -> bool:
    """Whether the part's file is there, and one that can be read."""
    if not path.exists():
        return False
    try:
        parquet_facts(path)
    except CatalogError:
        path.unlink()
        return False
    return True


@contextmanager
def part_files(tasks: Sequence[Task]) -> Iterator[list[Path]]:
    """Names to write parts to, each alone in a folder, all these in one; when the block ends well the files take their places.

    Raises OutputError when the disk is full, whichever way the writer says so; nothing remains then.
    """
    inside = Path(tasks[0]["folder"])
    if not inside.is_dir():
        raise OutputError(f"a worker does not see {inside}: the folder must be one that this machine and all workers share")
    scratch = None
    try:
        scratch = scratch_folder(inside)
        targets = [scratch / str(i) / Path(task["path"]).name for i, task in enumerate(tasks)]
        for target in targets:
            target.parent.mkdir()
        yield targets
        for target, task in zip(targets, tasks, strict=True):
            with target.open("rb") as file:
                os.fsync(file.fileno())
            os.replace(target, inside / task["path"])
    except Exception as error:
        if getattr(error, "errno", None) in _FULL or any(text in str(error) for text in _FULL_TEXTS):
            paths = ", ".join(task["path"] for task in tasks)
            raise OutputError(f"no space left for {paths} in {inside.parent.parent}: make space") from error
        raise
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def write_rows(
    tasks: Sequence[Task], targets: Sequence[Path], count: Callable[[str, float], int], rows_of: Callable[..., pa.RecordBatch]
) -> None:
    """Writes ranges of the rows that `rows_of` (table, scale, start, end) makes; `count`: of (table, scale)."""
    for task, target in zip(tasks, targets, strict=True):
        table, scale = task["table"], float(task["scale"])
        start, end = row_range(count(table, scale), task)
        with pq.ParquetWriter(target, rows_of(table, scale, start, start).schema, write_page_checksum=True) as writer:
            for first in range(start, end, _CHUNK):
                writer.write_batch(rows_of(table, scale, first, min(first + _CHUNK, end)))


def row_range(rows: int, task: Task) -> tuple[int, int]:
    """The rows of a part, of so many of its table: from the first to the one after the last."""
    return rows * task["number"] // task["of"], rows * (task["number"] + 1) // task["of"]


def look(task: dict[str, Any]) -> dict[str, Any]:
    """A Spark task: which of `orders` the rows of `table` in `folder` are in, and of these the ones without equal rows."""
    [files] = [found.files for found in find_tables(Path(task["folder"])) if found.name == task["table"]]
    facts = [parquet_facts(file) for file in files]
    rows = sum(each.rows for each in facts)
    table = Table(task["table"], facts[0].columns, stats=TableStats(rows), files=files, format="parquet")
    keys = [order for order in task["orders"] if rows_ascend(table, order, strictly=True)]
    return {"orders": [order for order in task["orders"] if order in keys or rows_ascend(table, order)], "keys": keys}


def look_at(spark: SparkSession, recipe: Recipe, folder: Path, rows: dict[str, int]) -> dict[str, Made]:
    """What was made of each table, of which `rows` are known."""
    from experiments.pipeline.spark.tasks import run_tasks

    tasks = [{"folder": str(folder), "table": name, "orders": list(orders)} for name, orders in recipe.orders.items()]
    found = zip(recipe.orders, run_tasks(spark, look, tasks, f"look at the orders of {recipe.label}"), strict=True)
    orders = {name: tuple(tuple(map(tuple, one[key])) for key in ("orders", "keys")) for name, one in found}
    return {name: Made(count, *orders.get(name, ())) for name, count in rows.items()}
