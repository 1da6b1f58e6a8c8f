"""Runs a sweep: Spark tasks make the items that have no row yet; once all have one, rows become Parquet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from executor.atomic import make_folder
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.lock import hold
from experiments.pipeline.spark.session import is_remote
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
_SAY_SECONDS = 2.0  # between lines of progress


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
    say = progress if progress is not None else _say_nothing
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
    meter = _Meter(plan.size, len(missing), say)
    run_tasks(
        session,
        run_items,
        [{**common, "numbers": dealt[i::count], "name": f"{i + 1} of sweep {plan.run}"} for i in range(count)],
        on_done=lambda _, result: meter.add(result["items"], result["errors"]),
        what=f"sweep {plan.run}, task",
    )
    meter.end()


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


class _Meter:
    """Says how many items are done, and how long the others will take, at most every other second.

    The estimate goes by what was done since the first result came: before that, processes start.
    """

    def __init__(self, size: int, missing: int, say: Say) -> None:
        self._size, self._missing, self._say = size, missing, say
        self._done = self._errors = self._first = 0
        self._begun = self._said = time.monotonic()
        self._first_at = 0.0

    def add(self, items: int, errors: int) -> None:
        self._done += items
        self._errors += errors
        now = time.monotonic()
        if not self._first:
            self._first, self._first_at = self._done, now
        elif now - self._said >= _SAY_SECONDS and self._done < self._missing:
            self._said = now
            remaining = (now - self._first_at) / (self._done - self._first) * (self._missing - self._done)
            done, errors_said = self._size - self._missing + self._done, f", {self._errors:,} errors" if self._errors else ""
            self._say(f"sweep: {done:,} of {self._size:,} items{errors_said}, about {show_time(remaining)} to go")

    def end(self) -> None:
        took = show_time(time.monotonic() - self._begun)
        self._say(f"sweep: all {self._size:,} items are done, {self._missing:,} of them in {took}")


def show_time(seconds: float) -> str:
    """A duration for people: 12 s, 3 min, 2.5 h."""
    if seconds < 100:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _say_nothing(line: str) -> None:
    """Progress for callers that do not want any."""
