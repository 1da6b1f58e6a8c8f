"""Runs a function on many tasks in Spark, one Spark task each, and hands the results over as they come.

Tasks go to Spark in jobs of a few (mostly one), several jobs at a time: Spark hands over the rows of a job only when all of it
is done. Only DataFrames are used, so the same code runs on a cluster behind Spark Connect.
"""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from experiments.pipeline.spark.errors import PipelineError, explain, is_sparks, translated
from experiments.pipeline.spark.worker import Outcome, run_one

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

Task = Mapping[str, Any]
Result = dict[str, Any]
_MOST_JOBS = 100  # a job takes 0.1 s besides its tasks: more tasks than this share jobs
_MOST_THREADS = 16
_NAMED_BY = ("name", "query", "table", "file", "path", "part")  # keys of a task that say which one it is
_SAY_SECONDS = 2.0
_PATIENCE = 0.5  # seconds between looks at what is done, so that Ctrl-C is heard


def run_tasks(
    spark: SparkSession,
    function: Callable[[Any], Result],
    tasks: Iterable[Task],
    on_done: Callable[[int, Result], None] | None = None,
    what: str = "",
) -> list[Result]:
    """`function` of each task, in the order of `tasks`. `what` describes its jobs in Spark's UI.

    `function` is found again by its name on the workers, so it stands at the top of an importable module; tasks and results
    are JSON objects. It may run twice for one task, when the process it ran in died: what it writes has to bear that.
    `on_done(position, result)` is called in this thread, in the order in which results arrive.

    The first task that raises ends the run: PipelineError names it, with the message of a PlanscopeError kept as it is. So
    does a task whose process dies each time that Spark tries. Ctrl-C cancels what still runs.
    """
    every = list(tasks)
    texts = [json.dumps(task) for task in every]
    name = _name_of(function)
    results: list[Result | None] = [None] * len(every)
    run = _Run(spark, name, texts, what or function.__name__)
    try:
        for position, outcome in run.outcomes():
            if outcome["error"] is not None:
                raise PipelineError(f"{_which(position, every)}: {outcome['error']}")
            result = results[position] = json.loads(outcome["result"] or "null")
            if on_done is not None:
                on_done(position, result)
    except _JobFailed as failed:
        raise PipelineError(f"{_which(failed.position, every)}: {explain(failed.cause)}") from failed.cause
    finally:
        run.cancel()
    missing = [position for position, result in enumerate(results) if result is None]
    if missing:
        raise PipelineError(f"{_which(missing[0], every)}: Spark gave no result for it, and for {len(missing) - 1} more")
    return [result for result in results if result is not None]


def collect(spark: SparkSession, frame: DataFrame, what: str, say: Callable[[str], None]) -> list[Row]:
    """All rows of `frame`, computed under the description `what`; `say` hears now and then how many tasks are done.

    Raises PipelineError. Ctrl-C cancels what runs.
    """
    tag = f"planscope-{uuid.uuid4().hex}"

    def job() -> list[Row]:
        _mark_this_thread(spark, tag, what)
        rows: list[Row] = frame.collect()
        return rows

    with ThreadPoolExecutor(1, thread_name_prefix="spark-job") as pool, translated(what):
        future, said = pool.submit(job), time.monotonic()
        try:
            while not wait([future], timeout=_PATIENCE).done:
                if time.monotonic() - said > _SAY_SECONDS and (done := _tasks_done(spark)):
                    said = time.monotonic()
                    say(f"{what}: {done}")
            return future.result()
        finally:
            while not future.done():  # a job that Spark still plans cannot be cancelled yet
                with suppress(Exception):
                    _cancel_tagged(spark, tag)
                wait([future], timeout=_PATIENCE)


def _tasks_done(spark: SparkSession) -> str:
    """`3 of 8 tasks done` of the stages that run; "" if Spark does not say."""
    if _is_remote(spark):
        return ""
    tracker = spark.sparkContext.statusTracker()
    stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number)) is not None]
    total = sum(stage.numTasks for stage in stages)
    return f"{sum(stage.numCompletedTasks for stage in stages)} of {total} tasks done" if total else ""


class _JobFailed(Exception):
    """`cause` ended the job that holds the task at `position`, the one it happened in if Spark says."""

    def __init__(self, position: int, cause: Exception) -> None:
        self.position, self.cause = position, cause


