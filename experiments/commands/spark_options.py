"""The options of commands that run on Spark: where it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def spark_options(function: Command) -> Command:
    """Adds --master and --remote, passed as `master` and `remote` to the command and from there to `spark_session`."""
    function = click.option("--remote", metavar="URL", help="A Spark Connect server, sc://host:15002, instead of a master.")(
        function
    )
    return click.option(
        "--master", metavar="URL", help="Where Spark runs: local[4], spark://host:7077, yarn. Default: local[*]."
    )(function)
