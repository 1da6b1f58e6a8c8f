"""The options that say which engine a plan is for, and that engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from experiments.commands.inputs import progress
from experiments.commands.spark_options import spark_options

if TYPE_CHECKING:
    from executor.execution import Engine

Command = TypeVar("Command", bound=Callable[..., Any])


def engine_options(function: Command) -> Command:
    """Adds --engine and where Spark runs, passed as `engine`, `master`, `remote` and `conf`."""
    what = "What runs the plan; spark plans with cost_model=spark, if --set does not say otherwise."
    return click.option("--engine", type=click.Choice(["arrow", "spark"]), default="arrow", show_default=True, help=what)(
        spark_options(function)
    )


def engine_of(
    name: str, master: str | None, remote: str | None, conf: dict[str, str], nodes: int, quiet: bool, what: str
) -> Engine:
    """The engine of that name. Spark starts when it runs something; `what` describes it in Spark's UI.

    Raises UsageError for options of Spark's without it.
    """
    if name == "arrow":
        given = [option for option, value in (("--master", master), ("--remote", remote), ("--conf", conf)) if value]
        if given:
            raise click.UsageError(f"{given[0]} says where Spark runs: it needs --engine spark")
        from executor.execution import ARROW

        return ARROW
    from executor.spark.engine import SparkEngine
    from experiments.pipeline.spark.errors import translated
    from experiments.pipeline.spark.session import spark_session

    say = progress(quiet)
    return SparkEngine(partial(spark_session, master, remote, say, conf), nodes, what=what, say=say, failures=translated)
