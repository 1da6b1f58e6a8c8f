"""Runs a sweep: plans it, has its chunks made by Spark tasks, goes on where an earlier run stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from executor.atomic import make_folder
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.lock import hold
from experiments.pipeline.spark.tasks import run_tasks
from experiments.pipeline.sweep.chunk import chunk_file, run_chunk
from experiments.pipeline.sweep.plan import PLAN_FILE, SweepPlan, read_plan, write_plan
from experiments.pipeline.sweep.results import chunks_done, progress_of, read_results, run_folder, runs
from optimizer.errors import CatalogError, InternalError, Interrupted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Say = Callable[[str], None]
LOCK = "_lock"
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

    What is there of the same plan stays and is not done again, not even in a chunk that was under way; `spark` is asked for a
    session only if something is missing. Raises PipelineError, OutputError, and Interrupted in place of KeyboardInterrupt.
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
        before = progress_of(folder)
        if before.done:
            say(f"sweep {plan.run}: {before.done:,} of {plan.size:,} items are done already")
        if not before.complete:
            with _interruptible(folder, plan):
                _make(plan, folder, spark, say, before.done)
        return _checked(plan, folder, before.done)


def _of_other_code(plan: SweepPlan, out: Path) -> list[str]:
    """Runs that differ from `plan` in nothing but the code, the last one if there are several."""
    found = []
    for run in runs(out):
        with suppress(CatalogError):
            other = read_plan(run_folder(out, run))
            if replace(other, code=plan.code) == plan:
                found.append(run)
    return found[-1:]


def _make(plan: SweepPlan, folder: Path, spark: Callable[[], SparkSession], say: Say, before: int) -> None:
    """Have the chunks made that are missing, and say how that goes."""
    missing = sorted(set(range(plan.chunks)) - set(chunks_done(folder, plan)))
    session = spark()
    say(f"sweep {plan.run}: {plan.size - before:,} items in {len(missing):,} Spark tasks")
    common = {"folder": str(folder), "measure": plan.measure}
    meter = _Meter(plan.size, sum(plan.chunk_size(chunk) for chunk in missing), before, say)
    run_tasks(
        session,
        run_chunk,
        [{**common, "chunk": chunk, "name": f"chunk {chunk} of sweep {plan.run}"} for chunk in missing],
        on_done=lambda _, result: meter.add(result["items"], result["errors"]),
        what=f"sweep {plan.run}, chunk",
    )
    meter.end()


def _checked(plan: SweepPlan, folder: Path, before: int) -> SweepResult:
    """The complete run. Raises InternalError when an item is missing or there twice."""
    rows = read_results(folder)
    expected = [plan.item(number).id for number in range(plan.size)]
    if rows.column("item").to_pylist() != expected:
        raise InternalError(f"the results in {folder} are not the items of their plan, each once")
    files = (folder / PLAN_FILE, *(chunk_file(folder, chunk) for chunk in range(plan.chunks)))
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

    def __init__(self, size: int, missing: int, before: int, say: Say) -> None:
        self._size, self._missing, self._before, self._say = size, missing, before, say
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
        self._say(f"sweep: all {self._size:,} items are done, {self._size - self._before:,} of them in {took}")


def show_time(seconds: float) -> str:
    """A duration for people: 12 s, 3 min, 2.5 h."""
    if seconds < 100:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _say_nothing(line: str) -> None:
    """Progress for callers that do not want any."""
