"""A temporary folder for Spark's files that does not outlive its process for long.

A process that is killed removes nothing. So each folder holds a file that its process has locked, and whoever makes the next
folder removes those beside it whose locks are free.

    planscope-spark-x7c2_/.held    in the folder for temporary files
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from experiments.pipeline.spark.lock import hold, holder

_PREFIX, _HELD = "planscope-spark-", ".held"


class Scratch:
    """`folder`: new and empty but for hidden files, until `remove`."""

    def __init__(self) -> None:
        for held in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_HELD}"):  # of this user: others' folders cannot be read
            if holder(held) is None:
                shutil.rmtree(held.parent, ignore_errors=True)
        new = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
        self._lock = ExitStack()
        self._lock.enter_context(hold(new / _HELD, str(new)))
        self.folder = new.with_name(new.name.removeprefix("."))
        new.rename(self.folder)  # only now can others see it: with its lock

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()
