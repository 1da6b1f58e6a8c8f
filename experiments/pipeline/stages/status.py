"""What a pipeline's folder holds: which stages are done, since when, what runs, what failed, what is missing."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from experiments.bench.store import LOCK
from experiments.lock import holder, who
from experiments.pipeline.spark.manifest import damaged_files, manifest_path, read_manifest
from experiments.pipeline.stages.run import lock_file, read_state
from experiments.pipeline.stages.stages import ORDER, error_text
from experiments.pipeline.sweep.run import progress_of, run_folder, runs
from optimizer.errors import CatalogError, many

_NOT_BEGUN = {"state": "not begun", "since": None, "until": None, "text": ""}


def pipeline_status(out: Path) -> dict[str, Any]:
    """{"folder", "file", "process", "stages": [{"name", "state", "since", "until", "text", "missing"}], "runs": [...]}.

    `state`: done, damaged (files of its manifest are `missing` or of another size), running, stopped, failed or not begun.
    `process`: who is at work, None for nobody. A run: {"run", "items", "done", "errors", "complete", "process", "text"}.
    Raises CatalogError when `out` holds neither a pipeline nor results of a sweep.
    """
    out = out.absolute()
    state, names, at_work = read_state(out), runs(out), holder(lock_file(out))
    if state is None and not names:
        there = "" if out.is_dir() else ": there is no such folder"
        raise CatalogError(f"no pipeline was run in {out}{there}\nplanscope pipeline run SPEC.toml -o {out} does that")
    begun, planned = (state["stages"], state["planned"]) if state is not None else ({}, ())
    known = [name for name in ORDER if name in begun or name in planned]
    return {
        "folder": str(out),
        "file": None if state is None else state["file"],
        "process": at_work,
        "stages": [{"name": name, **_stage(out, name, begun.get(name, _NOT_BEGUN), at_work is not None)} for name in known],
        "runs": [_run(out, name) for name in names],
    }


def _stage(out: Path, name: str, facts: dict[str, Any], at_work: bool) -> dict[str, Any]:
    state, missing = facts["state"], []
    if state == "done":
        folder = out / facts.get("folder", "")
        manifest = read_manifest(folder, name)
        missing = [str(manifest_path(folder, name))] if manifest is None else damaged_files(folder, manifest)
    state = "damaged" if missing else "stopped" if state == "running" and not at_work else state
    return {"state": state, **{key: facts[key] for key in ("since", "until", "text")}, "missing": missing}


def _run(out: Path, name: str) -> dict[str, Any]:
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
