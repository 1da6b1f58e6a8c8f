"""planscope picture: what can be drawn of a search, each as SVG, PNG, PDF, DOT or JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from experiments.commands.groups import Group
from experiments.commands.inputs import Inputs, query_inputs
from experiments.commands.output import format_of, sink, write_json, write_text
from experiments.commands.traced import traced

PICTURES = ("svg", "png", "pdf", "dot", "json")

at_option = click.option("--at", type=click.IntRange(0), metavar="EVENT", help="As it was after this event of the trace.")


def memo_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that say what of a memo is shown, and how."""
    for option in reversed((
        click.option("--at", type=click.IntRange(0), metavar="EVENT", help="As the memo was after this event of the trace."),
        click.option("--since", type=click.IntRange(0), metavar="EVENT", help="Mark what changed after this earlier event."),
        click.option("--focus", metavar="G12", help="Only this group and what lies below it; a name such as orders will do."),
        click.option("--depth", type=click.IntRange(0), metavar="N", help="Only N levels of input groups."),
        click.option("--winners", is_flag=True, help="Only the chosen plan."),
        click.option("--animate", type=click.FloatRange(1, 3600), metavar="SECONDS", help="An SVG in which the memo grows."),
        click.option("--overview", is_flag=True, help="Groups as squares by size; default where there are many."),
        click.option("--detail", is_flag=True, help="Every member of every group."),
    )):  # fmt: skip
        function = option(function)
    return function


def write_picture(picture: Any, output: str | None, format: str) -> None:
    """A `memo_viz.pictures.Picture` to a file or standard output, as one of PICTURES."""
    from memo_viz.svg import render

    if picture.note:
        click.echo(picture.note, err=True)
    if picture.svg is not None:
        if format != "svg":
            raise click.UsageError("an animated memo is an SVG: -o memo.svg")
        write_text(picture.svg, output)
    elif format == "json":
        write_json(picture.json, output, 1)
    elif format in ("svg", "dot"):
        write_text(render(picture.dot, format).decode("utf-8"), output)
    else:
        with sink(output) as file:
            file.write(render(picture.dot, format))


@click.group("picture", cls=Group)
def command() -> None:
    """Draw a search: SVG, PNG, PDF, DOT or JSON. SQL may also be a trace file, trace.jsonl, which needs no data.

    \b
    planscope picture joins tpch/q05 -d tpch:0.1 -o joins.svg
    planscope picture steps tpch/q02 -d tpch:0.1 -o steps.png
    planscope picture plan trace.jsonl --at 900 -o plan.pdf
    """


def _drawing(name: str, help: str, *options: Callable[..., Any]) -> None:
    """Adds a command that draws what the function NAME_picture of `memo_viz.pictures` makes of the events and the options."""

    def run(inputs: Inputs, output: str | None, format: str | None, **chosen: Any) -> None:
        from memo_viz import pictures

        format = format_of(output, format, PICTURES)
        events, title, _ = traced(inputs, click.get_current_context().obj)
        write_picture(getattr(pictures, f"{name}_picture")(events, title=title, **chosen), output, format)

    for option in (
        *reversed(options),
        click.option("--format", "format", type=click.Choice(PICTURES), help="Default: what FILE's ending says, else svg."),
        click.option("-o", "--output", metavar="FILE", help="Write there instead of standard output."),
    ):
        run = option(run)
    command.command(name, help=help)(query_inputs(run))


_drawing("plan", "The chosen plan: operators, rows, share of the cost.", at_option)
_drawing("joins", "The join graph: relations and the predicates that link them.")
_drawing(
    "steps", "Each rewrite before the search, before and after; by default those that remove subqueries.",
    click.option("--stage", "stages", multiple=True, metavar="STAGE",
                 help="Default: those that remove subqueries: subqueries, filters and decorrelate."),
)  # fmt: skip
_drawing("rules", "Which rules fired on what other rules made, how often, and which made the plan.")
_drawing(
    "traits",
    "The trait ledger: which orders and groupings were asked of which groups, how each was met, and at what cost.",
    at_option,
)
_drawing(
    "memo", "The memo: groups, their members, and the chosen plan; .json has the graph that is drawn, for networkx.", memo_options
)
