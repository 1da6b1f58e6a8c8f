"""planscope explain: the plan of a query, the stages before it with all that fired in them, and what the search did."""

from __future__ import annotations

import json
from typing import Any

import click

from experiments.commands.inputs import Inputs, check_engine, query_inputs
from experiments.commands.limits import limit_options
from experiments.commands.output import format_of, text_width, write_text

FORMATS = ("text", "json", "svg")


@click.command("explain")
@query_inputs
@click.option("--analyze", is_flag=True, help="Run the query and show actual rows and time beside the estimates.")
@click.option("--stage", default="plan", show_default=True, metavar="STAGE", help="bind, prepass, ..., memo, plan, or all.")
@click.option("--format", "format", type=click.Choice(FORMATS), help="Default: what FILE's ending says, else text.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of standard output.")
@click.option("--engine", type=click.Choice(["arrow", "spark"]), default="arrow", show_default=True, help="What the plan is for.")
@limit_options
@click.pass_obj
def command(
    facts: dict[str, Any], inputs: Inputs, analyze: bool, stage: str, format: str | None, output: str | None, engine: str,
    timeout: float | None, memory_limit: str | None,
) -> None:  # fmt: skip
    """Show the plan of a query, and how it came about.

    \b
    planscope explain tpch/q05 -d tpch:0.1 --stage all
    planscope explain tpch/q05 -d tpch:0.1 --stage prepass
    planscope explain tpch/q05 -d tpch:0.1 --analyze
    planscope explain tpch/q05 -d tpch:0.1 -o plan.svg
    """
    check_engine(engine)
    format = format_of(output, format, FORMATS)
    if format == "json" and stage in ("memo", "all"):
        raise click.UsageError("--format json describes the plan or one stage before it; planscope memo has the memo as data")
    if format == "svg" and stage not in ("plan", "memo"):
        raise click.UsageError("there are pictures of --stage plan and --stage memo; other stages are text")
    if analyze and stage not in ("plan", "all"):
        raise click.UsageError("--analyze runs the plan and shows it; leave --stage out")
    if not analyze and (timeout is not None or memory_limit is not None):
        raise click.UsageError("--timeout and --memory-limit are about running: they need --analyze")
    from executor.session import limits

    allowed = limits(timeout, memory_limit)
    session, sql = inputs.open(facts)
    session.limits = allowed
    if analyze:
        session.check_rows()
    explanation = session.explain(sql, analyze=analyze)
    names = [s.name for s in explanation.query.stages]
    if stage not in (*names, "memo", "plan", "all"):
        raise click.UsageError(f'there is no stage "{stage}"; stages are {", ".join([*names, "memo", "plan", "all"])}')
    if format == "json":
        from experiments.commands.stage_text import stage_json

        chosen = [s for s in explanation.query.stages if s.name == stage]
        value = stage_json(chosen[0]) if chosen else explanation.json
        write_text(json.dumps(value, indent=2, allow_nan=False), output)
    elif format == "svg":
        write_text(explanation.plan.svg if stage == "plan" else explanation.memo.svg(), output)
    else:
        write_text(_text(explanation, stage), output)


def _text(explanation: Any, stage: str) -> str:
    from experiments.commands.stage_text import stage_text, stage_title
    from memo_viz.listing import memo_listing

    query, parts = explanation.query, []
    for each in query.stages:
        if stage == each.name:
            parts.append(stage_text(each, text_width()))
        elif stage == "all":
            parts.append(f"{stage_title(each)}\n\n{each.text}")
    if stage == "memo":  # with all of the above it would bury the plan
        parts.append(memo_listing(explanation.memo.state))
    if stage in ("plan", "all"):
        head = "plan\n\n" if stage == "all" else ""
        parts.append(head + explanation.show(text_width()))
    return "\n\n".join(parts)
