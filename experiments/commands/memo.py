"""planscope memo: the groups and multi-expressions that the search left, as picture, graph or data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from experiments.commands.inputs import TO_WATCH, Inputs, query_inputs, say_regions
from experiments.commands.output import write_text

ENDINGS = (".svg", ".dot", ".json")


class GroupName(click.ParamType[int]):
    """G12 or 12."""

    name = "G12"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        digits = text[1:] if text[:1] in "Gg" else text
        if not digits.isdecimal():
            self.fail(f'"{text}" is not a group; groups are called G12', param, ctx)
        return int(digits)


@click.command("memo")
@query_inputs
@click.option("-o", "--output", metavar="FILE", help="memo.svg, memo.dot or memo.json; without it, text on standard output.")
@click.option("--focus", type=GroupName(), help="Only this group and what lies below it.")
@click.option("--depth", type=click.IntRange(0), metavar="N", help="Only N levels of input groups.")
@click.option("--winners", is_flag=True, help="Only the chosen plan.")
@click.pass_obj
def command(
    facts: dict[str, Any], inputs: Inputs, output: str | None, focus: int | None, depth: int | None, winners: bool
) -> None:
    """Write the memo of a query as a picture or as data.

    The joins of a region are searched set by set, so that all that was looked at is there; --set region=auto takes the quicker
    way that explain takes.

    \b
    planscope memo tpch/q05 -d tpch:0.1 -o memo.svg
    planscope memo tpch/q05 -d tpch:0.1 -o part.svg --focus G12 --depth 1
    planscope memo tpch/q05 -d tpch:0.1 -o plan.svg --winners
    """
    ending = Path(output).suffix.lower() if output and output != "-" else ""
    if output not in (None, "-") and ending not in ENDINGS:
        raise click.UsageError(f"-o ends in .svg, .dot or .json, not {ending or 'nothing'}")
    part = focus is not None or depth is not None or winners
    if ending == ".json" and part:
        raise click.UsageError("memo.json holds the whole memo; --focus, --depth and --winners are for pictures and text")
    session, sql = inputs.open(facts, **TO_WATCH)
    explanation = session.explain(sql)
    memo = explanation.memo
    say_regions(explanation.query.search.regions, inputs.quiet)
    if ending == ".json":
        from memo_viz.export import memo_json

        write_text(json.dumps(memo_json(memo.state), indent=1, allow_nan=False), output)
        return
    from memo_viz.dot import COMPLETE, memo_dot
    from memo_viz.graph import memo_graph
    from memo_viz.listing import graph_listing
    from memo_viz.svg import render_svg

    graph = memo_graph(memo.state, focus=focus, depth=depth, winners=winners)
    if not ending:
        write_text(graph_listing(graph), output)
        return
    title = inputs.sql if len(inputs.sql) <= 80 else inputs.sql[:79] + "…"
    dot = memo_dot(graph, COMPLETE if part else None, title)
    write_text(dot if ending == ".dot" else render_svg(dot), output)
