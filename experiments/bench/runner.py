"""Measures the items of an experiment that are not done yet, each in a child process with limits, and keeps rows as they come."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from experiments.bench.child import Child
from experiments.bench.experiment import Experiment, Item, Row
from experiments.bench.results import Results, identity

_PATIENCE = 0.5  # seconds between looks at what is done, so that Ctrl-C is heard


@dataclass(frozen=True)
class Limits:
    """For each item: seconds (0: any, and no child process) and megabytes (0: any). `jobs`: items measured at a time."""

    seconds: float
    megabytes: int = 0
    jobs: int = 1


def run(
    experiment: Experiment, items: Sequence[Item], results: Results, limits: Limits, progress: Callable[[str], None] | None = None
) -> None:
    """Measures what `results` lacks. Interrupted, it leaves the rows of all items that were done."""
    done = results.finished()
    missing = {mark: item for item in items if (mark := identity(experiment.NAME, item)) not in done}
    if progress and len(missing) < len(items):
        progress(f"{experiment.NAME}: {len(items) - len(missing):,} of {len(items):,} items are done already")
    for number, (item, rows) in enumerate(_measured(experiment.NAME, list(missing.values()), limits), 1):
        results.add(item, rows)
        if progress:
            failed = "" if rows[0]["status"] == "ok" else f": {rows[0]['status']}, {rows[0]['error'].splitlines()[0]}"
            progress(f"{experiment.NAME} {number:,}/{len(missing):,} {' '.join(_words(item))}{failed}")


def _words(item: Item) -> Iterator[str]:
    return (str(value) for value in item.values() if isinstance(value, str | int) and not isinstance(value, bool) and value != "")


def _measured(name: str, items: Sequence[Item], limits: Limits) -> Iterator[tuple[Item, list[Row]]]:
    """(item, its rows), as they are done. Children end with the loop, however it ends."""
    if limits.jobs == 1 or not limits.seconds:
        child = Child(name, limits.seconds, limits.megabytes)
        try:
            for item in items:
                yield item, child.measure(item)
        finally:
            child.close()
        return
    local, children = threading.local(), list[Child]()

    def measure(item: Item) -> list[Row]:
        if not hasattr(local, "child"):
            local.child = Child(name, limits.seconds, limits.megabytes)
            children.append(local.child)
        return list(local.child.measure(item))

    pool = ThreadPoolExecutor(limits.jobs)
    waiting: dict[Future[list[Row]], Item] = {pool.submit(measure, item): item for item in items}
    try:
        while waiting:
            for future in wait(waiting, timeout=_PATIENCE, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in children:
            child.close()
        pool.shutdown()
