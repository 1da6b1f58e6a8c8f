"""What a task does: runs the plan of a stage on the rows that it got, and says which task gets which of those that came out."""

import copyreg
import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from executor.arrow.context import TableSource, Tuning
from executor.arrow.counters import Counters, NodeCounters
from executor.arrow.run import execute
from executor.arrow.watch import Limits, Watch
from executor.spark.moving import COUNTED, ERROR, Part, by_sender, contents, decoded, sent, targets
from executor.spark.operators import PartialGroups, PartScan, Received
from executor.spark.stages import Stage
from optimizer.algebra.columns import Columns
from optimizer.algebra.physical import TableScan
from optimizer.algebra.plan import PlanNode
from optimizer.errors import PlanscopeError


def _month_day_nano(*parts: int) -> Any:
    return pa.MonthDayNano(parts)


copyreg.pickle(pa.MonthDayNano, lambda value: (_month_day_nano, tuple(value)))  # of a literal: Arrow's own way fails


@dataclass(frozen=True)
class Source:
    """What a task has to know of a table."""

    name: str
    files: tuple[Path, ...]
    format: str
    schema: pa.Schema
    read_schema: pa.Schema


def sources_of(plan: PlanNode, sources: Mapping[str, TableSource]) -> dict[str, Source]:
    """Of the tables that the plan reads, by name."""
    names = {node.op.scan.table for node in plan.walk() if isinstance(node.op, TableScan)}
    tables = {name: sources[name] for name in sorted(names)}
    return {
        name: Source(table.name, tuple(file.resolve() for file in table.files), table.format, table.schema, table.read_schema)
        for name, table in tables.items()
    }


class Work(NamedTuple):
    """All that the tasks of a stage need, besides rows. `number`: of the stage. `tasks`: how many there are of stages of many.
    `tuning`: of each, which has one thread. `limits`: of each task, so that one whose driver is gone ends too."""

    number: int
    stage: Stage
    tasks: int
    columns: Columns
    sources: Mapping[str, Source]
    tuning: Tuning
    counted: bool = False
    limits: Limits | None = None


def run(packed: bytes, task: int, received: Sequence[Part]) -> list[Part]:
    """What a task of the pickled work sends. An error is sent too: it is raised where the rows are read, if they are; and Spark
    would try again what fails by itself."""
    work: Work = pickle.loads(packed)
    try:
        parts = list(_results(work, task, received))
    except Exception as error:
        said = str(error) if isinstance(error, PlanscopeError) else f"{type(error).__name__}: {error}"
        parts = [Part(each, work.number, task, ERROR, said.encode()) for each in targets(work.stage.place, task, work.tasks)]
    return parts + [each._replace(task=0) for each in received if each.part == COUNTED]


def fill(plan: PlanNode, received: Callable[[], Sequence[Part]]) -> None:
    """Says where the plan's leaves find the rows that came."""
    for node in plan.walk():
        if isinstance(node.op, Received):
            node.op.senders[:] = [partial(_of_stage, received, node.op.of)]


def _of_stage(received: Callable[[], Sequence[Part]], stage: int) -> list[list[pa.Table]]:
    return by_sender(received(), stage)


def _results(work: Work, task: int, received: Sequence[Part]) -> Iterator[Part]:
    plan, place, counters = work.stage.plan, work.stage.place, Counters() if work.counted else None
    fill(plan, lambda: received)
    shares = {node.id: (task, work.tasks) for node in plan.walk() if isinstance(node.op, PartScan)}
    watch = None if work.limits is None else Watch(work.limits)
    made = execute(plan, work.columns, work.sources, counters, work.tuning, watch, shares, False).read_all()
    grouped = plan.op if isinstance(plan.op, PartialGroups) else None
    found: dict[int, list[pa.Table]] = {}
    for table in [made] if grouped is None else grouped.made:
        for target, part in sent(decoded(table), place, task, work.tasks):
            found.setdefault(target, []).append(part)
    for target, tables in found.items():
        if not any(table.num_rows for table in tables) and (grouped is None or place.columns):
            continue  # but states of no rows are told to who merges all of them
        pieces = (piece for table in tables for piece in contents(table, whole=grouped is not None))
        yield from (Part(target, work.number, task, part, content) for part, content in enumerate(pieces))
    if counters is not None:
        counted = {id: asdict(each) for id, each in counters.nodes.items()}
        yield Part(0, work.number, task, COUNTED, json.dumps(counted).encode())


def add_counted(counters: Counters, parts: Iterable[Part]) -> None:
    """Adds what the operators of tasks did."""
    counted = {(each.stage, each.sender): each.content for each in parts if each.part == COUNTED}  # of a spool they come often
    for content in counted.values():
        for id, values in json.loads(content).items():
            counters.merge(int(id), NodeCounters(**values))
