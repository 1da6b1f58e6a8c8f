"""planscope trace: every event of a search, one JSON object a line, or as a page to step through."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from experiments.commands.inputs import Inputs, query_inputs
from experiments.commands.output import sink
from experiments.commands.traced import is_trace, traced
from memo_viz.text import clean_json, clean_lines
from optimizer.errors import many
from optimizer.trace.recorder import json_lines


@click.command("trace")
@query_inputs
@click.option("-o", "--output", metavar="FILE", help="trace.jsonl, or trace.html; without it, JSON lines on standard output.")
@click.option("--max-events", type=click.IntRange(1), metavar="N", help="Keep the first N events and count the others.")
@click.option(
    "--from", "start", type=click.IntRange(0), metavar="N", help="The first event on the page, where it cannot have all."
)
@click.pass_obj
def command(facts: dict[str, Any], inputs: Inputs, output: str | None, max_events: int | None, start: int | None) -> None:
    """Write every event of the search for a query, one JSON object a line; or a page to step through it, which is one file and
    needs no network. In place of SQL, FILE.jsonl is a trace that was written before.

    The joins of a region are searched set by set, to be watched; --set region=auto takes the quicker way that explain takes.

    \b
    planscope trace tpch/q05 -d tpch:0.1 -o trace.jsonl
    planscope trace tpch/q05 -d tpch:0.1 -o trace.html
    planscope trace trace.jsonl -o trace.html
    """
    page = output is not None and Path(output).suffix.lower() in (".html", ".htm")
    named = output is not None and output != "-" and (Path(output).is_file() or not Path(output).exists())  # no device, no pipe
    if named and not page and Path(output or "").suffix.lower() != ".jsonl":
        raise click.UsageError(
            f"{output} is no trace by its name: a trace is JSON lines (.jsonl) or a page (.html)\n"
            "planscope memo makes pictures of it"
        )
    if start is not None and not page:
        raise click.UsageError("--from is for pages: -o trace.html")
    if is_trace(inputs.sql) and not page:
        raise click.UsageError(f"{inputs.sql} is a trace already; -o trace.html makes a page of it")
    with sink(output) as file:
        events, title, trace = traced(inputs, facts, max_events)
        count = len(events)
        if page or trace is None:
            text, count = page_of(events, title, start or 0)
            file.write(text)
        else:
            for line in json_lines(trace):
                file.write((clean_json(line) + "\n").encode("utf-8", "replace"))
    if output not in (None, "-") and not inputs.quiet:
        more = f", {trace.dropped:,} left out" if trace is not None and trace.dropped else ""
        click.echo(clean_lines(f"{many(count, 'event')} in {output}{more}"), err=True)


def page_of(events: Sequence[dict[str, Any]], title: str, start: int) -> tuple[bytes, int]:
    """The page as UTF-8, and how many events it has. `start`: the first of them."""
    from memo_viz.stepper.page import PAGE_EVENTS, stepper_page

    if start >= len(events):
        raise click.UsageError(f"--from {start}: the trace has {many(len(events), 'event')}, from 0")
    if len(events) > PAGE_EVENTS:
        click.echo(
            f"a page has {PAGE_EVENTS:,} events at most, this one those from {start:,} on; --from N begins elsewhere", err=True
        )
    page = stepper_page(events, title=title, start=start).encode("utf-8", "replace")
    return page, min(len(events) - start, PAGE_EVENTS)
