"""What commands that show a search read: a trace file, or the trace of a query that they search anew."""

from pathlib import Path
from typing import Any

import click

from experiments.commands.inputs import TO_WATCH, Inputs, say_regions
from memo_viz.text import clean, shorten

TRACE = ".jsonl"


def traced(inputs: Inputs, facts: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """The events, and what to call them. SQL that ends in .jsonl is a trace file, which needs no data. Raises PlanscopeError."""
    if inputs.sql.lower().endswith(TRACE):
        return read_trace_file(inputs.of_trace(), inputs.quiet), shorten(Path(inputs.sql).name, 80)
    session, sql = inputs.open(facts, **TO_WATCH)
    explanation = session.explain(sql)
    say_regions(explanation.query.search.regions, inputs.quiet)
    return explanation.trace.events, shorten(inputs.sql, 80)


def read_trace_file(file: Path, quiet: bool) -> list[dict[str, Any]]:
    """The events of a trace file, as far as it can be read; standard error learns what is wrong with it. Raises CatalogError."""
    from optimizer.trace.replay import Replay

    replay = Replay.load(file)
    if replay.damage is not None and not quiet:
        click.echo(clean(f"{file}: {replay.damage}; what comes before it is shown"), err=True)
    return list(replay.events)
