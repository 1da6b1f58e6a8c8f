"""What is heard of a Spark job while it runs."""

import threading
from collections.abc import Iterator
from itertools import count, pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest

from executor.spark import waiting


def test_the_same_is_told_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds: Iterator[int] = count()
    told: list[int] = []
    enough = threading.Event()
    monkeypatch.setattr(waiting, "monotonic", lambda: next(seconds))
    monkeypatch.setattr(waiting, "_POLL_SECONDS", 0.0)
    monkeypatch.setattr(waiting, "_tasks_done", lambda spark: "0 of 1 tasks done")

    def say(line: str) -> None:
        told.append(next(seconds))
        if len(told) == 4:
            enough.set()

    nothing = lambda *_: None  # noqa: E731
    context = SimpleNamespace(setJobDescription=nothing, addJobTag=nothing, cancelJobsWithTag=nothing)
    waiting.waited(cast(Any, _Session(context)), lambda: enough.wait(), "counting", say)
    gaps = [later - earlier for earlier, later in pairwise(told)]
    assert gaps[0] < gaps[1] < gaps[2]


class _Session:
    """As much of a Spark session as waiting needs."""

    def __init__(self, context: object) -> None:
        self.sparkContext = context
