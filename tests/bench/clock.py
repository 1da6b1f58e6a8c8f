"""A clock for limits of time: it moves where an item says so, in whichever process. It is a file, a byte long for each second."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

_FILE = "PLANSCOPE_TEST_CLOCK"


def stop_clock(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """From now on the runner of experiments in this process looks at such a clock, and its children know of it."""
    file = folder / "clock"
    file.touch()
    monkeypatch.setenv(_FILE, str(file))
    monkeypatch.setattr("experiments.bench.child.monotonic", lambda: file.stat().st_size)


def pass_time(seconds: int) -> None:
    if clock := os.environ.get(_FILE):
        with open(clock, "ab") as file:
            file.write(bytes(seconds))
