"""Runs the stages of a pipeline in order; what is done already is skipped, and said so.

How each stage went is remembered for people and `planscope pipeline status` in DIR/_planscope/pipeline.json:

    {"file": the specification, "planned": [names of stages], "stages": {NAME: {"state": running, done, failed or stopped,
    "since", "until", "text", "folder"}}}

What is done is decided by the stages themselves, from manifests and files.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from executor.atomic import make_folder, write_file
from experiments.lock import hold, now
from experiments.pipeline.intake.request import is_small
from experiments.pipeline.spark.session import Say, Start
from experiments.pipeline.stages.spec import Pipeline
from experiments.pipeline.stages.stages import Context, Import, Outcome, Stage
from experiments.pipeline.sweep.problems import SpecError
from optimizer.errors import PlanscopeError

VERSION = 1
State = dict[str, Any]


def run_pipeline(
    pipeline: Pipeline, out: Path, spark: Start, say: Say, only: str | None = None, resume: str = ""
) -> dict[str, Outcome]:
    """How each stage went, by name. All workers have to reach `out` under the same path.

    All stages are checked before the first one runs, and their mistakes told together; `only` names one to run alone.
    `resume`: the command that goes on.
    Raises the PlanscopeError of the stage that failed, or KeyboardInterrupt; stages before it stay done.
    """
    names = [stage.name for stage in pipeline.stages]
    stages = [stage for stage in pipeline.stages if only is None or stage.name == only]
    if not stages:
        raise SpecError(f"{pipeline.file.name} has no stage {only}; it has {', '.join(names)}")
    out = out.absolute()
    _check(stages, out)
    make_folder(lock_file(out).parent)
    with hold(lock_file(out), f"the pipeline in {out}"):
        known = (read_state(out) or {}).get("stages", {})
        state = {"version": VERSION, "file": str(pipeline.file), "planned": names, "stages": known}
        return {stage.name: _run(stage, Context(out, spark, say, resume), state) for stage in stages}


def _check(stages: Sequence[Stage], out: Path) -> None:
    """Raises the PlanscopeError of the one stage with mistakes, SpecError with those of several."""
    found: list[PlanscopeError] = []
    for stage in stages:
        try:
            stage.check(out)
        except PlanscopeError as error:
            found.append(error)
    if found:
        raise found[0] if len(found) == 1 else SpecError("\n".join(map(str, found)))


def is_brief(pipeline: Pipeline, out: Path) -> bool:
    """Whether Spark's Java process will have little to do. Raises PlanscopeError for mistakes in [import]."""
    stages = {stage.name: stage for stage in pipeline.stages}
    imported, analyzed = stages.get("import"), stages.get("analyze")
    if isinstance(imported, Import) and not is_small(imported.request(out)):
        return False
    return analyzed is None or (imported is not None and "generate" not in stages and "data" not in analyzed.words)


def _run(stage: Stage, context: Context, state: State) -> Outcome:
    begun = time.monotonic()
    known = state["stages"].get(stage.name, {})

    def remember(**facts: Any) -> None:
        state["stages"][stage.name] = {**state["stages"].get(stage.name, {}), **facts}
        write_file(state_file(context.out), json.dumps(state, indent=1, ensure_ascii=False) + "\n")

    remember(state="running", since=now(), until=None, text="")
    try:
        outcome = stage.run(context)
    except KeyboardInterrupt as stop:
        remember(state="stopped", until=now(), text=str(stop) or "interrupted")
        raise
    except Exception as error:
        text = str(error) if isinstance(error, PlanscopeError) else f"{type(error).__name__}: {error}"
        remember(state="failed", until=now(), text=text)
        raise
    again = not outcome.made and known.get("state") == "done"  # when it was done is when it was really done
    times = {"since": known["since"], "until": known["until"]} if again else {"until": now()}
    remember(state="done", text=outcome.text, folder=outcome.folder, **times)
    when = f"done in {_show_time(time.monotonic() - begun)}" if outcome.made else "there already, nothing to do"
    context.say(f"{stage.name}: {when}: {outcome.text}")
    return outcome


def read_state(out: Path) -> State | None:
    """None when no pipeline was ever run in `out`, or nobody can tell."""
    try:
        found: State = json.loads(state_file(out).read_text(encoding="utf-8"))
        return found if found["version"] == VERSION and {"file", "planned", "stages"} <= found.keys() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def state_file(out: Path) -> Path:
    return out / "_planscope" / "pipeline.json"


def lock_file(out: Path) -> Path:
    return out / "_planscope" / "pipeline.lock"


def _show_time(seconds: float) -> str:
    """A duration for people: 12 s, 3 min, 2.5 h."""
    if seconds < 100:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
