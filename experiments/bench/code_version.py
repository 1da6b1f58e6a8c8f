"""Which code made a result: planscope's version and a digest of the source that a result depends on."""

import hashlib
import importlib.metadata
import importlib.util
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

_SWEEP = "experiments/pipeline/sweep/"
_FILES = ("memo_viz/q_error.py", _SWEEP + "measure.py", _SWEEP + "plan_shape.py")
_FOLDERS = ("optimizer", "executor", "experiments")
_BESIDE = tuple(f"experiments/{name}" for name in ("cli.py", "commands/", "data_view/", "demo.py", "documentation/", "pipeline/"))


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """Of those that are installed."""
    found = {}
    for name in packages:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


@cache
def code_digest() -> str:
    """Twelve hex digits over the source of the optimizer, the executors and the experiments, but for what no result depends on
    (_BESIDE), and all files of workloads."""
    root, digest = _root(), hashlib.sha256()
    source = {name for folder in _FOLDERS for name in _names(root, folder, "*.py") if not name.startswith(_BESIDE)}
    inputs = {name for name in _names(root, "experiments/workloads", "*.*") if not name.endswith(".pyc")}
    for name in sorted({*_FILES, *source, *inputs}):
        digest.update(name.encode() + b"\0" + (root / name).read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _names(root: Path, folder: str, pattern: str) -> set[str]:
    return {path.relative_to(root).as_posix() for path in (root / folder).rglob(pattern)}


@cache
def commit() -> str | None:
    """The git commit of the source, with `-changed` behind it where files differ; None where it is no clone."""
    root = _root()
    if not (root / ".git").exists():
        return None
    describe = ("git", "-C", str(root), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=-changed")
    try:
        return subprocess.run(describe, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _root() -> Path:
    spec = importlib.util.find_spec("optimizer")
    assert spec is not None and spec.origin is not None, "optimizer is not an installed package"
    return Path(spec.origin).parent.parent
