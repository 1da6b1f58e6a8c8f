"""Engines of tests: `Moving` on Spark, and `Tasks` without it: they run one after the other, and see only what they are sent."""

import pickle
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from executor.spark.engine import SparkEngine
from executor.spark.moving import COUNTED, EVERY, Part
from executor.spark.task import Work, run
from optimizer.cost.spark import SparkCost


class AnyCost(SparkCost):
    """Exchanges cost next to nothing, now this one less and now that one: so rows are moved in ways that are seldom the best."""

    def __init__(self, seed: int) -> None:
        super().__init__(nodes=64)
        self._dice = random.Random(seed)

    def shuffle(self, bytes: float) -> float:
        return self._dice.expovariate(1e-3)

    def broadcast(self, bytes: float) -> float:
        return self._dice.expovariate(1e-3)

    gather = broadcast


class Moving(SparkEngine):
    """On Spark; exchanges cost next to nothing, so that small tables too are read in parts."""

    @property
    def moving(self) -> SparkCost:
        return AnyCost(7)


class Tasks(SparkEngine):
    """`seed`: of costs that are any; None: those of Spark among `nodes`."""

    def __init__(self, tasks: int = 3, nodes: int = 4, seed: int | None = None) -> None:
        super().__init__(None, nodes, tasks)
        self._seed = seed

    @property
    def moving(self) -> SparkCost:
        return super().moving if self._seed is None else AnyCost(self._seed)

    def _run(self, works: Sequence[Work], wanted: Sequence[int], go_on: Callable[[], None] | None) -> list[Part]:
        sent = list[list[Part]]()
        for work in works:
            packed, made = pickle.dumps(work), list[Part]()
            received = [part for of in work.stage.inputs for part in sent[of]]
            named = {part.task for part in received if part.part != COUNTED}
            assert work.stage.parted or named <= {0, EVERY}, "a stage of one task gets rows for others"
            for task in range(work.tasks if work.stage.parted else 1):
                made += run(packed, task, [part for part in received if part.task in (task, EVERY)])
            sent.append(made)
        found = [part for number in wanted for part in sent[number]]
        assert {part.task for part in found} <= {0, EVERY}, "what goes to the last stage goes to its one task"
        return found


def in_row_groups(folder: Path, groups: int) -> Path:
    """The folder's Parquet files written anew with so many row groups each, so that tasks have something to share."""
    for file in folder.rglob("*.parquet"):
        table = pq.read_table(file)
        pq.write_table(table, file, row_group_size=max(1, -(-table.num_rows // groups)))
    return folder
