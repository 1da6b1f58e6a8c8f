"""Runs a sweep: the experiment `measure`, its items those of a plan, its rows in the folder of the run.

OUT/results/run=3f2a91c05be7     that folder, with the plan (`plan`) and the rows (bench/store)
"""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from experiments.bench.registry import load
from experiments.bench.runner import Limits, run
from experiments.bench.store import ROWS, Store
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.session import Say, Start, unheard
from experiments.pipeline.sweep.plan import PLAN_FILE, SweepPlan, read_plan, write_plan
from optimizer.errors import CatalogError, InternalError, Interrupted, OutputError

RESULTS = "results"
_RUN = "run="


@dataclass(frozen=True)
class Progress:
    """How far a run is. `done`: items with a row, of them `errors` by kind. `complete`: all, and all of them in one file."""

    items: int
    done: int
    errors: dict[str, int]
    complete: bool


@dataclass(frozen=True)
class SweepResult:
    """`made`: items that were run now; the others of `items` were there. `errors`: rows with status error, by kind."""

    run: str
    folder: Path
    items: int
    made: int
    errors: dict[str, int]
    files: tuple[Path, ...]


def run_sweep(plan: SweepPlan, out: Path, spark: Start | None, say: Say = unheard) -> SweepResult:
    """All rows of `plan` in `out/results/run=RUN`, which all workers have to reach under the same path. What is there of the
    same plan stays and is not done again; `spark` is asked for a session only if an item is missing, and without it items are
    measured here. Raises PipelineError, OutputError, and Interrupted in place of KeyboardInterrupt."""
    experiment, items = load(plan.measure), plan.items
    store = Store(run_folder(out.absolute(), plan.run), experiment)
    with store.hold(f"sweep {plan.run}"):
        if not (store.folder / PLAN_FILE).exists():
            for other in _of_other_code(plan, out):
                say(f"run {other} is the same sweep, but planscope's code has changed since; this is a new run")
            write_plan(store.folder, plan)
        if read_plan(store.folder) != plan:
            raise PipelineError(f"{store.folder} holds the plan of another sweep\nmove it away, and the sweep is run anew")
        made = len(store.missing(items))
        try:
            if made:
                run(experiment, items, store, Limits(plan.timeout, plan.memory, 1, plan.chunk), say, spark, f"sweep {plan.run}")
            if store.parts():
                store.finish(items)
        except KeyboardInterrupt as stop:
            done = f"{progress_of(store.folder).done:,} of {plan.size:,} items are done"
            raise Interrupted(f"interrupted: {done}; the same command goes on from there") from stop
        if read_results(store.folder)["item"].to_pylist() != [item["item"] for item in items]:
            raise InternalError(f"the results in {store.folder} are not the items of their plan, each once")
    files = (store.folder / PLAN_FILE, store.folder / ROWS)
    return SweepResult(plan.run, store.folder, plan.size, made, progress_of(store.folder).errors, files)


def _of_other_code(plan: SweepPlan, out: Path) -> list[str]:
    """Runs that differ from `plan` in nothing but the code, the last one if there are several."""
    found = []
    for name in runs(out):
        with suppress(CatalogError):
            if replace(read_plan(run_folder(out, name)), code=plan.code) == plan:
                found.append(name)
    return found[-1:]


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
    check_complete(folder)
    return Store(folder).rows()


def check_complete(folder: Path) -> None:
    """Raises CatalogError for a run that is not complete."""
    found = progress_of(folder)
    if not found.complete:
        done = f"{found.done:,} of {found.items:,} items"
        raise CatalogError(f"the sweep in {folder} is not complete: {done}; run it again to go on with it")
