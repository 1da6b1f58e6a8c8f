"""Spark jobs of this process: a function run on many tasks, rows that tasks make, or all rows of a DataFrame.

Only DataFrames are used, so the same code runs on a cluster behind Spark Connect.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from executor.spark.waiting import waited
from experiments.pipeline.spark.errors import PipelineError, explain, is_sparks, translated
from experiments.pipeline.spark.session import Say, unheard
from experiments.pipeline.spark.worker import outcome, run_one

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

Task = Mapping[str, Any]
Result = dict[str, Any]
Given = TypeVar("Given")
_NAMED_BY = ("name", "query", "table", "file", "path", "part")  # keys of a task that say which one it is


def run_tasks(
    spark: SparkSession | None, function: Callable[[Any], Result], tasks: Sequence[Task], what: str, say: Say = unheard
) -> list[Result]:
    """`function` of each task, a Spark task each, in the order of `tasks`. `what` describes the job in Spark's UI and to `say`.
    Without a session this process does them, one after the other: what is small is done before Spark has started.

    `function` is found again by its name on the workers, so it stands at the top of an importable module; tasks and results
    are JSON objects. It may run twice for one task, when the process it ran in died: what it writes has to bear that.

    When tasks raise, PipelineError names the first one, with the message of a PlanscopeError kept as it is; the others run to
    their ends. A task whose process dies each time that Spark tries ends all. Ctrl-C cancels what still runs.
    """
    if not tasks:
        return []
    name, module = function.__qualname__, function.__module__
    assert "." not in name and module != "__main__", f"{module}.{name} cannot be imported by its name on a worker"
    call, texts = f"{module}:{name}", [json.dumps(task) for task in tasks]
    found = [outcome(call, text) for text in texts] if spark is None else _outcomes(spark, call, texts, tasks, what, say)
    outcomes = list(map(json.loads, found))
    for position, each in enumerate(outcomes):
        if "error" in each:
            raise PipelineError(f"{_which(position, tasks)}: {each['error']}")
    return [each["result"] for each in outcomes]


def _outcomes(spark: SparkSession, name: str, texts: Sequence[str], tasks: Sequence[Task], what: str, say: Say) -> list[str]:
    from pyspark.sql.functions import udf

    # neither Arrow nor pandas: it is one short row a task; and not deterministic, or Spark might call it twice
    call = udf(partial(run_one, name), "string", useArrow=False).asNondeterministic()("task").alias("outcome")
    try:
        rows = waited(spark, _dealt(spark, texts).select("id", call).collect, what, say)
    except Exception as error:
        if not is_sparks(error):
            raise
        found = re.search(r"Task (\d+) in stage", str(error))  # that Spark gave up on
        raise PipelineError(f"{_which(int(found[1]) if found else 0, tasks)}: {explain(error)}") from error
    return [row["outcome"] for row in sorted(rows, key=lambda row: int(row["id"]))]


def _dealt(spark: SparkSession, tasks: Sequence[str | bytes]) -> DataFrame:
    """`id`, a number, and `task` of each of them, a Spark task each: as rows, since all tasks get what a function holds."""
    from pyspark.sql import functions as f

    rows = spark.createDataFrame(pa.table({"id": pa.array(range(len(tasks)), pa.int64()), "task": tasks}))
    return spark.range(0, len(tasks), 1, len(tasks)).join(f.broadcast(rows), "id")


def rows_of_tasks(
    spark: SparkSession, tasks: Sequence[Given], rows_of: Callable[[Given], pa.StructArray], row: pa.StructType
) -> DataFrame:
    """The rows that `rows_of` gives for each of `tasks`, a Spark task each; `row`: their type. An Arrow UDF does this, and not
    mapInArrow: that wants pandas, which nothing else here needs."""
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import from_arrow_type

    def call(given: pa.Array) -> pa.Array:
        found = [rows_of(pickle.loads(task)) for task in given.to_pylist()]
        ends = np.cumsum([0, *map(len, found)])
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.concat_arrays(found))

    call.__annotations__ = {"given": pa.Array, "return": pa.Array}
    rows = f.arrow_udf(call, from_arrow_type(pa.list_(row), prefer_timestamp_ntz=True)).asNondeterministic()
    return _dealt(spark, list(map(pickle.dumps, tasks))).select(f.explode(rows("task")).alias("row")).select("row.*")


def collect(spark: SparkSession, frame: DataFrame, what: str, say: Say) -> list[Row]:
    """All rows of `frame`, computed under the description `what`; `say` hears now and then how many tasks are done. Raises
    PipelineError. Ctrl-C cancels what runs."""
    with translated(what):
        return waited(spark, frame.collect, what, say)


def _which(position: int, tasks: Sequence[Task]) -> str:
    """A task as a message names it: `task 3 of 8 (table lineitem, part 3)`."""
    known = [f"{key} {tasks[position][key]}" for key in _NAMED_BY if isinstance(tasks[position].get(key), str | int)]
    return f"task {position + 1} of {len(tasks)}" + (f" ({', '.join(known)})" if known else "")
