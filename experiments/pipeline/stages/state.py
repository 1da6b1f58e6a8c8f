"""How each stage of a pipeline went, in DIR/_planscope/pipeline.json: for people and `planscope pipeline status`.

What is done is decided by the stages themselves, from manifests and files; this only remembers words and times.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from executor.atomic import make_folder, write_file

VERSION = 1


class State:
    """`planned`: names of stages in order; `stages`: of those that were begun, by name, {"state": running, done, failed or
    stopped, "since", "until", "text", "folder"}. `file`: the specification."""

    def __init__(self, out: Path, file: str, planned: tuple[str, ...], stages: dict[str, dict[str, Any]]) -> None:
        self.out, self.file, self.planned, self.stages = out, file, planned, stages

    def begin(self, stage: str) -> None:
        self._set(stage, state="running", since=_now(), until=None, text="")

    def end(self, stage: str, state: str, text: str, folder: str = "") -> None:
        self._set(stage, state=state, until=_now(), text=text, folder=folder)

    def _set(self, stage: str, **facts: Any) -> None:
        self.stages[stage] = {**self.stages.get(stage, {}), **facts}
        self.write()

    def write(self) -> None:
        """Raises OutputError."""
        content = {"version": VERSION, "file": self.file, "planned": list(self.planned), "stages": self.stages}
        path = state_file(self.out)
        make_folder(path.parent)
        write_file(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_state(out: Path) -> State | None:
    """None when no pipeline was ever run in `out`, or nobody can tell."""
    try:
        found = json.loads(state_file(out).read_text(encoding="utf-8"))
        return State(out, found["file"], tuple(found["planned"]), found["stages"]) if found["version"] == VERSION else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def state_file(out: Path) -> Path:
    return out / "_planscope" / "pipeline.json"


def lock_file(out: Path) -> Path:
    return out / "_planscope" / "pipeline.lock"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
