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
from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.pipeline.spark.errors import explain
from optimizer.errors import PlanscopeError

Outcome = dict[str, str | None]


def run_one(position: int, name: str, tasks: Sequence[str]) -> str:
    """What Spark calls for each row: runs the task at `position` of `tasks`; its `outcome`, as JSON text.

    `name` is "module:function", `tasks` are JSON objects.
    """
    archive = _archive()
    run = outcome if archive is None else _unpacked(archive)
    return json.dumps(run(name, tasks[position]))


def outcome(name: str, task: str) -> Outcome:
    """`result`, the task's as JSON text, or `error`, the message of what it raised; the other is null."""
    try:
        module, function = name.split(":")
        result = getattr(importlib.import_module(module), function)(json.loads(task))
        return {"result": json.dumps(result), "error": None}
    except Exception as error:
        return {"result": None, "error": failure(error)}


def failure(error: Exception) -> str:
    """What a task says of an exception; of one that is no PlanscopeError also where it was raised."""
    if isinstance(error, ModuleNotFoundError):
        return explain(error)
    return str(error) if isinstance(error, PlanscopeError) else f"{type(error).__name__}: {error}{_where(error)}"


def _where(error: Exception) -> str:
    """The innermost line of our own code that raised: what a bug report needs."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename != __file__ and "site-packages" not in frame.filename] or frames
    return f" ({Path(ours[-1].filename).name}:{ours[-1].lineno})" if ours else ""


def _archive() -> Path | None:
    """The zip file that this module was imported from, if it was."""
    return next((path for path in Path(__file__).parents if path.suffix == ".zip" and path.is_file()), None)


def _unpacked(archive: Path) -> Callable[[str, str], Outcome]:
    """`outcome` as imported from unpacked files: a package inside a zip cannot read the data files beside its modules."""
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
    unpacked: Callable[[str, str], Outcome] = importlib.import_module("experiments.pipeline.spark.worker").outcome
    return unpacked
