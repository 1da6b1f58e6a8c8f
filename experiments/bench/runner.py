"""Measures the items of an experiment that are not done yet, each in a child process with limits, and keeps rows as they come:
here, or in Spark tasks that deal with some items each, one after the other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from experiments.bench.child import Child
from experiments.bench.experiment import Experiment, Item, Row
from experiments.bench.store import Store

Say = Callable[[str], None]
_PATIENCE = 0.5  # seconds between looks at what is done, so that Ctrl-C is heard


@dataclass(frozen=True)
class Limits:
    """For each item: seconds and megabytes, 0 for any. `jobs`: items measured at a time here; `chunk`: items of a Spark task
    (None: a hundredth of all, 4 to 50)."""

    seconds: float
    megabytes: int = 0
    jobs: int = 1
    chunk: int | None = None


def run(
    experiment: Experiment, items: Sequence[Item], store: Store, limits: Limits, progress: Say | None = None,
    spark: Callable[[], Any] | None = None, what: str | None = None,
) -> None:  # fmt: skip
    """Measures what `store` lacks; with `spark`, which is asked for a session only then, on Spark, whose workers have to reach
    the folder of the store under the same path. Interrupted, it leaves the rows of all items that were done. The caller holds
    the store. `what`: the experiment in messages."""
    say, what = progress or (lambda _: None), what or experiment.NAME
    missing = store.missing(items)
    if len(missing) < len(items):
        say(f"{what}: {len(items) - len(missing):,} of {len(items):,} items are done already")
    if spark is not None:
        if missing:
            from experiments.bench.on_spark import measure_on

            measure_on(spark(), experiment, missing, store, limits, say, what)
        return
    for number, (item, rows) in enumerate(_measured(experiment.NAME, missing, store, limits), 1):
        failed = "" if rows[0]["status"] == "ok" else f": {rows[0]['status']}, {rows[0]['error'].splitlines()[0]}"
        say(f"{what} {number:,}/{len(missing):,} {' '.join(_words(item))}{failed}")


def _words(item: Item) -> Iterator[str]:
    """What tells an item from others, in few words: no SQL, no digest."""
    words = (
        str(value) for value in item.values() if isinstance(value, str | int) and not isinstance(value, bool) and value != ""
    )
    return (" ".join(word.split())[:60] for place, word in enumerate(words) if place == 0 or len(word) < 32)


def _measured(name: str, items: Sequence[Item], store: Store, limits: Limits) -> Iterator[tuple[Item, list[Row]]]:
    """(item, its rows), as they are done and kept. Children end with the loop, however it ends."""
    local, children = threading.local(), list[Child]()

    def measure(item: Item) -> list[Row]:
        if not hasattr(local, "child"):
            local.child = Child(name, limits.seconds, limits.megabytes)
            children.append(local.child)
        rows: list[Row] = local.child.measure(item)
        store.add(item, rows)  # before the next item is begun: a run that is killed loses no more than those under way
        return rows

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
