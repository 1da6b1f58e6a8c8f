"""planscope why: why a plan was not chosen, and what would make it win."""

import json
from pathlib import Path
from typing import Any

import click

from experiments.commands.inputs import TO_WATCH, Inputs, query_inputs
from experiments.commands.output import format_of, say, write_json

FORMATS = ("text", "json")
MOST_BYTES = 50_000_000


def _mexpr(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    """12, or m12 as views call it."""
    if text is not None and (not text.removeprefix("m").isdecimal() or len(text) > 12):
        raise click.BadParameter(f"{text!r:.60} is no multi-expression: they are called m12, or 12")
    return None if text is None else int(text.removeprefix("m"))


@click.command("why")
@query_inputs
@click.option("--rule", metavar="RULE", help="Why what this rule makes is not in the plan.")
@click.option("--operator", metavar="NAME", help="Why this physical operator is not in the plan: merge_join.")
@click.option("--mexpr", callback=_mexpr, metavar="M", help="Why this multi-expression, by its number in a trace, is not.")
@click.option("--plan", "plan", type=click.Path(path_type=Path), metavar="FILE.json", help="Why it is not this plan.")
@click.option("--no-change", is_flag=True, help="Do not look for a row count that would turn the plan, which takes the longest.")
@click.option("--format", "format", type=click.Choice(FORMATS), help="Default: what FILE's ending says, else text.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of standard output.")
@click.pass_obj
def command(
    facts: dict[str, Any], inputs: Inputs, rule: str | None, operator: str | None, mexpr: int | None, plan: Path | None,
    no_change: bool, format: str | None, output: str | None,
) -> None:  # fmt: skip
    """Why the plan of a query is not another: the first reason, with the event of the trace to look at; what both cost; and the
    smallest change of one row count that would turn it.

    Ask about one thing: a join order, a rule, an operator, an expression or a plan that explain --format json wrote.

    \b
    planscope why tpch/q05 -d tpch:0.1 --join-order '((lineitem supplier) orders)'
    planscope why tpch/q05 -d tpch:0.1 --operator merge_join
    planscope why tpch/q05 -d tpch:0.1 --rule aggregate_push_join
    planscope why tpch/q05 -d tpch:0.1 --plan plan.json
    """
    format = format_of(output, format, FORMATS)
    asked: dict[str, Any] = {"join_order": inputs.join_order, "rule": rule, "operator": operator, "mexpr": mexpr, "plan": plan}
    given = {name: value for name, value in asked.items() if value is not None}
    if len(given) != 1:
        raise click.UsageError("ask about one of --join-order, --rule, --operator, --mexpr and --plan")
    ((name, value),) = given.items()
    value = _read(plan) if plan is not None else value
    session, sql = inputs.without_order().open(facts, **TO_WATCH)
    question = session.why(sql, not no_change)
    answer = question.plan(value, str(plan)) if plan is not None else getattr(question, name)(value)
    if format == "json":
        write_json(answer.json, output)
    else:
        say(answer.text, output)


def _read(path: Path) -> Any:
    from optimizer.errors import SettingsError

    try:
        if path.stat().st_size > MOST_BYTES:
            raise SettingsError(f"{path} is no plan: it has more than {MOST_BYTES:,} bytes")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path} is no plan: it is not JSON ({error})") from None
