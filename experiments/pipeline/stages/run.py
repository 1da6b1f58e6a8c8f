"""Runs the stages of a pipeline in order; what is done already is skipped, and said so.

How each stage went is remembered for people and `planscope pipeline status` in DIR/_planscope/pipeline.json (`_run`). What is
done is decided by the stages themselves, from manifests and files.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from executor.atomic import make_folder, write_file
from experiments.bench.store import LOCK
from experiments.lock import hold, holder, now, who
from experiments.pipeline.intake.request import is_small
from experiments.pipeline.spark.manifest import damaged_files, manifest_path, read_facts, read_manifest
from experiments.pipeline.spark.session import Say, Start
from experiments.pipeline.stages.spec import ORDER, Context, Import, Outcome, Pipeline, Stage, error_text
from experiments.pipeline.sweep.problems import SpecError
from experiments.pipeline.sweep.run import progress_of, run_folder, runs
from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.errors import CatalogError, PlanscopeError, many
from optimizer.toml_places import Places

VERSION = 1
STATE, LOCK_FILE = f"{METADATA_FOLDER}/pipeline.json", f"{METADATA_FOLDER}/pipeline.lock"
_NOT_BEGUN = {"state": "not begun", "since": None, "until": None, "text": ""}
State = dict[str, Any]


def run_pipeline(
    pipeline: Pipeline, out: Path, spark: Start, say: Say, only: str | None = None, resume: str = ""
) -> dict[str, Outcome]:
    """How each stage went, by name. All workers have to reach `out` under the same path. All stages are checked before the
    first one runs, and their mistakes told together; `only` names one to run alone. `resume`: the command that goes on. Raises
    the PlanscopeError of the stage that failed, or KeyboardInterrupt; stages before it stay done."""
    names = [stage.name for stage in pipeline.stages]
    stages = [stage for stage in pipeline.stages if only is None or stage.name == only]
    if not stages:
        raise SpecError(f"{pipeline.file.name} has no stage {only}; it has {', '.join(names)}")
    out = out.absolute()
    _check(stages, out, pipeline.places)
    make_folder(out / METADATA_FOLDER)
    with hold(out / LOCK_FILE, f"the pipeline in {out}"):
        known = (read_state(out) or {}).get("stages", {})
        state = {"version": VERSION, "file": str(pipeline.file), "planned": names, "stages": known}
        return {stage.name: _run(stage, Context(out, spark, say, resume), state) for stage in stages}


def _check(stages: Sequence[Stage], out: Path, places: Places) -> None:
    """Raises SpecError with the mistakes of all stages."""
    found: list[str] = []
    for stage in stages:
        try:
            stage.check(out)
        except SpecError as error:  # which says where
            found.append(str(error))
        except PlanscopeError as error:
            found.append(f"{places.file}, line {places.line(stage.name)}: [{stage.name}]: {error}")
    if found:
        raise SpecError("\n".join(found))


def is_brief(pipeline: Pipeline, out: Path) -> bool:
    """Whether Spark's Java process will have little to do. Raises PlanscopeError for mistakes in [import]."""
    stages = {stage.name: stage for stage in pipeline.stages}
    imported, analyzed = stages.get("import"), stages.get("analyze")
    if isinstance(imported, Import) and not is_small(imported.request(out)):
        return False
    return analyzed is None or (imported is not None and "generate" not in stages and "data" not in analyzed.words)


def _run(stage: Stage, context: Context, state: State) -> Outcome:
    """`state`: {"stages": {NAME: {"state": running, done, failed or stopped, "since", "until", "text", "folder"}}} and more."""
    begun = time.monotonic()
    known = state["stages"].get(stage.name, {})

    def remember(**facts: Any) -> None:
        state["stages"][stage.name] = {**state["stages"].get(stage.name, {}), **facts}
        write_file(context.out / STATE, json.dumps(state, indent=1, ensure_ascii=False) + "\n")

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
    return read_facts(out / STATE, VERSION, {"file", "planned", "stages"})


def _show_time(seconds: float) -> str:
    """A duration for people: 12 s, 3 min, 2.5 h."""
    if seconds < 100:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def pipeline_status(out: Path) -> dict[str, Any]:
    """{"folder", "file", "process", "stages": [{"name", "state", "since", "until", "text", "missing"}], "runs": [...]}.

    `state`: done, damaged (files of its manifest are `missing` or of another size), running, stopped, failed or not begun.
    `process`: who is at work, None for nobody. A run: {"run", "items", "done", "errors", "complete", "process", "text"}.
    Raises CatalogError when `out` holds neither a pipeline nor results of a sweep.
    """
    out = out.absolute()
    state, names, at_work = read_state(out), runs(out), holder(out / LOCK_FILE)
    if state is None and not names:
        there = "" if out.is_dir() else ": there is no such folder"
        raise CatalogError(f"no pipeline was run in {out}{there}\nplanscope pipeline run SPEC.toml -o {out} does that")
    begun, planned = (state["stages"], state["planned"]) if state is not None else ({}, ())
    known = [name for name in ORDER if name in begun or name in planned]
    return {
        "folder": str(out), "file": None if state is None else state["file"], "process": at_work,
        "stages": [{"name": name, **_stage(out, name, begun.get(name, _NOT_BEGUN), at_work is not None)} for name in known],
        "runs": [_sweep(out, name) for name in names],
    }  # fmt: skip


def _stage(out: Path, name: str, facts: dict[str, Any], at_work: bool) -> dict[str, Any]:
    state, missing = facts["state"], []
    if state == "done":
        folder = out / facts.get("folder", "")
        manifest = read_manifest(folder, name)
        missing = [str(manifest_path(folder, name))] if manifest is None else damaged_files(folder, manifest)
    state = "damaged" if missing else "stopped" if state == "running" and not at_work else state
    return {"state": state, **{key: facts[key] for key in ("since", "until", "text")}, "missing": missing}


def _sweep(out: Path, name: str) -> dict[str, Any]:
    folder = run_folder(out, name)
    told = {"run": name, "items": None, "done": None, "errors": {}, "complete": False, "process": holder(folder / LOCK)}
    try:
        found = progress_of(folder)
    except CatalogError as error:
        return {**told, "text": str(error)}
    return {**told, **asdict(found), "text": f"{found.done:,} of {many(found.items, 'item')}{error_text(found.errors)}"}


def status_text(status: dict[str, Any]) -> str:
    """The status on a few lines; times as the clock here shows them."""
    lines = [status["folder"] + (f", by {status['file']}" if status["file"] else "")]
    for stage in status["stages"]:
        moment = stage["until"] or stage["since"]
        when = "" if moment is None else datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
        first_line = stage["text"].split("\n", 1)[0]
        lines.append(f"  {stage['name']:<9} {stage['state']:<10} {when:<17} {first_line}".rstrip())
        if stage["missing"]:
            lines.append(f"{'':<23}missing or changed: {many(len(stage['missing']), 'file')}, first {stage['missing'][0]}")
    for run in status["runs"]:
        how = "complete" if run["complete"] else "running" if run["process"] else "stopped"
        lines.append(f"  run {run['run']}  {how}: {run['text']}{who(run['process'])}")
    if status["process"]:
        lines.append(f"  at work{who(status['process'])}")
    return "\n".join(lines)
