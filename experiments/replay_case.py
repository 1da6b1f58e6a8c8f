"""What is needed to replay a bug of ours, written to disk instead of a traceback on the terminal."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shlex
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from experiments.workloads.cache import cache_folder

LIBRARIES = ("pyarrow", "sqlglot", "numpy", "networkx", "pygraphviz", "click", "rich")


def write_case(error: BaseException, arguments: list[str], facts: dict[str, Any], version: str) -> Path | None:
    """A JSON file with the command line, SQL, data, settings, program, versions and traceback; None when no folder takes it.

    It goes to the folder `cases` of planscope's cache, or where that is not writable to the system's temporary folder.
    """
    case = {
        "format": "planscope-case",
        "version": 1,
        "command": "planscope " + shlex.join(arguments),
        **{name: facts.get(name) for name in ("sql", "data", "settings", "program")},
        "error": f"{type(error).__name__}: {error}",
        "traceback": traceback.format_exception(error),
        "versions": {"planscope": version, "python": platform.python_version(), **_versions()},
    }
    name = f"case-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.json"
    text = json.dumps(case, indent=2, default=str, ensure_ascii=True)
    for folder in _folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        except OSError:
            continue
        return folder / name
    return None


def _folders() -> list[Path]:
    return [cache_folder() / "cases", Path(tempfile.gettempdir())]


def _versions() -> dict[str, str]:
    found = {}
    for library in LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            found[library] = "missing"
    return found
