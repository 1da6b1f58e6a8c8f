"""Tables made in parts: one file, one Spark task. What is there already is only looked at.

A table in one part is DIR/orders.parquet, in several DIR/orders/part-00000.parquet and so on. A file has its name once it
is whole: it is written in a folder of its own task first, synced to the disk and renamed. So a task may be killed, or run
twice, and whoever goes on knows from names alone what is missing.
"""

from __future__ import annotations

import errno
import importlib
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from experiments.pipeline.generate.recipe import Facts, Progress
from experiments.pipeline.generate.space import size_text
from experiments.pipeline.spark.manifest import file_facts
from experiments.pipeline.spark.publish import scratch_folder
from optimizer.catalog.order import rows_ascend
from optimizer.catalog.parquet_files import parquet_facts
from optimizer.catalog.source import open_source
from optimizer.catalog.table import Table, TableStats
from optimizer.errors import CatalogError, OutputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PART_BYTES = 128e6  # of a file, where nobody says how many there shall be
BUNDLE_BYTES = 16e6  # smaller files share a Spark task
Write = Callable[[Sequence[dict[str, Any]]], None]
MOST_PARTS = 99_999  # names with five digits sort like numbers
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FULL_TEXTS = ("No space left on device", "Disk quota exceeded", "File too large")


class Part(NamedTuple):
    """File `number` (from 0) of the `of` that make `table`, of about `bytes`."""

    table: str
    number: int
    of: int
    bytes: float

    @property
    def path(self) -> str:
        """Relative to the dataset's folder."""
        return f"{self.table}.parquet" if self.of == 1 else f"{self.table}/part-{self.number:05}.parquet"


class Order(NamedTuple):
    """How rows are sorted: whether ascending by some columns, whether no two are equal there, the first and last values.

    The values are integers, text or NULL: they travel as JSON.
    """

    ascends: bool
    strictly: bool
    first: tuple[Any, ...] | None  # None: no rows
    last: tuple[Any, ...] | None


class Made(NamedTuple):
    """What the files of a table hold, all of them in name order; `orders`: by the columns asked about; `files`: by path."""

    rows: int
    orders: dict[tuple[str, ...], Order]
    files: Facts


def parts_of(table: str, rows: float, size: float, wanted: int | None) -> list[Part]:
    """The parts of a table of about `rows` rows and `size` bytes: `wanted` many or as its size suggests, no more than rows."""
    count = max(1, min(wanted or math.ceil(size / PART_BYTES), MOST_PARTS, int(rows)))
    return [Part(table, number, count, size / count) for number in range(count)]


def make_parts(
    spark: SparkSession,
    write: Write,
    folder: Path,
    parts: Sequence[Part],
    settings: Mapping[str, Any],
    orders: Mapping[str, Sequence[Sequence[str]]],
    label: str,
    progress: Progress,
    bundle: float = BUNDLE_BYTES,
) -> dict[str, Made]:
    """Have every part written that is missing; what the tables hold then.

    `write`, a function at the top of its module, is given tasks: `settings`, and `folder`, `table`, `number`, `of`, `path` of a
    part; it writes each by way of `part_files`. `orders` by table: sorted columns to look for. `bundle`: about how many bytes of
    small parts one call writes. Raises PipelineError with what `write` raises, and OutputError when files were written
    where this machine does not see them.
    """
    from experiments.pipeline.spark.tasks import run_tasks

    tasks: list[dict[str, Any]] = []
    for part in sorted(parts, key=lambda part: -part.bytes):  # the largest first: no task runs long after all others
        (folder / part.path).parent.mkdir(exist_ok=True)
        place = {"folder": str(folder), "table": part.table, "number": part.number, "of": part.of, "path": part.path}
        tasks.append({**settings, **place, "orders": [list(order) for order in orders.get(part.table, ())], "bytes": part.bytes})
    there = sum((folder / part.path).exists() for part in parts)
    if there:
        progress(f"{label}: {there} of {len(parts)} files are there already")
    report = _Report(label, len(tasks), sum(part.bytes for part in parts), progress)
    found: dict[str, dict[str, Any]] = {}
    for result in run_tasks(spark, make_bundle, _bundles(write, tasks, bundle), report, f"generate {label}"):
        found.update(result["made"])
    for path in found:
        if not (folder / path).exists():
            raise OutputError(
                f"the workers wrote {path}, but it is not in {folder} here\n"
                "with a Spark cluster, the folder must be one that this machine and all workers share"
            )
    return {name: _table(sorted(p for p in parts if p.table == name), found) for name in sorted({part.table for part in parts})}


def _bundles(write: Write, tasks: Sequence[dict[str, Any]], most: float) -> list[dict[str, Any]]:
    """Spark tasks of one part, or of several small ones: a Spark task of its own costs more than a small file."""
    bundles: list[list[dict[str, Any]]] = []
    size = 0.0
    for task in tasks:
        if not bundles or size + task["bytes"] > most:
            bundles.append([])
            size = 0.0
        bundles[-1].append(task)
        size += task["bytes"]
    function = f"{write.__module__}:{write.__qualname__}"
    return [{"name": bundle[0]["path"], "write": function, "parts": bundle} for bundle in bundles]


