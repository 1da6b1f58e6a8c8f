"""What a stage did, written beside its result: what went in, with which settings and versions, and which files came out.

    FOLDER/_planscope/manifests/STAGE.json

A stage is done when its manifest says so for the same inputs and settings and every file it lists is there; the manifest is
written last, so a stage that was interrupted is not done.
"""

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

from executor.atomic import make_folder, write_file
from experiments.lock import now
from experiments.pipeline.spark.errors import PipelineError
from optimizer.catalog.folder import METADATA_FOLDER

VERSION = 1
MANIFESTS = "manifests"
Facts = Mapping[str, Any]
Files = Iterable[Path | str] | Mapping[str, Facts]


def write_manifest(
    folder: Path, stage: str, *, inputs: Facts, settings: Facts, counts: Facts, files: Files, what: str = ""
) -> None:
    """Says that `stage` is done in `folder`; `what` it made, in words. `files`: absolute paths within `folder`, or paths
    relative to it, which are read here for their checksums; or, where tasks knew them already, the `file_facts` of each by
    relative path. Raises PipelineError for a file that is missing, OutputError."""
    if not isinstance(files, Mapping):
        files = {path.relative_to(folder).as_posix(): file_facts(path) for path in (folder / file for file in files)}
    manifest = {
        "format": "planscope-manifest", "version": VERSION, "stage": stage, "what": what, "finished": now(), "inputs": inputs,
        "settings": settings, "counts": counts, "versions": versions("pyarrow", "pyspark"), "files": dict(sorted(files.items())),
    }  # fmt: skip
    make_folder(manifest_path(folder, stage).parent)
    write_file(manifest_path(folder, stage), json.dumps(plain(manifest), indent=1, ensure_ascii=False) + "\n")


def read_manifest(folder: Path, stage: str) -> dict[str, Any] | None:
    """What `write_manifest` wrote; None if it is not there, damaged, or of another version."""
    found = read_facts(manifest_path(folder, stage), VERSION, {"stage", "inputs", "settings", "counts", "files"})
    return found if found is not None and found["stage"] == stage and isinstance(found["files"], dict) else None


def read_facts(path: Path, version: int, names: Set[str]) -> dict[str, Any] | None:
    """The JSON object in a file; None if it is not there, damaged, of another version, or without one of `names`."""
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return found if found["version"] == version and names <= found.keys() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def finished(folder: Path, stage: str, inputs: Facts, settings: Facts) -> dict[str, Any] | None:
    """The manifest of `stage` if it was finished in `folder` with these inputs and settings, and its files have their sizes."""
    found = read_manifest(folder, stage)
    same = found is not None and found["inputs"] == plain(inputs) and found["settings"] == plain(settings)
    return found if found is not None and same and not damaged_files(folder, found) else None


def damaged_files(folder: Path, manifest: Facts) -> list[str]:
    """The files of a manifest that are not there, or of another size."""
    sizes = {name: (folder / name, facts.get("bytes")) for name, facts in manifest["files"].items()}
    return [name for name, (path, size) in sizes.items() if not path.is_file() or path.stat().st_size != size]


def manifest_path(folder: Path, stage: str) -> Path:
    return folder / METADATA_FOLDER / MANIFESTS / f"{stage}.json"


def file_facts(path: Path) -> dict[str, Any]:
    """Size and checksum of a file, as a manifest lists them. Raises PipelineError if it cannot be read."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            return {"bytes": file.tell(), "sha256": digest.hexdigest()}
    except OSError as error:
        raise PipelineError(f"cannot read {path}: {error.strerror}") from error


def versions(*packages: str) -> dict[str, str]:
    """Of Python, planscope and some packages, which are installed."""
    from experiments.cli import version

    found = {package: importlib.metadata.version(package) for package in packages}
    return {"python": platform.python_version(), "planscope": version(), **found}


def plain(value: Any) -> Any:
    """As JSON reads it back: tuples are lists, keys text, and what JSON does not know (paths, decimals) is text."""
    return json.loads(json.dumps(value, default=str))
