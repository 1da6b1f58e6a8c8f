"""planscope memo: the groups and multi-expressions that the search left, as picture, graph or data."""

from pathlib import Path
from typing import Any

import click

from experiments.commands.inputs import Inputs, query_inputs
from experiments.commands.output import say, write_json
from experiments.commands.picture import PICTURES, memo_options, write_picture
from experiments.commands.traced import traced

ENDINGS = tuple(f".{name}" for name in PICTURES)


@click.command("memo")
@query_inputs
@click.option("-o", "--output", metavar="FILE", help="memo.svg, .png, .pdf, .dot or .json; without it, text on standard output.")
@memo_options
@click.pass_obj
def command(
    facts: dict[str, Any], /, inputs: Inputs, output: str | None, animate: float | None, overview: bool, detail: bool, **part: Any
) -> None:
    """Write the memo of a query, or of a trace file, as a picture or as data.

    The joins of a region are searched set by set, so that all that was looked at is there; --set region=auto takes the quicker
    way that explain takes.

    \b
    planscope memo tpch/q05 -d tpch:0.1 -o memo.svg
    planscope memo tpch/q05 -d tpch:0.1 -o part.svg \\
        --focus '{nation, region}' --depth 1
    planscope memo trace.jsonl -o change.svg --at 900 --since 400
    planscope memo tpch/q05 -d tpch:0.1 -o growth.svg --animate 20
    """
    ending = Path(output).suffix.lower() if output and output != "-" else ""
    if output not in (None, "-") and ending not in ENDINGS:
        raise click.UsageError(f"-o ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}, not {ending or 'nothing'}")
    if animate is not None and ending != ".svg":
        raise click.UsageError("an animated memo is an SVG: -o memo.svg")
    if ending in ("", ".json") and (part["since"] is not None or overview or detail):
        raise click.UsageError("--since, --overview and --detail are for pictures: add -o memo.svg")
    narrowed = any(part[name] not in (None, False) for name in ("focus", "depth", "winners"))
    if ending == ".json" and narrowed:
        raise click.UsageError(
            "memo.json holds the whole memo; --focus, --depth and --winners are for pictures and text "
            "(planscope picture memo -o graph.json has what is drawn)"
        )
    events, title, _ = traced(inputs, facts)
    from memo_viz.pictures import memo_picture, memo_shown, state_at
    from optimizer.trace.replay import Replay

    if ending == ".json":
        from memo_viz.export import memo_json

        state = state_at(Replay(events), part["at"])
        write_json(memo_json(state), output, 1)
    elif not ending:
        from memo_viz.listing import graph_listing

        say(graph_listing(memo_shown(events, **part)), output)
    else:
        picture = memo_picture(events, overview=overview, detail=detail, animate=animate, title=title, **part)
        write_picture(picture, output, ending[1:])
