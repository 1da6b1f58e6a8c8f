"""planscope diff: two searches side by side, of one query under two settings or of two trace files."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from experiments.commands.inputs import Inputs, query_inputs
from experiments.commands.output import format_of, say, text_width, write_json, write_text
from experiments.commands.traced import is_trace, read_trace_file, traced
from experiments.workloads.queries import resolve_sql
from memo_viz.text import shorten
from optimizer.errors import SettingsError

FORMATS = ("text", "json", "html")


@click.command("other side", add_help_option=False)
@query_inputs
def _other_side(inputs: Inputs) -> Inputs:
    """Reads the options after --."""
    return inputs


@click.command("diff", options_metavar="[OPTIONS] [-- OPTIONS]")
@query_inputs
@click.argument("other", nargs=-1, type=click.UNPROCESSED)
@click.option("--format", "format", type=click.Choice(FORMATS), help="Default: what FILE's ending says, else text.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of standard output; diff.html is a page.")
@click.pass_obj
def command(facts: dict[str, Any], /, inputs: Inputs, other: tuple[str, ...], format: str | None, output: str | None) -> None:
    """Compare the plans and searches of one query under two settings, or of two trace files.

    What stands before -- is for the first search, what stands after it for the second, plug-ins too; the query and its data are
    for both. Shown are plans, costs, winners, groups, expressions, rules fired, counts and the first event at which the searches
    part: no times.

    \b
    planscope diff tpch/q05 -d tpch:0.1 -- --disable join_to_merge_join
    planscope diff job/17e --set pruning=none -- --set pruning=both
    planscope diff a.jsonl b.jsonl -o diff.html
    """
    format = format_of(output, format, FORMATS)
    files = is_trace(inputs.sql)
    if files and len(other) == 1:
        names = inputs.sql, other[0]
        traces = [read_trace_file(file, inputs.quiet) for file in (inputs.of_trace(), Path(other[0]))]
    elif files:
        raise click.UsageError("two trace files are compared: planscope diff a.jsonl b.jsonl")
    else:
        second = _second(inputs, other)
        if inputs.sql == "-":  # which can be read once
            sql = resolve_sql("-")
            inputs, second = replace(inputs, sql=sql), replace(second, sql=sql)
        names = _called(inputs, second), _called(second, inputs)
        traces = [traced(inputs, facts, defaults={}).events]
        try:
            traces.append(traced(second, facts, defaults={}).events)
        except SettingsError as error:
            again = shlex.join(part for file in inputs.plugins for part in ("--plugin", file) if file not in second.plugins)
            raise SettingsError(
                f"{error}\nthe second search has plug-ins of its own: add {again} after --" if again else str(error)
            ) from error
    from memo_viz.comparison import compare, comparison_json, comparison_text

    comparison = compare(traces[0], traces[1], names)
    if format == "json":
        write_json(comparison_json(comparison), output, 1)
    elif format == "html":
        from memo_viz.comparison_page import comparison_page
        from memo_viz.plan_graph import winner_boxes
        from optimizer.trace.replay import Replay

        write_text(comparison_page(comparison, *(winner_boxes(Replay(trace).final()) for trace in traces)), output)
    else:
        say(comparison_text(comparison, text_width()), output)


def _second(first: Inputs, options: tuple[str, ...]) -> Inputs:
    """The other side: what `options` say of the same query. Raises UsageError."""
    if any(map(is_trace, options)):
        raise click.UsageError("a query is compared under two settings, a trace file with another trace file")
    if options and not options[0].startswith("-"):
        raise click.UsageError(f"{options[0]}: one query is compared under two settings; what stands after -- are options")
    try:
        second = _other_side.main([first.sql, *options], standalone_mode=False)
    except click.NoSuchOption as error:
        where = "after -- stand settings of the second search, before it -o and --format"
        raise click.UsageError(f"{error.format_message()}\n{where}") from None
    assert isinstance(second, Inputs)
    second = replace(second, data=second.data or first.data, quiet=second.quiet or first.quiet)
    if second == first:
        resolve_sql(first.sql)  # what it says of a text that is no query goes before
        raise click.UsageError(
            "both sides are the same: say what differs after --, as in planscope diff SQL -- --set pruning=none"
        )
    return second


def _called(inputs: Inputs, other: Inputs) -> str:
    """The side as one would type it; without the data that are also those of the other."""
    words = [] if inputs.data in (None, other.data) else ["-d", inputs.data or ""]
    words += [part for pair in inputs.pairs for part in ("--set", pair)]
    words += [part for rule in inputs.disable for part in ("--disable", rule)]
    words += [part for file in inputs.plugins for part in ("--plugin", file)]
    files = ("--settings", inputs.settings_file), ("--program", inputs.program_file)
    for option, value in (("--join-order", inputs.join_order), ("--preset", inputs.preset), *files):
        words += [] if value is None else [option, str(value)]
    return " ".join([shorten(" ".join(inputs.sql.split()), 60), *map(shlex.quote, words)])
