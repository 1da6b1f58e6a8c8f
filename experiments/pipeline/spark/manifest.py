"""What a stage did, written beside its result: what went in, with which settings and versions, and which files came out.

    FOLDER/_planscope/manifests/STAGE.json

A stage is done when its manifest says so for the same inputs and settings and every file it lists is there; the manifest is
written last, so a stage that was interrupted is not done.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from executor.atomic import make_folder, write_file
from experiments.pipeline.spark.errors import PipelineError

VERSION = 1
_PACKAGES = ("planscope", "pyarrow", "pyspark")
_BLOCK = 1 << 20


def write_manifest(
    folder: str | os.PathLike[str],
    stage: str,
    *,
    inputs: Mapping[str, Any],
    settings: Mapping[str, Any],
    counts: Mapping[str, Any],
    files: Iterable[str | os.PathLike[str]] | Mapping[str, Mapping[str, Any]],
) -> Path:
    """Says that `stage` is done in `folder`, and returns the manifest's path.

    `files`: absolute paths within `folder`, or paths relative to it, which are read here for their checksums; or, where tasks
    knew them already, the `file_facts` of each by relative path. Raises PipelineError for a file that is missing, OutputError.
    """
    root = Path(folder)
    if isinstance(files, Mapping):
        listed = {name: dict(facts) for name, facts in files.items()}
    else:
        paths = [root / file for file in files]
        listed = {path.relative_to(root).as_posix(): file_facts(path) for path in paths}
    manifest = {
        "format": "planscope-manifest",
        "version": VERSION,
        "stage": stage,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "inputs": inputs,
        "settings": settings,
        "counts": counts,
        "versions": versions(),
        "files": dict(sorted(listed.items())),
    }
    path = manifest_path(folder, stage)
    make_folder(path.parent)
    write_file(path, json.dumps(plain(manifest), indent=1, ensure_ascii=False) + "\n")
    return path


def read_manifest(folder: str | os.PathLike[str], stage: str) -> dict[str, Any] | None:
    """What `write_manifest` wrote; None if it is not there, damaged, or of another version."""
    try:
        manifest = json.loads(manifest_path(folder, stage).read_text("utf-8"))
        known = manifest["version"] == VERSION and manifest["stage"] == stage and isinstance(manifest["files"], dict)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return manifest if known else None


def is_done(folder: str | os.PathLike[str], stage: str, inputs: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Whether `stage` was finished in `folder` with these inputs and settings, and all its files have the size they had."""
    manifest = read_manifest(folder, stage)
    if manifest is None or manifest["inputs"] != plain(inputs) or manifest["settings"] != plain(settings):
        return False
    return not damaged_files(folder, manifest)


def damaged_files(folder: str | os.PathLike[str], manifest: Mapping[str, Any]) -> list[str]:
    """The files of a manifest that are not there, or of another size."""

    def size(name: str) -> int | None:
        try:
            return (Path(folder) / name).stat().st_size
        except OSError:
            return None

    return [name for name, facts in manifest["files"].items() if size(name) != facts.get("bytes")]


def manifest_path(folder: str | os.PathLike[str], stage: str) -> Path:
    return Path(folder) / "_planscope" / "manifests" / f"{stage}.json"


def file_facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Size and checksum of a file, as a manifest lists them. Raises PipelineError if it cannot be read."""
    digest, size = hashlib.sha256(), 0
    try:
        with open(path, "rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                size += len(block)
    except OSError as error:
        raise PipelineError(f"cannot read {path}: {error.strerror}") from error
    return {"bytes": size, "sha256": digest.hexdigest()}


def versions() -> dict[str, str]:
    """Of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def plain(value: Any) -> Any:
    """As JSON reads it back: tuples are lists, keys text, and what JSON does not know (paths, decimals) is text."""
    return json.loads(json.dumps(value, default=str))
