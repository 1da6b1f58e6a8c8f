"""Runs the stages of a pipeline in order; what is done already is skipped, and said so."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from executor.atomic import make_folder
from experiments.pipeline.spark.lock import hold
from experiments.pipeline.stages.data_stages import Import
from experiments.pipeline.stages.spec import Pipeline
from experiments.pipeline.stages.stage import Context, Outcome, Say, Stage
from experiments.pipeline.stages.state import State, lock_file, read_state
from experiments.pipeline.sweep.problems import SpecError
from optimizer.errors import PlanscopeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_pipeline(
    pipeline: Pipeline, out: Path, spark: Callable[[], SparkSession], say: Say, only: str | None = None, resume: str = ""
) -> dict[str, Outcome]:
    """How each stage went, by name. All workers have to reach `out` under the same path.

    All stages are checked before the first one runs; `only` names one to run alone. `resume`: the command that goes on.
    Raises the PlanscopeError of the stage that failed, or KeyboardInterrupt; stages before it stay done.
    """
    stages = [stage for stage in pipeline.stages if only is None or stage.name == only]
    if not stages:
        raise SpecError(f"{pipeline.file.name} has no stage {only}; it has {', '.join(stage.name for stage in pipeline.stages)}")
    out = out.absolute()
    for stage in stages:
        stage.check(out)
    make_folder(lock_file(out).parent)
    with hold(lock_file(out), f"the pipeline in {out}"):
        before = read_state(out)
        names = tuple(stage.name for stage in pipeline.stages)
        state = State(out, str(pipeline.file), names, {} if before is None else before.stages)
        context = Context(out, spark, say, resume)
        return {stage.name: _run(stage, context, state) for stage in stages}


def is_brief(pipeline: Pipeline, out: Path) -> bool:
    """Whether Spark's Java process will have little to do. Raises PlanscopeError for mistakes in [import]."""
    names = {stage.name: stage for stage in pipeline.stages}
    imported = names.get("import")
    return imported.is_small(out) if isinstance(imported, Import) else "analyze" not in names


def _run(stage: Stage, context: Context, state: State) -> Outcome:
    begun = time.monotonic()
    known = state.stages.get(stage.name, {})
    state.begin(stage.name)
    try:
        outcome = stage.run(context)
    except PlanscopeError as error:
        state.end(stage.name, "failed", str(error))
        raise
    except KeyboardInterrupt as stop:
        state.end(stage.name, "stopped", str(stop) or "interrupted")
        raise
    except Exception as error:
        state.end(stage.name, "failed", f"{type(error).__name__}: {error}")
        raise
    if outcome.made or known.get("state") != "done":
        state.end(stage.name, "done", outcome.text, outcome.folder)
    else:  # when it was done is when it was really done
        state.stages[stage.name] = {**known, "text": outcome.text}
        state.write()
    when = f"done in {_show_time(time.monotonic() - begun)}" if outcome.made else "there already, nothing to do"
    context.say(f"{stage.name}: {when}: {outcome.text}")
    return outcome


def _show_time(seconds: float) -> str:
    """A duration for people: 12 s, 3 min, 2.5 h."""
    if seconds < 100:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