class _Run:
    """The jobs of one call: some under way, each in a thread of its own that waits for it, and those still to come."""

    def __init__(self, spark: SparkSession, name: str, texts: Sequence[str], what: str) -> None:
        self._spark, self._name, self._texts, self._what = spark, name, texts, what
        self._tag = f"planscope-{uuid.uuid4().hex}"
        slots = parallelism(spark)
        size = max(1, -(-len(texts) // _MOST_JOBS), -(-slots // _MOST_THREADS))
        self._waiting = [range(start, min(start + size, len(texts))) for start in range(0, len(texts), size)][::-1]
        self._threads = -(-slots // size) + 1  # one job more than there is room for: no slot waits for the driver
        self._stopped = threading.Event()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="spark-job")
        self._under_way: dict[Future[list[tuple[int, Outcome]]], range] = {}

    def outcomes(self) -> Iterable[tuple[int, Outcome]]:
        """(position, outcome) of every task, as jobs end. Raises _JobFailed."""
        while self._waiting or self._under_way:
            while self._waiting and len(self._under_way) < self._threads:
                positions = self._waiting.pop()
                self._under_way[self._pool.submit(self._job, positions)] = positions
            done, _ = wait(self._under_way, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
            for future in done:
                positions = self._under_way.pop(future)
                try:
                    rows = future.result()
                except Exception as error:
                    if not is_sparks(error):
                        raise
                    raise _JobFailed(positions[_failed_partition(error, len(positions))], error) from error
                yield from rows

    def _job(self, positions: range) -> list[tuple[int, Outcome]]:
        from pyspark.sql.functions import udf

        if self._stopped.is_set():
            return []
        first, last, count = positions[0] + 1, positions[-1] + 1, len(self._texts)
        which = f"{first} to {last}" if last > first else f"{first}"
        _mark_this_thread(self._spark, self._tag, f"{self._what}: {which} of {count}")
        run = partial(run_one, name=self._name, tasks=[self._texts[position] for position in positions])
        # neither Arrow nor pandas: it is one short row a task; and not deterministic, or Spark might call it twice
        column = udf(run, "string", useArrow=False).asNondeterministic()("id").alias("outcome")
        rows = self._spark.range(0, len(positions), 1, len(positions)).select("id", column).collect()
        return [(positions[row["id"]], json.loads(row["outcome"])) for row in rows]

    def cancel(self) -> None:
        """Ends what runs: jobs at once, the processes of their tasks within the few seconds that Spark gives them."""
        self._stopped.set()
        left = {future for future in self._under_way if not future.cancel()}
        while left:  # a job that Spark still plans cannot be cancelled yet: tried again until none is left
            with suppress(Exception):  # the session may be gone, and the jobs with it
                _cancel_tagged(self._spark, self._tag)
            _, left = wait(left, timeout=_PATIENCE)
        self._pool.shutdown()


def _mark_this_thread(spark: SparkSession, tag: str, what: str) -> None:
    """The jobs that this thread starts get a tag, to be cancelled by, and a description for Spark's UI."""
    if _is_remote(spark):
        spark.addTag(tag)
    else:
        spark.sparkContext.setJobDescription(what)
        spark.sparkContext.addJobTag(tag)  # the session's own tags mark no jobs without Spark Connect (tried with 4.3)


def _cancel_tagged(spark: SparkSession, tag: str) -> None:
    if _is_remote(spark):
        spark.interruptTag(tag)
    else:
        spark.sparkContext.cancelJobsWithTag(tag)


def _is_remote(spark: SparkSession) -> bool:
    return ".connect." in type(spark).__module__


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at a time; behind Spark Connect, which does not say, a guess."""
    return _MOST_THREADS if _is_remote(spark) else max(1, spark.sparkContext.defaultParallelism)


def _name_of(function: Callable[..., Any]) -> str:
    name, module = function.__qualname__, function.__module__
    assert "." not in name and module != "__main__", f"{module}.{name} cannot be imported by its name on a worker"
    return f"{module}:{name}"


def _failed_partition(error: Exception, count: int) -> int:
    """Position in its job of the task that Spark gave up on; 0 if it does not say."""
    found = re.search(r"Task (\d+) in stage", str(error))
    return min(int(found[1]), count - 1) if found else 0


def _which(position: int, tasks: Sequence[Task]) -> str:
    """A task as a message names it: `task 3 of 8 (table lineitem, part 3)`."""
    known = [f"{key} {tasks[position][key]}" for key in _NAMED_BY if isinstance(tasks[position].get(key), str | int)]
    return f"task {position + 1} of {len(tasks)}" + (f" ({', '.join(known)})" if known else "")
