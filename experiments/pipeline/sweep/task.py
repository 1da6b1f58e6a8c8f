"""The Spark task of a sweep: some items, in a child process, each with its row appended as soon as it is done.

A task may be repeated: what earlier attempts have a row of is not done again. Run twice at a time it makes rows twice, of which
one counts.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.lock import holder
from experiments.pipeline.sweep.keeper import Keeper
from experiments.pipeline.sweep.plan import SweepPlan, read_plan
from experiments.pipeline.sweep.results import LOCK, appended, appending

_keepers: list[Keeper] = []  # at most one: that of the run this process worked on last, kept for its next task


def run_items(task: dict[str, Any]) -> dict[str, Any]:
    """Makes the items `task["numbers"]` of the run in the folder `task["folder"]`.

    `task["measure"]`: the function that makes a row. `task["remote"]`: the client of a Spark Connect server wants them; the
    server does not notice when it dies, so this looks whether it still holds the lock of the run. Raises PipelineError; an
    item that fails is a row.
    """
    folder = Path(task["folder"])
    plan = replace(_plan(folder), measure=task["measure"])
    items = [plan.item(number) for number in task["numbers"]]
    rows = appended(folder, items[0].id)
    with appending(folder, items[0].id) as add:
        for item in items:
            if item.id not in rows:
                if task["remote"] and holder(folder / LOCK) is None:
                    raise PipelineError(f"the process that ran sweep {plan.run} has ended")
                add(_keeper(plan).row(item.number))
    return {}


@lru_cache(maxsize=4)
def _plan(folder: Path) -> SweepPlan:
    return read_plan(folder)


def _keeper(plan: SweepPlan) -> Keeper:
    """The keeper of this worker process, whose child has imported everything and opened the data already."""
    wanted = (plan, plan.measure, os.getpid())
    if not _keepers or (_keepers[0].plan, _keepers[0].plan.measure, _keepers[0].process) != wanted:
        for other in _keepers:
            other.close()
        _keepers[:] = [Keeper(plan)]
    return _keepers[0]
