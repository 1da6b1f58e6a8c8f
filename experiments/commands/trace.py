"""planscope trace: every event of a search, one JSON object a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from experiments.commands.inputs import TO_WATCH, Inputs, query_inputs, say_regions
from experiments.commands.output import sink


@click.command("trace")
@query_inputs
@click.option("-o", "--output", metavar="FILE.jsonl", help="Write there instead of standard output.")
@click.option("--max-events", type=click.IntRange(1), metavar="N", help="Keep the first N events and count the others.")
@click.pass_obj
def command(facts: dict[str, Any], inputs: Inputs, output: str | None, max_events: int | None) -> None:
    """Write every event of the search for a query, one JSON object a line.

    The joins of a region are searched set by set, to be watched; --set region=auto takes the quicker way that explain takes.

    \b
    planscope trace tpch/q05 -d tpch:0.1 -o trace.jsonl
    """
    if output and Path(output).suffix.lower() in (".html", ".htm"):
        raise click.UsageError("traces are JSON lines: -o trace.jsonl")
    session, sql = inputs.open(facts, **TO_WATCH)
    from memo_viz.text import clean_json
    from optimizer.trace.recorder import Trace, json_lines

    trace = Trace(max_events=max_events)
    with sink(output) as file:
        query = session.optimize(sql, trace)
        for line in json_lines(trace):
            file.write((clean_json(line) + "\n").encode("utf-8", "replace"))
    if output not in (None, "-") and not inputs.quiet:
        more = f", {trace.dropped:,} left out" if trace.dropped else ""
        click.echo(f"{len(trace.events):,} events in {output}{more}", err=True)
    say_regions(query.search.regions, inputs.quiet)
