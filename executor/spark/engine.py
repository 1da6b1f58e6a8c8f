"""A query's plan as one Spark job.

Each stage but the last is a DataFrame of parts (`moving.Part`). One that reads tables alone is an Arrow function over the numbers
of its tasks; one that reads other stages groups their parts by task and is an Arrow function of each group. Spark sees parts
come and go, and so splits, shuffles, retries and shows them as those of any job. The last stage runs in this process.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from executor.arrow.context import TableSource, Tuning
from executor.arrow.counters import Counters
from executor.arrow.failures import first_line
from executor.arrow.run import allow_depth, execute
from executor.arrow.watch import Stopped, Watch
from executor.spark.moving import EVERY, Part
from executor.spark.operators import PartScan
from executor.spark.placing import placed
from executor.spark.stages import stages_of
from executor.spark.task import Source, Work, add_counted, fill, run, sources_of
from executor.spark.waiting import is_remote, waited
from optimizer.algebra.columns import Columns
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.traits import Collation
from optimizer.cost.spark import SparkCost
from optimizer.errors import ExecutionError, PlanscopeError, SettingsError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASK_BYTES = 128 << 20  # of the files that a task reads: where there are more, there are more tasks than run at a time
_PARTS = "array<struct<task:int,stage:int,sender:int,part:int,content:binary>>"
_FRAMES = 40  # of an operator of a plan while exchanges are placed and stages are pickled
_INT = pa.int32()
_ARROW_PARTS = pa.list_(pa.struct([("task", _INT), ("stage", _INT), ("sender", _INT), ("part", _INT), ("content", pa.binary())]))


@contextmanager
def _failures() -> Iterator[None]:
    """Raises ExecutionError for what Spark raises."""
    try:
        yield
    except (PlanscopeError, Stopped):
        raise
    except Exception as error:
        raise ExecutionError(f"Spark failed: {first_line(error)}") from error


class SparkEngine:
    """Runs plans on `spark`: a session, or what gives one when it is first needed; by default the session of the process.

    `nodes`: tasks that run at a time, for costs, as the setting `spark_nodes` says. `tasks`: how many there are of a stage; by
    default as many as run at a time, or more where files are large. `what` describes jobs in Spark's UI; `say` hears how far they
    are; `failures` turns what Spark raises into our errors.
    """

    name = cost_model = "spark"

    def __init__(
        self, spark: SparkSession | Callable[[], SparkSession] | None = None, nodes: int = 4, tasks: int | None = None,
        what: str = "planscope", say: Callable[[str], None] | None = None,
        failures: Callable[[], AbstractContextManager[None]] = _failures,
    ) -> None:  # fmt: skip
        if spark is not None and not callable(spark) and not hasattr(spark, "createDataFrame"):
            raise SettingsError(f"SparkEngine takes a SparkSession, or what gives one, not {spark!r:.60}")
        for called, number in (("nodes", nodes), ("tasks", 1 if tasks is None else tasks)):
            if not isinstance(number, int) or number < 1:
                raise SettingsError(f"{called} of a SparkEngine is a whole number from 1 up, not {number!r:.60}")
        self._spark, self.nodes, self.tasks = spark, nodes, tasks
        self._what, self._say, self._failures = what, say or (lambda _: None), failures

    @property
    def moving(self) -> SparkCost:
        """What exchanges cost."""
        return SparkCost(nodes=self.nodes)

    def shown(self, plan: PlanNode, order: Collation, columns: Columns) -> PlanNode:
        """The plan with its exchanges. Raises Unsupported."""
        allow_depth(plan, _FRAMES)
        return placed(plan, order, columns, self.moving)

    def execute(
        self, plan: PlanNode, order: Collation, columns: Columns, sources: Mapping[str, TableSource],
        counters: Counters | None = None, tuning: Tuning | None = None, watch: Watch | None = None,
    ) -> pa.RecordBatchReader:  # fmt: skip
        """The rows of a plan, by `order`, as `executor.arrow.run.execute` has them. The job runs when a batch is asked for. Each
        task may hold what the watch allows."""
        moved = self.shown(plan, order, columns)
        *stages, last = stages_of(moved)
        tables = sources_of(moved, sources)

        @cache
        def received() -> Sequence[Part]:
            if not stages:
                return ()
            limits, go_on = (None, None) if watch is None else (watch.limits, watch.go_on)
            tasks, one = self.tasks or self._tasks(moved, tables), replace(tuning or Tuning(), workers=1)
            works = [
                Work(number, stage, tasks, columns, tables, one, counters is not None, limits)
                for number, stage in enumerate(stages)
            ]
            parts = self._run(works, last.inputs, go_on)
            if counters is not None:
                add_counted(counters, parts)
            return parts

        fill(last.plan, received)
        return execute(last.plan, columns, sources, counters, tuning, watch)

    def _tasks(self, plan: PlanNode, tables: Mapping[str, Source]) -> int:
        shared = {node.op.scan.table for node in plan.walk() if isinstance(node.op, PartScan)}
        read = sum(file.stat().st_size for name in shared for file in tables[name].files)
        with self._failures():
            spark = self._session
            at_a_time = self.nodes if is_remote(spark) else int(spark.sparkContext.defaultParallelism)  # a server does not say
            return max(1, at_a_time, -(-read // TASK_BYTES))

    @property
    def _session(self) -> SparkSession:
        from pyspark.sql import SparkSession

        if self._spark is None:
            self._spark = SparkSession.builder.getOrCreate()
        return self._spark() if callable(self._spark) else self._spark

    def _run(self, works: Sequence[Work], wanted: Sequence[int], go_on: Callable[[], None] | None) -> list[Part]:
        """What the stages `wanted` send to the last one."""
        with self._failures():
            spark, frames = self._session, list["DataFrame"]()
            readers = [number for work in works for number in work.stage.inputs] + list(wanted)
            for work in works:
                frame = _frame(spark, work, frames)
                frames.append(frame.persist() if readers.count(work.number) > 1 else frame)
            try:
                result = _union([_for_one(frames[number]) for number in wanted])
                rows = waited(spark, result.toArrow, self._what, self._say, go_on)
                return [Part(*values) for values in zip(*(column.to_pylist() for column in rows.columns), strict=True)]
            finally:
                for number, frame in enumerate(frames):
                    if readers.count(number) > 1:
                        frame.unpersist()


def _frame(spark: SparkSession, work: Work, frames: Sequence[DataFrame]) -> DataFrame:
    """What the tasks of a stage send; `frames`: what those of earlier stages do."""
    from pyspark.sql import functions as f

    tasks = work.tasks if work.stage.parted else 1
    if not work.stage.inputs:
        first = f.arrow_udf(_first(work), _PARTS).asNondeterministic()
        return spark.range(0, tasks, 1, tasks).select(f.explode(first("id")).alias("part")).select("part.*")
    sent = [frames[number] for number in work.stage.inputs]
    sent = [_for_each(frame, tasks) if work.stage.parted else _for_one(frame) for frame in sent]
    nothing = spark.range(0, tasks, 1, 1).selectExpr("cast(id as int) task", "-1 stage", "0 sender", "0 part", "x'' content")
    parts = _union([*sent, nothing]).repartitionById(tasks, "task")  # a task runs also where it gets nothing
    made = parts.groupBy("task").agg(f.arrow_udf(_then(work), _PARTS)(*Part._fields).alias("parts"))
    return made.select(f.explode("parts").alias("part")).select("part.*")


def _for_one(frame: DataFrame) -> DataFrame:
    """The parts that one task gets, the only one of its stage."""
    return frame.where("task <= 0").selectExpr("0 task", "stage", "sender", "part", "content")


def _for_each(frame: DataFrame, tasks: int) -> DataFrame:
    """The parts with those for every task once for each: Spark makes the copies where the parts are."""
    own = f"explode(if(task = {EVERY}, sequence(0, {tasks - 1}), array(task))) task"
    return frame.selectExpr(own, "stage", "sender", "part", "content")


def _first(work: Work) -> Callable[[pa.Array], pa.Array]:
    """Of the numbers of tasks, what they send: for stages that receive nothing."""
    packed = pickle.dumps(work)

    def call(ids: pa.Array) -> pa.Array:
        return pa.array([_rows(run(packed, task, ())) for task in ids.to_pylist()], _ARROW_PARTS)

    call.__annotations__ = {"ids": pa.Array, "return": pa.Array}
    return call


def _then(work: Work) -> Callable[..., list[dict[str, Any]]]:
    """Of the parts that were sent to a task, what it sends."""
    packed = pickle.dumps(work)

    def call(task: pa.Array, stage: pa.Array, sender: pa.Array, part: pa.Array, content: pa.Array) -> list[dict[str, Any]]:
        columns = [column.to_pylist() for column in (task, stage, sender, part, content)]
        return _rows(run(packed, columns[0][0], [Part(*values) for values in zip(*columns, strict=True)]))

    call.__annotations__ = {**dict.fromkeys(Part._fields, pa.Array), "return": list}
    return call


def _rows(parts: Sequence[Part]) -> list[dict[str, Any]]:
    return [part._asdict() for part in parts]


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    first, *others = frames
    for each in others:
        first = first.unionByName(each)
    return first
