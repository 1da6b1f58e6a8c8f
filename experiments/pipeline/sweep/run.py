"""Runs a sweep: Spark tasks make the items that have no row yet; once all have one, rows become Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from executor.atomic import make_folder
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.lock import hold
from experiments.pipeline.spark.session import is_remote, unheard
from experiments.pipeline.spark.tasks import run_tasks
from experiments.pipeline.sweep.plan import PLAN_FILE, SweepPlan, read_plan, write_plan
from experiments.pipeline.sweep.results import (
    LOCK,
    PARTS,
    done_items,
    drop_damaged,
    progress_of,
    read_results,
    run_folder,
    runs,
    settle,
)
from experiments.pipeline.sweep.task import run_items
from optimizer.errors import CatalogError, InternalError, Interrupted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Say = Callable[[str], None]


@dataclass(frozen=True)
class SweepResult:
    """`made`: items that were run now; the others of `items` were there. `errors`: rows with status error, by kind."""

    run: str
    folder: Path
    items: int
    made: int
    errors: dict[str, int]
    files: tuple[Path, ...]


def run_sweep(plan: SweepPlan, out: Path, spark: Callable[[], SparkSession], progress: Say | None = None) -> SweepResult:
    """All rows of `plan` in `out/results/run=RUN`, which all workers have to reach under the same path.

    What is there of the same plan stays and is not done again; `spark` is asked for a session only if an item is missing. Raises
    PipelineError, OutputError, and Interrupted in place of KeyboardInterrupt.
    """
    say = progress or unheard
    out = out.absolute()
    folder = make_folder(run_folder(out, plan.run))
    with hold(folder / LOCK, f"sweep {plan.run}"):
        if not (folder / PLAN_FILE).exists():
            for other in _of_other_code(plan, out):
                say(f"run {other} is the same sweep, but planscope's code has changed since; this is a new run")
            write_plan(folder, plan)
        if read_plan(folder) != plan:
            raise PipelineError(f"{folder} holds the plan of another sweep\nmove it away, and the sweep is run anew")
        drop_damaged(folder)
        before = done_items(folder)
        if before:
            say(f"sweep {plan.run}: {len(before):,} of {plan.size:,} items are done already")
        missing = [number for number in range(plan.size) if plan.item(number).id not in before]
        with _interruptible(folder, plan):
            if missing:
                _make(plan, folder, missing, spark, say)
            settle(folder)
        return _checked(plan, folder, len(before))


def _of_other_code(plan: SweepPlan, out: Path) -> list[str]:
    """Runs that differ from `plan` in nothing but the code, the last one if there are several."""
    found = []
    for run in runs(out):
        with suppress(CatalogError):
            other = read_plan(run_folder(out, run))
            if replace(other, code=plan.code) == plan:
                found.append(run)
    return found[-1:]


def _make(plan: SweepPlan, folder: Path, missing: list[int], spark: Callable[[], SparkSession], say: Say) -> None:
    """Have the missing items made, and say how that goes. They are dealt out at random: neighbours take about as long."""
    dealt = Random(0).sample(missing, len(missing))
    count = -(-len(missing) // plan.chunk)
    session = spark()
    say(f"sweep {plan.run}: {len(missing):,} items in {count:,} Spark tasks")
    common = {"folder": str(folder), "measure": plan.measure, "remote": is_remote(session)}
    tasks = [{**common, "numbers": dealt[i::count], "name": f"{i + 1} of sweep {plan.run}"} for i in range(count)]
    run_tasks(session, run_items, tasks, f"sweep {plan.run}", say)


def _checked(plan: SweepPlan, folder: Path, before: int) -> SweepResult:
    """The complete run. Raises InternalError when an item is missing or there twice."""
    rows = read_results(folder)
    expected = [plan.item(number).id for number in range(plan.size)]
    if rows.column("item").to_pylist() != expected:
        raise InternalError(f"the results in {folder} are not the items of their plan, each once")
    files = (folder / PLAN_FILE, *sorted(folder.glob(PARTS)))
    return SweepResult(plan.run, folder, plan.size, plan.size - before, progress_of(folder).errors, files)


@contextmanager
def _interruptible(folder: Path, plan: SweepPlan) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as stop:
        done = progress_of(folder).done
        raise Interrupted(f"interrupted: {done:,} of {plan.size:,} items are done; the same command goes on from there") from stop
