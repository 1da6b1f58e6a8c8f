"""What a pipeline's folder holds: which stages are done, since when, what runs, what failed, what is missing."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from experiments.pipeline.spark.lock import holder
from experiments.pipeline.spark.manifest import damaged_files, manifest_path, read_manifest
from experiments.pipeline.stages.stage import ORDER
from experiments.pipeline.stages.state import lock_file, read_state
from experiments.pipeline.stages.sweep_stages import error_text
from experiments.pipeline.sweep.results import LOCK, progress_of, run_folder, runs
from optimizer.errors import CatalogError


def pipeline_status(out: Path) -> dict[str, Any]:
    """{"folder", "file", "process", "stages": [{"name", "state", "since", "until", "text", "missing"}], "runs": [...]}.

    `state`: done, damaged (files of its manifest are `missing` or of another size), running, stopped, failed or not begun.
    `process`: who is at work, None for nobody. A run: {"run", "items", "done", "errors", "complete", "process"}.
    Raises CatalogError when `out` holds neither a pipeline nor results of a sweep.
    """
    out = out.absolute()
    state, names = read_state(out), runs(out)
    if state is None and not names:
        there = "" if out.is_dir() else ": there is no such folder"
        raise CatalogError(f"no pipeline was run in {out}{there}\nplanscope pipeline run SPEC.toml -o {out} does that")
    at_work = holder(lock_file(out))
    stages = []
    for name in ORDER:
        facts = state.stages.get(name) if state is not None else None
        if facts is None and (state is None or name not in state.planned):
            continue
        stages.append({"name": name, **_stage(out, name, facts, at_work is not None)})
    return {
        "folder": str(out),
        "file": state.file if state is not None else None,
        "process": at_work,
        "stages": stages,
        "runs": [_run(out, name) for name in names],
    }


def _stage(out: Path, name: str, facts: dict[str, Any] | None, at_work: bool) -> dict[str, Any]:
    if facts is None:
        return {"state": "not begun", "since": None, "until": None, "text": "", "missing": []}
    state = facts["state"]
    if state == "running" and not at_work:
        state = "stopped"
    missing = _missing(out / facts.get("folder", ""), name) if state == "done" else []
    return {
        "state": "damaged" if missing else state,
        "since": facts["since"],
        "until": facts["until"],
        "text": facts["text"],
        "missing": missing,
    }


def _missing(folder: Path, name: str) -> list[str]:
    """Files that the manifest of a stage lists and that are not as they were, or the manifest."""
    manifest = read_manifest(folder, name)
    if manifest is None:
        return [str(manifest_path(folder, name))]
    return damaged_files(folder, manifest)


def _run(out: Path, name: str) -> dict[str, Any]:
    folder = run_folder(out, name)
    process = holder(folder / LOCK)
    try:
        found = progress_of(folder)
    except CatalogError as error:
        return {"run": name, "items": None, "done": None, "errors": {}, "complete": False, "process": process, "text": str(error)}
    return {
        "run": name,
        "items": found.items,
        "done": found.done,
        "errors": found.errors,
        "complete": found.complete,
        "process": process,
        "text": f"{found.done:,} of {found.items:,} items{error_text(found.errors)}",
    }


def status_text(status: dict[str, Any]) -> str:
    """The status on a few lines."""
    lines = [status["folder"] + (f", by {status['file']}" if status["file"] else "")]
    for stage in status["stages"]:
        lines.append(f"  {stage['name']:<9} {stage['state']:<10} {_when(stage):<17} {_first_line(stage['text'])}".rstrip())
        if stage["missing"]:
            lines.append(f"{'':<23}{len(stage['missing'])} files are missing or changed, first {stage['missing'][0]}")
    for run in status["runs"]:
        how = "complete" if run["complete"] else "running" if run["process"] else "stopped"
        lines.append(f"  run {run['run']}  {how}: {run['text']}{_who(run['process'])}")
    if status["process"]:
        lines.append(f"  at work{_who(status['process'])}")
    return "\n".join(lines)


def _when(stage: dict[str, Any]) -> str:
    """The time of the last change, as the clock here shows it."""
    moment = stage["until"] or stage["since"]
    return "" if moment is None else datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def _who(process: dict[str, Any] | None) -> str:
    if not process:
        return ""
    return f" (process {process['process']} on {process['host']}, since {process['since']})"


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0]
