"""The folder of a run: rows that are on disk as soon as their item is done, and what they depend on.

Each item has a file of its own that appears whole or not at all, so a file says that its item is done, and a run that was killed
loses at most the items under way. When a run ends, its files become one.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from executor.atomic import atomic_output, make_folder, write_file
from experiments.bench.experiment import Experiment, Item, Row
from experiments.pipeline.sweep.code_version import code_digest
from optimizer.errors import OutputError, PlanscopeError

_PACKAGES = ("planscope", "pyarrow", "numpy", "sqlglot", "networkx", "duckdb", "polars")


def identity(name: str, item: Item) -> str:
    """Twelve hex digits of the experiment's name and the item's content."""
    text = json.dumps([name, item], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Results:
    """The results in `folder`. Raises OutputError where it cannot be written, PlanscopeError where it holds other results."""

    def __init__(self, folder: str | Path, experiment: Experiment, command: str) -> None:
        self.folder = make_folder(folder)
        self._experiment = experiment
        code = code_of(experiment)
        known = read_environment(self.folder)
        if known is None and (self.folder / "results.parquet").exists():
            raise OutputError(f"{folder} has a results.parquet of something else: name another folder")
        if known is not None and known["experiment"] != experiment.NAME:
            raise PlanscopeError(f"{folder} has results of bench {known['experiment']}: name another folder with -o")
        if known is not None and known["code"] != code:
            raise PlanscopeError(
                f"{folder} has results of another version of the code ({known['code']}, now {code}): name another folder with "
                f"-o, or remove it; planscope bench report {folder} makes its report again"
            )
        make_folder(self.folder / "items")
        self.environment = {"experiment": experiment.NAME, "command": command, "code": code, **environment(), "item_columns": []}
        if known is not None:
            self.environment["started"] = known["started"]
            self.environment["item_columns"] = known["item_columns"]
        self._write_environment()

    def finished(self) -> set[str]:
        """Items that are done."""
        table = self.folder / "results.parquet"
        done = set(pq.read_table(table, columns=["item"])["item"].to_pylist()) if table.exists() else set()
        return done | {path.stem for path in (self.folder / "items").glob("*.parquet")}

    def add(self, item: Item, rows: Sequence[Row]) -> None:
        """Keeps the rows of an item."""
        columns = self.environment["item_columns"]
        if not set(item) <= set(columns):
            columns += [name for name in item if name not in columns]
            self._write_environment()
        mark = identity(self._experiment.NAME, item)
        with atomic_output(self.folder / "items" / f"{mark}.parquet") as file:
            pq.write_table(table_of([{"item": mark, **item, **row} for row in rows]), file)

    def forget_failed(self) -> None:
        """Drops the rows of items that failed, so that they are measured again."""
        rows = self.rows().to_pylist()
        self._replace([row for row in rows if row["status"] == "ok"])

    def rows(self) -> pa.Table:
        """All rows so far."""
        return read_rows(self.folder)

    def finish(self, items: Sequence[Item]) -> pa.Table:
        """Makes one file of the items', and returns its rows, in the order of `items`, those of others after them."""
        places = {identity(self._experiment.NAME, item): place for place, item in enumerate(items)}
        table = self._replace(sorted(self.rows().to_pylist(), key=lambda row: places.get(row["item"], len(places))))
        self.environment["finished"] = _now()
        self._write_environment()
        return table

    def _replace(self, rows: list[Row]) -> pa.Table:
        table = table_of(rows)
        with atomic_output(self.folder / "results.parquet") as file:
            pq.write_table(table, file)
        for path in (self.folder / "items").glob("*.parquet"):
            path.unlink()
        return table

    def _write_environment(self) -> None:
        write_file(self.folder / "environment.json", json.dumps(self.environment, indent=1) + "\n")


def read_rows(folder: Path) -> pa.Table:
    """The rows of a run, finished or not. Raises OutputError where there are none."""
    whole = folder / "results.parquet"
    parts = sorted((folder / "items").glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    paths = [*([whole] if whole.exists() else []), *parts]
    if not paths:
        raise OutputError(f"there are no results of an experiment in {folder}")
    return table_of([row for path in paths for row in pq.read_table(path).to_pylist()])


def read_environment(folder: Path) -> dict[str, Any] | None:
    """What environment.json says; None where there is none. Raises OutputError for one that is not ours."""
    try:
        found = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
        return cast("dict[str, Any]", found) if found["experiment"] and found["code"] else None
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise OutputError(f"cannot read {folder / 'environment.json'}: {error}") from error


def table_of(rows: Iterable[Row]) -> pa.Table:
    """Rows as a table: columns in the order in which they first appear, None where a row has none."""
    rows = list(rows)
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def code_of(experiment: Experiment) -> str:
    """Twelve hex digits of the code that a result depends on: the optimizer, the executors, the workloads, the experiment."""
    own = Path(cast(ModuleType, experiment).__file__ or "")
    return hashlib.sha256(code_digest().encode() + own.read_bytes()).hexdigest()[:12]


def environment() -> dict[str, Any]:
    """What results depend on besides code and command."""
    versions = {}
    for name in _PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "versions": versions,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "processor": _processor(),
        "processors": os.cpu_count(),
        "load_at_start": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "hash_seed": os.environ.get("PYTHONHASHSEED", "random" if sys.flags.hash_randomization else "0"),
        "started": _now(),
        "finished": None,
    }


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
