"""Waits for a Spark job so that it can be left at any time: leaving ends the job."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Made = TypeVar("Made")
_POLL_SECONDS = 0.2
_SAY_SECONDS = 2.0
_PATIENCE = 0.5  # seconds until a job that goes on is cancelled again
_UNANSWERED = 3  # times that a server does not answer until it is gone: its client would ask for it many minutes
_servers: WeakKeyDictionary[Any, Callable[[], object]] = WeakKeyDictionary()


def waited(
    spark: SparkSession, action: Callable[[], Made], what: str, say: Callable[[str], None],
    go_on: Callable[[], None] | None = None,
) -> Made:  # fmt: skip
    """What `action`, which runs a job, gives. `what` describes the job in Spark's UI and to `say`, which hears now and then how
    many tasks are done, or for how long it runs; `go_on` is called more often, and ends the job by raising. The processes of its
    tasks end within a few seconds; those of a server may go on until the time of the query is over. Raises ConnectionError when
    the server is gone."""
    tag, remote, missed = f"planscope-{uuid.uuid4().hex}", is_remote(spark), 0

    def job() -> Made:
        if remote:
            spark.addTag(tag)
        else:
            spark.sparkContext.setJobDescription(what)
            spark.sparkContext.addJobTag(tag)  # a session's tags mark no jobs without Connect (tried with 4.3)
        return action()

    future, began = in_thread(job), monotonic()
    said, told, pause = began, "", _SAY_SECONDS
    try:
        while not wait([future], timeout=_POLL_SECONDS).done:
            if go_on is not None:
                go_on()
            if monotonic() - said >= pause:
                missed = 0 if answers(spark) else missed + 1
                if missed == _UNANSWERED:
                    raise ConnectionError("the Spark Connect server does not answer any more")
                done = f"for {monotonic() - began:.0f} s" if remote else _tasks_done(spark)  # a server does not say
                if done:
                    pause = 2 * pause if done == told else _SAY_SECONDS  # the same is not told over and over
                    say(f"{what}: {done}")
                    said, told = monotonic(), done
        return future.result()
    finally:
        cancel = partial(spark.interruptTag if remote else spark.sparkContext.cancelJobsWithTag, tag)
        while not future.done() and answers(spark):  # a job that Spark still plans cannot be cancelled yet: tried again
            with suppress(Exception):  # the session may be gone, and the job with it
                in_thread(cancel).result(_PATIENCE)
            wait([future], timeout=_PATIENCE)


def served(spark: SparkSession, reach: Callable[[], object]) -> None:
    """`reach` raises where the server of a session does not answer."""
    _servers[spark] = reach


def answers(spark: SparkSession) -> bool:
    """Whether the server of a session of Spark Connect answers, if that is known; True for any other."""
    try:
        _servers.get(spark, bool)()
    except Exception:
        return False
    return True


def is_remote(spark: SparkSession) -> bool:
    """Whether the driver is on a Spark Connect server."""
    return ".connect." in type(spark).__module__


def in_thread(function: Callable[[], Made]) -> Future[Made]:
    """Under way in a thread that does not keep this process alive."""
    future: Future[Made] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="spark", daemon=True).start()
    return future


def _tasks_done(spark: SparkSession) -> str:
    """`3 of 8 tasks done` of the stages that run; "" if Spark does not say."""
    tracker = spark.sparkContext.statusTracker()
    stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number)) is not None]
    total = sum(stage.numTasks for stage in stages)
    return f"{sum(stage.numCompletedTasks for stage in stages)} of {total} tasks done" if total else ""