def make_bundle(task: dict[str, Any]) -> dict[str, Any]:
    """A Spark task: have those parts of a bundle written that are missing; what there is to know of each."""
    module, name = task["write"].split(":")
    write: Write = getattr(importlib.import_module(module), name)
    missing = [part for part in task["parts"] if not _is_made(part)]
    if missing:
        write(missing)
    return {"made": {part["path"]: _facts(part) for part in task["parts"]}}


def all_files(made: Mapping[str, Made]) -> Facts:
    return {path: facts for table in made.values() for path, facts in table.files.items()}


def _table(parts: list[Part], found: Mapping[str, dict[str, Any]]) -> Made:
    results = [found[part.path] for part in parts]
    orders: dict[tuple[str, ...], Order] = {}
    for each in zip(*(result["orders"] for result in results), strict=True):
        pieces = [Order(o["ascends"], o["strictly"], _tuple(o["first"]), _tuple(o["last"])) for o in each]
        orders[tuple(each[0]["columns"])] = _joined(pieces)
    files = {part.path: {"bytes": found[part.path]["bytes"], "sha256": found[part.path]["sha256"]} for part in parts}
    return Made(sum(result["rows"] for result in results), orders, files)


def _joined(pieces: list[Order]) -> Order:
    """The order of the pieces' rows one after another."""
    held = [piece for piece in pieces if piece.first is not None]
    if not held:
        return Order(True, True, None, None)
    if not all(piece.ascends for piece in held):
        return Order(False, False, (), ())
    seams = [(_comparable(before.last), _comparable(after.first)) for before, after in pairwise(held)]
    ascends = all(last <= first for last, first in seams)
    strictly = ascends and all(piece.strictly for piece in held) and all(last < first for last, first in seams)
    return Order(ascends, strictly, held[0].first, held[-1].last)


def _comparable(values: tuple[Any, ...] | None) -> tuple[tuple[bool, Any], ...]:
    """Compares like the rows of an order: NULLs last."""
    return tuple((value is None, 0 if value is None else value) for value in values or ())


def _tuple(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


class _Report:
    """Says every two seconds how far it is, and how long the rest may take."""

    def __init__(self, label: str, count: int, size: float, progress: Progress) -> None:
        self._label, self._count, self._size, self._progress = label, count, size, progress
        self._done, self._bytes = 0, 0
        self._started = self._said = time.monotonic()

    def __call__(self, index: int, result: dict[str, Any]) -> None:
        self._done += len(result["made"])
        self._bytes += sum(facts["bytes"] for facts in result["made"].values())
        now = time.monotonic()
        if now - self._said < 2.0 or self._done == self._count:
            return
        self._said = now
        left = (now - self._started) * max(0.0, self._size / max(self._bytes, 1) - 1)
        progress = f"{self._done} of {self._count} files, {size_text(self._bytes)} of about {size_text(self._size)}"
        self._progress(f"{self._label}: {progress}, about {left:.0f} s left")


@contextmanager
def part_file(task: Mapping[str, Any]) -> Iterator[Path]:
    """A name to write a part to (`part_files`)."""
    with part_files([task]) as (target,):
        yield target


@contextmanager
def part_files(tasks: Sequence[Mapping[str, Any]]) -> Iterator[list[Path]]:
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
        if disk_full(error):
            paths = ", ".join(task["path"] for task in tasks)
            raise OutputError(f"no space left for {paths} in {inside.parent.parent}: make space") from error
        raise
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def disk_full(error: Exception) -> bool:
    return getattr(error, "errno", None) in _FULL or any(text in str(error) for text in _FULL_TEXTS)


def _is_made(task: Mapping[str, Any]) -> bool:
    """Whether the part's file is there, and one that can be read."""
    path = Path(task["folder"], task["path"])
    if not path.exists():
        return False
    try:
        parquet_facts(path)
    except CatalogError:
        path.unlink()
        return False
    return True


def _facts(task: Mapping[str, Any]) -> dict[str, Any]:
    """What a part holds: rows, bytes, checksum, whether its rows have each of the task's orders."""
    path = Path(task["folder"], task["path"])
    facts = parquet_facts(path)
    table = Table(task["table"], facts.columns, stats=TableStats(facts.rows), files=(path,), format="parquet")
    orders = [{"columns": order, **_order(table, order)._asdict()} for order in task["orders"]]
    return {"rows": facts.rows, "orders": orders, **file_facts(path)}


def _order(table: Table, columns: Sequence[str]) -> Order:
    if not table.stats.rows:
        return Order(True, True, None, None)
    strictly = rows_ascend(table, columns, strictly=True)
    if not strictly and not rows_ascend(table, columns):
        return Order(False, False, (), ())
    source = open_source(table)
    first = source.head(1, columns=list(columns))
    last = source.take(pa.array([table.stats.rows - 1]), columns=list(columns))
    ends = [tuple(column[0].as_py() for column in row.columns) for row in (first, last)]
    return Order(True, strictly, *ends)
