"""The results of sweeps on disk: appended as items finish, Parquet once a run is complete.

    OUT/results/run=3f2a91c05be7/_plan.json               what is done (plan.py)
    OUT/results/run=3f2a91c05be7/.rows-ITEM.AB12.jsonl    rows of a task that begins with ITEM: a line each, handed to the
                                                          system after each item; an attempt has a file of its own
    OUT/results/run=3f2a91c05be7/rows-ITEM.AB12.parquet   the same of a complete run

What has a row in any of these files is done; a line that was cut off is no row.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from executor.atomic import atomic_output
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.sweep.columns import SCHEMA
from experiments.pipeline.sweep.plan import PLAN_FILE, read_plan
from optimizer.errors import CatalogError

RESULTS = "results"
LOCK = "_lock"  # of a run: held by the process that goes on with it
PARTS = "rows-*.parquet"
_RUN = "run="
Row = dict[str, Any]


@dataclass(frozen=True)
class Progress:
    """How far a run is. `done`: items with a row, of them `errors` by kind. `complete`: all, and all of them in Parquet."""

    items: int
    done: int
    errors: dict[str, int]
    complete: bool


def run_folder(out: Path, run: str) -> Path:
    return out / RESULTS / f"{_RUN}{run}"


def runs(out: Path) -> list[str]:
    """Names of the runs in a folder of results, the one begun last at the end."""
    plans = sorted((out / RESULTS).glob(f"{_RUN}*/{PLAN_FILE}"), key=lambda path: (path.stat().st_mtime_ns, path))
    return [path.parent.name.removeprefix(_RUN) for path in plans]


@contextmanager
def appending(folder: Path, first: str) -> Iterator[Callable[[Row], None]]:
    """Appends rows of a task that begins with the item `first` to a new file. Raises PipelineError."""
    path = folder / f".rows-{first}.{uuid.uuid4().hex[:8]}.jsonl"
    with _writing(path):
        file = path.open("xb", buffering=0)

    def add(row: Row) -> None:
        line = json.dumps(row).encode() + b"\n"
        with _writing(path):
            while line:
                line = line[file.write(line) or 0 :]

    with file:
        yield add


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PipelineError(f"cannot write {path}: {error.strerror}") from error


def appended(folder: Path, first: str = "*") -> dict[str, Row]:
    """Rows, by item, that tasks beginning with the item `first` have appended; all by default."""
    return {row["item"]: row for path in _appended(folder, first) for row in _rows(path)}


def done_items(folder: Path) -> dict[str, str | None]:
    """The kind of error, or None, of each item with a row."""
    found = {row["item"]: row.get("error_kind") for path in _appended(folder) for row in _rows(path)}
    for path in _parts(folder):
        found.update(zip(*pq.read_table(path, columns=["item", "error_kind"]).to_pydict().values(), strict=True))
    return found


def settle(folder: Path) -> None:
    """Makes Parquet of what was appended, an item once. Raises OutputError. May be repeated after an interruption."""
    seen = {item for path in _parts(folder) for item in pq.read_table(path, columns=["item"])["item"].to_pylist()}
    for path in _appended(folder):
        if rows := {row["item"]: row for row in _rows(path) if row["item"] not in seen}:
            write_rows(folder / f"{path.stem.removeprefix('.')}.parquet", rows.values())
            seen |= rows.keys()
        path.unlink()


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Rows by column name, absent ones NULL, as a Parquet file. Raises OutputError."""
    table = pa.Table.from_pylist([_typed(row) for row in rows], SCHEMA)
    with atomic_output(path) as file:
        pq.write_table(table, file, write_page_checksum=True)


def progress_of(folder: Path) -> Progress:
    """How far the run in `folder` is. Raises CatalogError when there is none."""
    size, done = read_plan(folder).size, done_items(folder)
    errors = Counter(kind for kind in done.values() if kind is not None)
    return Progress(size, len(done), dict(sorted(errors.items())), len(done) >= size and not _appended(folder))


def read_results(folder: Path) -> pa.Table:
    """All rows of a complete run in the order of its plan. Raises CatalogError for a run that is not complete."""
    progress = progress_of(folder)
    if not progress.complete:
        raise CatalogError(f"the sweep in {folder} is not complete: {progress.done} of {progress.items} items; run it again")
    tables = [pq.read_table(path, partitioning=None, page_checksum_verification=True) for path in _parts(folder)]
    return pa.concat_tables(tables).sort_by("number")


def drop_damaged(folder: Path) -> None:
    """Removes Parquet files that cannot be read: their items are done anew."""
    for path in set(folder.glob(PARTS)).difference(_parts(folder)):
        path.unlink()


def _parts(folder: Path) -> list[Path]:
    """The Parquet files that can be read."""
    return sorted(filter(_is_whole, folder.glob(PARTS)))


def _is_whole(path: Path) -> bool:
    try:
        return bool(pq.read_schema(path).equals(SCHEMA))
    except (OSError, pa.ArrowException):
        return False


def _appended(folder: Path, first: str = "*") -> list[Path]:
    return sorted(folder.glob(f".rows-{first}.*.jsonl"))


def _rows(path: Path) -> Iterator[Row]:
    """The whole rows of a file; of one that has just become Parquet, none."""
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except OSError:
        return
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and "item" in row:
            yield row


def _typed(row: Row) -> Row:
    """With a time for the text that JSON has, and lists of pairs for maps."""
    row = {name: list(value.items()) if isinstance(value, dict) else value for name, value in row.items()}
    if row.get("started") is not None:
        row["started"] = datetime.fromisoformat(row["started"])
    return row
