"""Spark jobs of this process: a function run on many tasks, each with its result as it comes, or all rows of a DataFrame.

Tasks go to Spark in jobs of a few (mostly one), several jobs at a time: Spark hands over the rows of a job only when all of it
is done. Only DataFrames are used, so the same code runs on a cluster behind Spark Connect.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from experiments.pipeline.spark.errors import PipelineError, explain, is_sparks, translated
from experiments.pipeline.spark.session import is_remote
from experiments.pipeline.spark.worker import run_one

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
    slots, count = parallelism(spark), len(every)
    size = max(1, -(-count // _MOST_JOBS), -(-slots // _MOST_THREADS))
    waiting = [range(start, min(start + size, count)) for start in range(0, count, size)][::-1]
    threads = -(-slots // size) + 1  # one job more than there is room for: no slot waits for the driver
    with _Jobs(spark, threads) as jobs:
        under_way: dict[Future[list[Row]], range] = {}
        while waiting or under_way:
            while waiting and len(under_way) < threads:
                at = waiting.pop()
                which = f"{at[0] + 1} to {at[-1] + 1}" if len(at) > 1 else f"{at[0] + 1}"
                frame = partial(_frame, spark, name, [texts[position] for position in at])
                under_way[jobs.submit(frame, f"{what or function.__name__}: {which} of {count}")] = at
            for future in wait(under_way, timeout=_PATIENCE, return_when=FIRST_COMPLETED).done:
                at = under_way.pop(future)
                try:
                    rows = future.result()
                except Exception as error:
                    if not is_sparks(error):
                        raise
                    raise PipelineError(f"{_which(at[_failed_partition(error, len(at))], every)}: {explain(error)}") from error
                for position, outcome in ((at[row["id"]], json.loads(row["outcome"])) for row in rows):
                    if outcome["error"] is not None:
                        raise PipelineError(f"{_which(position, every)}: {outcome['error']}")
                    result = results[position] = json.loads(outcome["result"] or "null")
                    if on_done is not None:
                        on_done(position, result)
    missing = [position for position, result in enumerate(results) if result is None]
    if missing:
        raise PipelineError(f"{_which(missing[0], every)}: Spark gave no result for it, and for {len(missing) - 1} more")
    return [result for result in results if result is not None]


def collect(spark: SparkSession, frame: DataFrame, what: str, say: Callable[[str], None]) -> list[Row]:
    """All rows of `frame`, computed under the description `what`; `say` hears now and then how many tasks are done.

    Raises PipelineError. Ctrl-C cancels what runs.
    """
    with translated(what), _Jobs(spark, 1) as jobs:
        future, said = jobs.submit(lambda: frame, what), time.monotonic()
        while not wait([future], timeout=_PATIENCE).done:
            if time.monotonic() - said > _SAY_SECONDS and (done := _tasks_done(spark)):
                said = time.monotonic()
                say(f"{what}: {done}")
        return future.result()


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at a time; behind Spark Connect, which does not say, a guess."""
    return _MOST_THREADS if is_remote(spark) else max(1, spark.sparkContext.defaultParallelism)


class _Jobs:
    """Jobs under way, each in a thread that waits for it. Leaving ends what runs: jobs at once, the processes of their tasks
    within the few seconds that Spark gives them."""

    def __init__(self, spark: SparkSession, threads: int) -> None:
        self._spark, self._pool = spark, ThreadPoolExecutor(threads, thread_name_prefix="spark-job")
        self._tag = f"planscope-{uuid.uuid4().hex}"
        self._futures: set[Future[list[Row]]] = set()

    def submit(self, frame: Callable[[], DataFrame], what: str) -> Future[list[Row]]:
        """Collects `frame()`, called in the job's thread. `what` describes the job in Spark's UI."""

        def job() -> list[Row]:
            if is_remote(self._spark):
                self._spark.addTag(self._tag)
            else:
                self._spark.sparkContext.setJobDescription(what)
                self._spark.sparkContext.addJobTag(self._tag)  # a session's tags mark no jobs without Connect (tried with 4.3)
            rows: list[Row] = frame().collect()
            return rows

        future = self._pool.submit(job)
        self._futures.add(future)
        return future

    def __enter__(self) -> _Jobs:
        return self

    def __exit__(self, *_: object) -> None:
        left = {future for future in self._futures if not future.done() and not future.cancel()}
        while left:  # a job that Spark still plans cannot be cancelled yet: tried again until none is left
            with suppress(Exception):  # the session may be gone, and the jobs with it
                cancel = self._spark.interruptTag if is_remote(self._spark) else self._spark.sparkContext.cancelJobsWithTag
                cancel(self._tag)
            left = wait(left, timeout=_PATIENCE).not_done
        self._pool.shutdown()


def _frame(spark: SparkSession, name: str, texts: Sequence[str]) -> DataFrame:
    """`outcome` of each task, by `id`."""
    from pyspark.sql.functions import udf

    # neither Arrow nor pandas: it is one short row a task; and not deterministic, or Spark might call it twice
    run = udf(partial(run_one, name=name, tasks=texts), "string", useArrow=False).asNondeterministic()
    return spark.range(0, len(texts), 1, len(texts)).select("id", run("id").alias("outcome"))


def _tasks_done(spark: SparkSession) -> str:
    """`3 of 8 tasks done` of the stages that run; "" if Spark does not say."""
    if is_remote(spark):
        return ""
    tracker = spark.sparkContext.statusTracker()
    stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number)) is not None]
    total = sum(stage.numTasks for stage in stages)
    return f"{sum(stage.numCompletedTasks for stage in stages)} of {total} tasks done" if total else ""


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
