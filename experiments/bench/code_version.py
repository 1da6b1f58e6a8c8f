"""Which code made a result: planscope's version and a digest of the source that a result depends on."""

from __future__ import annotations

import hashlib
import importlib.util
from functools import cache
from pathlib import Path

PARTS = ("optimizer", "executor", "experiments/workloads", "experiments/pipeline/sweep/measure.py")


@cache
def code_digest() -> str:
    """Twelve hex digits over the source files of the optimizer, the executors and the workloads."""
    spec = importlib.util.find_spec("optimizer")
    assert spec is not None and spec.origin is not None, "optimizer is not an installed package"
    root = Path(spec.origin).parent.parent
    digest = hashlib.sha256()
    for part in PARTS:
        path = root / part
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
