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

    It goes to the folder `cases` of planscope's cache, or where that is not writable to a temporary folder; only its owner may
    read it.
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
    for folder in (_cases, _temporary):
        try:
            path = folder() / name
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
        except OSError:
            continue
        return path
    return None


def _cases() -> Path:
    """The folder for cases, which nobody else may read: there may be data in SQL and in errors."""
    folder = cache_folder() / "cases"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


def _temporary() -> Path:
    return Path(tempfile.mkdtemp(prefix="planscope-"))


def _versions() -> dict[str, str]:
    found = {}
    for library in LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            found[library] = "missing"
    return found
