"""What commands that show a search read: a trace file, or the trace of a query that they search anew."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from experiments.commands.inputs import TO_WATCH, Inputs, say_regions
from memo_viz.text import clean, shorten
from optimizer.trace.recorder import Trace


class Traced(NamedTuple):
    """The events, what to call them, and what they were recorded in, None for those of a file."""

    events: list[dict[str, Any]]
    title: str
    trace: Trace | None = None


def is_trace(text: str) -> bool:
    """Whether SQL is the name of a trace file, which needs no data."""
    return text.lower().endswith(".jsonl")


def traced(
    inputs: Inputs, facts: dict[str, Any], max_events: int | None = None, defaults: Mapping[str, Any] = TO_WATCH
) -> Traced:
    """The first `max_events` of a trace file, or of a search with `defaults` for settings that the user says nothing about.
    Raises PlanscopeError."""
    if is_trace(inputs.sql):
        return Traced(read_trace_file(inputs.of_trace(), inputs.quiet)[:max_events], shorten(Path(inputs.sql).name, 80))
    session, sql = inputs.open(facts, **defaults)
    trace = Trace(max_events=max_events)
    regions = session.optimize(sql, trace).search.regions
    if defaults is TO_WATCH:
        say_regions(regions, inputs.quiet)
    return Traced(trace.events, shorten(inputs.sql, 80), trace)


def read_trace_file(file: Path, quiet: bool) -> list[dict[str, Any]]:
    """The events of a trace file, as far as it can be read; standard error learns what is wrong with it. Raises CatalogError."""
    from optimizer.trace.replay import Replay

    replay = Replay.load(file)
    if replay.damage is not None:
        said = f"{replay.damage}; what comes before it is shown"
    else:
        said = "" if any(event["kind"] == "plan" for event in replay.events) else "it ends before a plan is chosen"
    if said and not quiet:
        click.echo(clean(f"{file}: {said}"), err=True)
    return list(replay.events)
