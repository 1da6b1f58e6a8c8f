"""What an import has done so far, kept beside the raw parts: an interrupted one goes on from there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


class State:
    """Results of steps by name, as JSON files in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, step: str) -> Any:
        """None when the step was not finished."""
        try:
            return json.loads((self._folder / f"{step}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def put(self, step: str, result: Any) -> Any:
        """Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        temporary = self._folder / f".{step}.json"
        temporary.write_text(json.dumps(result), encoding="utf-8")
        os.replace(temporary, self._folder / f"{step}.json")
        return result

    def once(self, step: str, compute: Callable[[], Any]) -> Any:
        """The result of `step`, computed unless it is there."""
        known = self.get(step)
        return self.put(step, compute()) if known is None else known
