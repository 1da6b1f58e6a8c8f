"""The results of sweeps: a folder for each run, `OUT/results/run=3f2a91c05be7`, with its plan (`plan`) and rows (bench/store)."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from experiments.bench.store import Store
from experiments.pipeline.sweep.plan import PLAN_FILE, read_plan
from optimizer.errors import CatalogError, OutputError

RESULTS = "results"
_RUN = "run="


@dataclass(frozen=True)
class Progress:
    """How far a run is. `done`: items with a row, of them `errors` by kind. `complete`: all, and all of them in one file."""

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


def progress_of(folder: Path) -> Progress:
    """How far the run in `folder` is. Raises CatalogError when there is none."""
    size, store, done = read_plan(folder).size, Store(folder), dict[str, str | None]()
    with suppress(OutputError):  # none yet
        done = {row["item"]: row.get("error_kind") for row in store.rows(["item", "error_kind"]).to_pylist()}
    errors = Counter(kind for kind in done.values() if kind is not None)
    return Progress(size, len(done), dict(sorted(errors.items())), len(done) >= size and not store.parts())


def read_results(folder: Path) -> pa.Table:
    """All rows of a complete run in the order of its plan. Raises CatalogError for a run that is not complete."""
    progress = progress_of(folder)
    if not progress.complete:
        raise CatalogError(f"the sweep in {folder} is not complete: {progress.done} of {progress.items} items; run it again")
    return Store(folder).rows()
