"""What is needed to replay a bug of ours, written to disk instead of a traceback on the terminal."""

import json
import os
import platform
import tempfile
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.redacted import command_text
from experiments.workloads.cache import cache_folder


def write_case(error: BaseException, arguments: list[str], facts: dict[str, Any], version: str) -> Path | None:
    """A bundle of the query that was at work, with the error in it (`experiments.bundles`); where there was none, or it cannot be
    bundled, a JSON file with the command line and the traceback. None when no folder takes it.

    It goes to the folder `cases` of planscope's cache, or where that is not writable to a temporary folder; only its owner may
    read it, and it appears whole or not at all. Never raises.
    """
    bundled = _bundled(error, facts)
    ending, content = (".zip", bundled) if bundled is not None else (".json", _described(error, arguments, facts, version))
    name = f"case-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}{ending}"
    for folder in (_cases, lambda: Path(tempfile.mkdtemp(prefix="planscope-"))):
        try:
            path = folder() / name
            part = path.with_name(f".{name}.part")
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
            os.replace(part, path)
        except OSError:
            continue
        return path
    return None


def _bundled(error: BaseException, facts: dict[str, Any]) -> bytes | None:
    """The bundle as bytes: its query is planned again, since the error may have come while it was."""
    session, sql = facts.get("session"), facts.get("sql")
    if session is None or sql is None:
        return None
    try:
        from experiments.bundles.bundle import bundle_bytes, make_bundle

        bundle = make_bundle(sql, session.catalog, session.settings, session.program)
        about = {**bundle.about, "raised": f"{type(error).__name__}: {error}", "at": _frames(error)}
        return bundle_bytes(replace(bundle, about=about))
    except Exception:  # the first error is the one to tell of
        return None


def _frames(error: BaseException) -> list[str]:
    """Where it was raised, innermost last: file names without their folders."""
    found = traceback.extract_tb(error.__traceback__)
    return [f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in found]


def _described(error: BaseException, arguments: list[str], facts: dict[str, Any], version: str) -> bytes:
    case = {
        "format": "planscope-case",
        "version": 1,
        "command": command_text(arguments),
        **{name: facts.get(name) for name in ("sql", "data", "settings", "program")},
        "error": f"{type(error).__name__}: {error}",
        "traceback": traceback.format_exception(error),
        "versions": {"planscope": version, "python": platform.python_version()},
    }
    return json.dumps(case, indent=2, default=str, ensure_ascii=True).encode()


def _cases() -> Path:
    """The folder for cases, which nobody else may read: there may be data in SQL and in errors."""
    folder = cache_folder() / "cases"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder
