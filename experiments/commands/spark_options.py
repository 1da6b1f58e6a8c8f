"""The options of commands that run on Spark: where it runs, and its settings."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
_MASTER = re.compile(r"yarn|\w+://\S+|local(\[(\d+|\*)(,\s*\d+)?\])?|local-cluster\[\d+,\s*\d+,\s*\d+\]")


def spark_options(function: Command) -> Command:
    """Adds --master, --remote and --conf, passed by these names to the command and from there to `spark_session`."""
    function = click.option(
        "--conf",
        metavar="NAME=VALUE",
        multiple=True,
        callback=_settings,
        help="A setting of Spark's, as for spark-submit (repeatable): spark.driver.memory=4g.",
    )(function)
    function = click.option("--remote", metavar="URL", help="A Spark Connect server, sc://host:15002, instead of a master.")(
        function
    )
    return click.option(
        "--master", metavar="URL", callback=_known, help="Where Spark runs: local[4], spark://host:7077, yarn. Default: local[*]."
    )(function)


def _known(context: click.Context, option: click.Parameter, master: str | None) -> str | None:
    """Told here, since little is done without Spark being asked."""
    if master is not None and not _MASTER.fullmatch(master):
        raise click.BadParameter(
            f'"{master}" is no master: write local[4], spark://HOST:PORT, k8s://URL or yarn', context, option
        )
    return master


def _settings(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.startswith("spark."):
            raise click.BadParameter(f'"{text}" is no setting of Spark: write it as spark.NAME=VALUE', context, option)
        if name in ("spark.master", "spark.remote"):
            raise click.BadParameter(f"{name} is said by --{name.removeprefix('spark.')}", context, option)
        found[name] = value
    return found


SPARK_OPTIONS = tuple(click.command()(spark_options(lambda: None)).params)  # for commands that are not made of a function
