"""The Spark engine without Spark: tasks run one after the other in this process, and see nothing but what is sent to them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from executor.spark.engine import SparkEngine
from executor.spark.moving import Part
from executor.spark.task import Work, run


class Tasks(SparkEngine):
    """`sent`: what each stage of the last query sent."""

    sent: list[list[Part]]

    def __init__(self, tasks: int = 3, nodes: int = 4) -> None:
        super().__init__(None, nodes, tasks)

    def _run(self, works: Sequence[Work], wanted: Sequence[int], go_on: Callable[[], None]) -> list[Part]:
        self.sent = []
        for work in works:
            packed, made = pickle.dumps(work), list[Part]()
            for task in range(work.tasks if work.stage.parted else 1):
                made += run(packed, task, [part for of in work.stage.inputs for part in self.sent[of] if part.task == task])
            self.sent.append(made)
        found = [part for number in wanted for part in self.sent[number]]
        assert all(part.task == 0 for part in found), "what goes to the last stage goes to its one task"
        return found


def in_row_groups(folder: Path, groups: int) -> Path:
    """The folder's Parquet files written anew with so many row groups each, so that tasks have something to share."""
    for file in folder.rglob("*.parquet"):
        table = pq.read_table(file)
        pq.write_table(table, file, row_group_size=max(1, -(-table.num_rows // groups)))
    return folder
