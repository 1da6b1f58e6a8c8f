"""Items of an experiment (experiments/bench), measured in Spark tasks: each has some, and measures one after the other."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from random import Random
from typing import Any

from executor.spark.waiting import is_remote
from experiments.bench.child import Child
from experiments.bench.experiment import Experiment, Item
from experiments.bench.registry import load
from experiments.bench.runner import Limits, Say
from experiments.bench.store import LOCK, Store
from experiments.lock import holder
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.tasks import run_tasks
from optimizer.errors import many

_SMALLEST_CHUNK, _LARGEST_CHUNK, _CHUNKS = 4, 50, 100  # a chunk costs a Spark task: some 50 ms
_WAVE = 10_000  # items of a Spark job: all its tasks are told of them


def measure_on(
    spark: Any, experiment: Experiment, missing: Sequence[Item], store: Store, limits: Limits, say: Say, what: str
) -> None:
    """Measures the `missing` items into `store`, whose folder all workers have to reach under the same path; they are dealt out
    at random, since neighbours take about as long. Raises PipelineError."""
    dealt = Random(0).sample(missing, len(missing))
    chunk = limits.chunk or chunk_of(len(missing))
    say(f"{what}: {many(len(missing), 'item')} in {-(-len(missing) // chunk):,} Spark tasks")
    common = {
        "experiment": experiment.NAME, "folder": str(store.folder.absolute()), "limits": asdict(limits), "what": what,
        "current": os.getcwd(), "remote": is_remote(spark),
    }  # fmt: skip
    for start in range(0, len(dealt), _WAVE):
        wave = dealt[start : start + _WAVE]
        count = -(-len(wave) // chunk)
        run_tasks(spark, measure_items, [{**common, "items": wave[i::count]} for i in range(count)], what, say)


def chunk_of(items: int) -> int:
    """How many of `items` items a Spark task measures, if nobody says: a hundredth, but 4 to 50. The same on every machine."""
    return min(_LARGEST_CHUNK, max(_SMALLEST_CHUNK, -(-items // _CHUNKS)))


def measure_items(task: dict[str, Any]) -> dict[str, Any]:
    """A Spark task: measures `task["items"]` in a child process.

    It may be repeated: what an earlier attempt has done is not done again. `task["current"]`: the folder that names of files are
    relative to. `task["remote"]`: the client of a Spark Connect server wants them; the server does not notice when it dies, so
    this looks whether it still holds the store. Raises PipelineError; an item that fails is a row.
    """
    store, limits = Store(task["folder"], load(task["experiment"])), Limits(**task["limits"])
    for item in task["items"]:
        if not store.has_file(item):
            if task["remote"] and holder(store.folder / LOCK) is None:
                raise PipelineError(f"the process that ran {task['what']} has ended")
            store.add(item, _child(task, limits).measure(item))
    return {}


_children: dict[tuple[object, ...], Child] = {}  # at most one: of the run this process worked on last, kept for its next task


def _child(task: dict[str, Any], limits: Limits) -> Child:
    wanted = (task["experiment"], task["folder"], task["current"], limits, os.getpid())
    if wanted not in _children:
        for other in _children.values():
            other.close()
        _children.clear()
        there = os.path.isdir(task["current"])  # another machine may not have it
        _children[wanted] = Child(task["experiment"], limits.seconds, limits.megabytes, task["current"] if there else None)
    return _children[wanted]
