"""Datasets made on first use and kept in a cache folder, each one whole or not there at all.

A dataset is built in a hidden folder beside its final place, checked, given a manifest, and renamed. An interrupted build
leaves only the hidden folder, which the next build of that dataset removes. A lock file keeps two processes from building
the same dataset at once.

    ~/.cache/planscope/tpch-0.1/                    a finished dataset
    ~/.cache/planscope/tpch-0.1/_planscope/manifest.json
    ~/.cache/planscope/.tpch-0.1.lock
    ~/.cache/planscope/.tpch-0.1.x7c2_.partial/     under construction, or left over
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from optimizer.errors import CatalogError

Progress = Callable[[str], None]
MANIFEST = Path("_planscope") / "manifest.json"
_VERSION = 4  # of what the builds write; a dataset of another version is made again


def cache_folder() -> Path:
    """`$PLANSCOPE_HOME`, or `~/.cache/planscope`; absolute, perhaps not there yet."""
    home = os.environ.get("PLANSCOPE_HOME")
    return Path(os.path.expanduser(home)).absolute() if home else Path.home() / ".cache" / "planscope"


def cached_dataset(name: str, build: Callable[[Path], None], progress: Progress) -> Path:
    """The folder of dataset `name`, built now if it is not there or not whole.

    `build` fills the empty folder it is given and checks what it wrote; if it raises, nothing remains. Raises
    CatalogError when the cache folder cannot be written.
    """
    home = cache_folder()
    target = home / name
    if is_whole(target):
        return target
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _locked(home / f".{name}.lock", lambda: progress(f"waiting for another process that is making {name}")):
            if is_whole(target):
                return target
            for left in home.glob(f".{name}.*.partial"):  # nobody else builds while we hold the lock
                shutil.rmtree(left, ignore_errors=True)
            return _build(home, name, build, progress)
    except OSError as error:
        raise CatalogError(
            f"cannot write {error.filename or home}: {error.strerror or error}\n"
            "set PLANSCOPE_HOME to a folder that can be written and has space"
        ) from error


def is_whole(folder: Path) -> bool:
    """Whether `folder` has a manifest of this version and every file it lists, each with the contents it had.

    A file whose time of change is the one it had is taken by its size; of one that was written since, or copied, the digest is
    compared, and the new time noted.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        found = {file: (folder / file).stat() for file in manifest["files"]}
        if manifest["version"] != _VERSION or any(found[file].st_size != size for file, size in manifest["files"].items()):
            return False
        times, digests = manifest.get("changed", {}), manifest.get("sha256", {})
        touched = [file for file, stat in found.items() if times.get(file) != stat.st_mtime_ns]
        if any(file in digests and _digest(folder / file) != digests[file] for file in touched):
            return False
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    if touched:
        with contextlib.suppress(OSError):  # of a cache that cannot be written
            _write_manifest(folder, manifest["dataset"])
    return True


def _build(home: Path, name: str, build: Callable[[Path], None], progress: Progress) -> Path:
    target = home / name
    if target.exists():
        progress(f"{target} is damaged or of another version: making it again")
    partial = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".partial", dir=home))
    try:
        partial.chmod(0o755)
        build(partial)
        _write_manifest(partial, name)
        _swap(partial, target)
        return target
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _swap(partial: Path, target: Path) -> None:
    """Put `partial` in the place of `target`, which may be missing or damaged, with next to no moment in between."""
    if target.exists():
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
        target.rename(aside / "damaged")
        partial.rename(target)
        shutil.rmtree(aside, ignore_errors=True)
    else:
        partial.rename(target)


def _write_manifest(folder: Path, name: str) -> None:
    """Lists all files but those below `_planscope`: a later analysis changes them, and the data is still whole."""
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    paths = {name: path for name, path in paths.items() if not name.startswith(f"{MANIFEST.parent.name}/")}
    content = {
        "version": _VERSION,
        "dataset": name,
        "files": {name: path.stat().st_size for name, path in paths.items()},
        "changed": {name: path.stat().st_mtime_ns for name, path in paths.items()},
        "sha256": {name: _digest(path) for name, path in paths.items()},
    }
    (folder / MANIFEST).parent.mkdir(exist_ok=True)
    temporary = folder / MANIFEST.with_name(f".manifest.{os.getpid()}.part")
    temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    os.replace(temporary, folder / MANIFEST)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold an exclusive lock, which ends with the process at the latest; `waiting` is called if somebody else has it."""
    import fcntl  # not on Windows, where the rest of this file is of use

    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
