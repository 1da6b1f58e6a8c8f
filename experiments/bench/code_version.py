"""Which code made a result: planscope's version and a digest of the source that a result depends on."""

import hashlib
import importlib.util
import subprocess
from functools import cache
from pathlib import Path

_MEASURES = ("experiments/pipeline/sweep/measure.py", "experiments/pipeline/sweep/plan_shape.py")
PARTS = ("optimizer", "executor", "experiments/workloads", *_MEASURES)


@cache
def code_digest() -> str:
    """Twelve hex digits over the source files of the optimizer, the executors and the workloads."""
    root = _root()
    digest = hashlib.sha256()
    for part in PARTS:
        path = root / part
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


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
