"""planscope explain: the plan of a query, the trees before it, and what the search did."""

from __future__ import annotations

import json
from typing import Any

import click

from experiments.commands.inputs import Inputs, check_engine, query_inputs
from experiments.commands.output import format_of, text_width, write_text

FORMATS = ("text", "json", "svg")


@click.command("explain")
@query_inputs
@click.option("--analyze", is_flag=True, help="Run the query and show actual rows and time beside the estimates.")
@click.option("--stage", default="plan", show_default=True, metavar="STAGE", help="bind, prepass, ..., memo, plan, or all.")
@click.option("--format", "format", type=click.Choice(FORMATS), help="Default: what FILE's ending says, else text.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of standard output.")
@click.option("--engine", type=click.Choice(["arrow", "spark"]), default="arrow", show_default=True, help="What the plan is for.")
@click.pass_obj
def command(
    facts: dict[str, Any], inputs: Inputs, analyze: bool, stage: str, format: str | None, output: str | None, engine: str
) -> None:
    """Show the plan of a query, and how it came about.

    \b
    planscope explain tpch/q05 -d tpch:0.1 --stage all
    planscope explain tpch/q05 -d tpch:0.1 --analyze
    planscope explain tpch/q05 -d tpch:0.1 -o plan.svg
    """
    check_engine(engine)
    format = format_of(output, format, FORMATS)
    if format == "json" and stage != "plan":
        raise click.UsageError("--format json describes the plan; leave --stage out")
    if format == "svg" and stage not in ("plan", "memo"):
        raise click.UsageError("there are pictures of --stage plan and --stage memo; other stages are text")
    if analyze and stage not in ("plan", "all"):
        raise click.UsageError("--analyze runs the plan and shows it; leave --stage out")
    session, sql = inputs.open(facts)
    if analyze:
        session.check_rows()
    explanation = session.explain(sql, analyze=analyze)
    names = [s.name for s in explanation.query.stages]
    if stage not in (*names, "memo", "plan", "all"):
        raise click.UsageError(f'there is no stage "{stage}"; stages are {", ".join([*names, "memo", "plan", "all"])}')
    if format == "json":
        write_text(json.dumps(explanation.json, indent=2, allow_nan=False), output)
    elif format == "svg":
        write_text(explanation.plan.svg if stage == "plan" else explanation.memo.svg(), output)
    else:
        write_text(_text(explanation, stage), output)


def _text(explanation: Any, stage: str) -> str:
    from memo_viz.listing import memo_listing

    query, parts = explanation.query, []
    for each in query.stages:
        if stage in (each.name, "all"):
            parts.append(stage_text(each, stage == "all"))
    if stage == "memo":  # with all of the above it would bury the plan
        parts.append(memo_listing(explanation.memo.state))
    if stage in ("plan", "all"):
        head = "plan\n\n" if stage == "all" else ""
        parts.append(head + explanation.show(text_width()))
    return "\n\n".join(parts)


def stage_text(stage: Any, titled: bool) -> str:
    """The tree after a stage; `titled`: under the stage's name, its time and how often each rule fired."""
    if not titled:
        return stage.text
    counts: dict[str, int] = {}
    for firing in stage.firings:
        counts[firing[0]] = counts.get(firing[0], 0) + 1
    fired = ", ".join(f"{rule} ×{count}" if count > 1 else rule for rule, count in counts.items())
    return f"{stage.name}  ({stage.ms:.1f} ms{'; ' + fired if fired else ''})\n\n{stage.text}"
