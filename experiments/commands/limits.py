"""What commands that run a query say of its limits, and of how far it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from executor.arrow.watch import Watch

_FIRST_S, _EVERY_S = 1.0, 0.2  # a query that is over soon says nothing


def limit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --timeout and --memory-limit, passed as `timeout` and `memory_limit`."""
    timeout = click.option("--timeout", type=float, metavar="S", help="Stop the query when it has run for S seconds.")
    memory = click.option("--memory-limit", metavar="SIZE", help="Stop it when its operators hold more: 256MB, 1.5GB.")
    return timeout(memory(function))


class Progress:
    """One line on a terminal that says how far something is; called with a query's watch: rows read of those to read, and the
    operator at work."""

    def __init__(self, quiet: bool) -> None:
        self._on = not quiet and sys.stderr.isatty()
        self._started = self._said = monotonic()
        self._line = False

    def __call__(self, watch: Watch) -> None:
        read, every = watch.rows_read, watch.rows_to_read
        share = f"{100 * read / every:3.0f} % of {every:,} rows read" if every else "reading"
        self.say(f"{share}; {watch.operator}")

    def say(self, text: str) -> None:
        now = monotonic()
        if not self._on or now - self._started < _FIRST_S or now - self._said < _EVERY_S:
            return
        self._said, self._line = now, True
        sys.stderr.write(f"\r\x1b[K{now - self._started:.0f} s, {text}")
        sys.stderr.flush()

    def close(self) -> None:
        """Takes the line away."""
        if self._line:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._line = False
