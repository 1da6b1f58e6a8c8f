"""Files that appear whole or not at all."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from optimizer.errors import OutputError

PARTS: set[Path] = set()  # files that are being written
_DEVICE_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def atomic_output(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that takes the place of `path` when the block ends well; otherwise `path` stays as it was.

    What is written lies beside the target until then. A device or pipe is written directly. Raises OutputError when
    the target cannot be written, before the block starts wherever that can be known.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise OutputError(f"cannot write {path}: it is a folder" if os.fspath(path) else "cannot write a file without a name")
    given = Path(path)
    if given.exists() and not given.is_file():  # resolved, what /dev/stdout is may have no name
        with _full_told(path, given), _open(given, "wb", path) as file:
            yield file
        return
    if not target.parent.is_dir():
        raise OutputError(f"cannot write {path}: there is no folder {target.parent}")
    if target.exists() and not os.access(target, os.W_OK):
        raise OutputError(f"cannot write {path}: permission denied")
    name = os.fsencode(target.name)[:200].decode(errors="ignore")  # there are 255 bytes for a name
    temporary = target.with_name(f".{name}.{os.getpid()}.part")
    file = _open(temporary, "wb", path)
    PARTS.add(temporary)
    try:
        with _full_told(path, temporary):
            with file:
                yield file
            if target.exists():
                os.chmod(temporary, target.stat().st_mode & 0o777)
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
        PARTS.discard(temporary)


def write_file(path: str | os.PathLike[str], text: str) -> None:
    """`text` as the whole contents of `path`, in UTF-8. Raises OutputError."""
    with atomic_output(path) as file:
        file.write(text.encode("utf-8", "replace"))


def make_folder(path: str | os.PathLike[str]) -> Path:
    """The folder `path`, made with its parents if need be. Raises OutputError."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make folder {path}: {error.strerror}") from error
    return Path(path)


@contextmanager
def _full_told(shown: str | os.PathLike[str], written: Path) -> Iterator[None]:
    """A device that is full, or a file that cannot be written, becomes an OutputError."""
    try:
        yield
    except OSError as error:
        if error.errno in _DEVICE_FULL or error.filename == str(written):
            raise OutputError(f"cannot write {shown}: {error.strerror}") from error
        raise


def _open(path: Path, mode: str, shown: str | os.PathLike[str]) -> BinaryIO:
    try:
        return open(path, mode)  # type: ignore[return-value]
    except OSError as error:
        raise OutputError(f"cannot write {shown}: {error.strerror}") from error
