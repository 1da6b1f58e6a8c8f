"""A temporary folder for Spark's files that does not outlive its process for long.

A process that is killed removes nothing. So each folder holds a file that its process has locked, and whoever makes the next
folder removes those beside it whose locks are free.

    planscope-spark-x7c2_/.held    in the folder for temporary files
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PREFIX, _NEW = "planscope-spark-", ".planscope-spark-"
_HELD = ".held"


class Scratch:
    """`folder`: new and empty but for hidden files, until `remove`."""

    def __init__(self) -> None:
        if fcntl is not None:
            _remove_abandoned()
        new = Path(tempfile.mkdtemp(prefix=_NEW))
        self._lock = (new / _HELD).open("wb")
        if fcntl is not None:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.folder = new.with_name(new.name.removeprefix("."))
        new.rename(self.folder)  # only now can others see it: with its lock

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()


def _remove_abandoned() -> None:
    """The folders of this user whose processes are gone."""
    for held in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_HELD}"):
        with suppress(OSError), held.open("r+b") as lock:
            if os.fstat(lock.fileno()).st_uid == os.getuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(held.parent, ignore_errors=True)
