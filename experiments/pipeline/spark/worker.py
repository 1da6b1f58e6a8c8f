"""The product's packages on Spark's workers, and the functions that run there.

Workers that do not have the packages get them as one zip file. They import from it and then unpack it beside itself, since
workloads read files of their own packages. An exception is an outcome like any other, so that Spark neither repeats a task that
fails by itself nor wraps its message. Only a process that dies is Spark's to repeat.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import tempfile
import traceback
import uuid
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.pipeline.spark.errors import explain, translated
from optimizer.errors import PlanscopeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent.parent.parent
_PACKAGES = ("planscope", "optimizer", "executor", "memo_viz", "experiments")


def ship(session: SparkSession, folder: Path) -> None:
    """Gives the workers the product's code, by way of planscope-ID.zip in `folder`; this process goes on with its own."""
    target, modules = folder / f"planscope-{uuid.uuid4().hex}.zip", list(sys.path)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for path in (path for package in _PACKAGES for path in (ROOT / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
                archive.write(path, path.relative_to(ROOT))
    with translated("cannot ship planscope to the Spark workers"):
        session.addArtifacts(str(target), pyfile=True)
    sys.path[:] = modules


def run_one(name: str, task: str) -> str:
    """What Spark calls for each row: the `outcome` of a task, a JSON object. `name` is "module:function"."""
    archive = next((path for path in Path(__file__).parents if path.suffix == ".zip" and path.is_file()), None)
    run = outcome if archive is None else _unpacked(archive)
    return run(name, task)


def outcome(name: str, task: str) -> str:
    """A JSON object: `result`, or `error`, the message of what was raised."""
    try:
        module, function = name.split(":")
        return json.dumps({"result": getattr(importlib.import_module(module), function)(json.loads(task))})
    except Exception as error:
        return json.dumps({"error": failure(error)})


def failure(error: Exception) -> str:
    """What a task says of an exception; of one that is no PlanscopeError also the innermost line of our code that raised it."""
    if isinstance(error, ModuleNotFoundError):
        return explain(error)
    if isinstance(error, PlanscopeError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename != __file__ and "site-packages" not in frame.filename] or frames
    return f"{type(error).__name__}: {error}" + (f" ({Path(ours[-1].filename).name}:{ours[-1].lineno})" if ours else "")


def _unpacked(archive: Path) -> Callable[[str, str], str]:
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
    unpacked: Callable[[str, str], str] = importlib.import_module("experiments.pipeline.spark.worker").outcome
    return unpacked
