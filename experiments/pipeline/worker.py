"""The worker's side of `run_tasks`: finds the function by name, runs it on one task, and packs up what came of it.

An exception is an outcome like any other, so that Spark neither repeats a task that fails by itself nor wraps its message.
Only a process that dies is Spark's to repeat.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import tempfile
import traceback
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

OUTCOME = "position bigint, result string, error string, kind string"  # exactly one of `result` and `error` is not NULL
_SCHEMA = pa.schema([("position", pa.int64()), ("result", pa.string()), ("error", pa.string()), ("kind", pa.string())])


def run_batches(batches: Iterator[pa.RecordBatch], name: str, tasks: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """What Spark calls: one row in per task, its position in `tasks` in the column `id`; one OUTCOME row out for each.

    `name` is "module:function", `tasks` are JSON objects.
    """
    run = _unpacked() if ".zip" in __file__ else outcome
    for batch in batches:
        for position in batch.column("id").to_pylist():
            yield pa.RecordBatch.from_pylist([{"position": position, **run(name, tasks[position])}], _SCHEMA)


def outcome(name: str, task: str) -> dict[str, str | None]:
    """The result of one task as JSON text, or the message of what it raised; `kind` is the exception's class."""
    try:
        module, function = name.split(":")
        result = getattr(importlib.import_module(module), function)(json.loads(task))
        return {"result": json.dumps(result), "error": None, "kind": None}
    except Exception as error:
        from optimizer.errors import PlanscopeError

        said = str(error) if isinstance(error, PlanscopeError) else f"{type(error).__name__}: {error}{_where(error)}"
        return {"result": None, "error": said, "kind": type(error).__name__}


def _where(error: Exception) -> str:
    """The innermost line of our own code that raised: what a bug report needs."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename != __file__ and "site-packages" not in frame.filename] or frames
    return f" ({Path(ours[-1].filename).name}:{ours[-1].lineno})" if ours else ""


def _unpacked() -> Any:
    """`outcome` as imported from unpacked files: a package inside a zip cannot read the data files beside its modules."""
    end = __file__.index(".zip") + len(".zip")
    archive = Path(__file__[:end])
    folder = archive.with_suffix(".unpacked")
    if not folder.is_dir():
        partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        with zipfile.ZipFile(archive) as file:
            file.extractall(partial)
        try:
            os.rename(partial, folder)
        except OSError:  # another worker of this machine was faster
            shutil.rmtree(partial, ignore_errors=True)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
        packages = {path.name for path in folder.iterdir()}
        for module in [module for module in sys.modules if module.partition(".")[0] in packages]:
            del sys.modules[module]
        importlib.invalidate_caches()
    return importlib.import_module("experiments.pipeline.worker").outcome
