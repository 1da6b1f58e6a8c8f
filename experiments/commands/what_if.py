"""planscope what-if: the plan of a query under other row counts and costs, and plan diagrams."""

import math
import re
from typing import Any

import click

from experiments.commands.inputs import Inputs, query_inputs
from experiments.commands.output import format_of, say, sink, text_width, write_json, write_text

PICTURES = ("svg", "png", "pdf")
FORMATS = ("text", "json", *PICTURES)


@click.command("what-if")
@query_inputs
@click.option("--rows", multiple=True, metavar="{A,B}=N", help="The join of these relations, or one filtered table, has N rows.")
@click.option("--cost", multiple=True, metavar="OPERATOR=X", help="An operator costs X times as much (repeatable).")
@click.option("--sweep", multiple=True, metavar="{A,B}[=LO..HI]", help="A plan diagram over the rows of one set or two.")
@click.option("--points", type=click.IntRange(2, 200), metavar="N", help="Points of each axis. Default: 60, or 16 by 16.")
@click.option("--format", "format", type=click.Choice(FORMATS), help="Default: what FILE's ending says, else text.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of standard output.")
@click.pass_obj
def command(
    facts: dict[str, Any], inputs: Inputs, rows: tuple[str, ...], cost: tuple[str, ...], sweep: tuple[str, ...],
    points: int | None, format: str | None, output: str | None,
) -> None:  # fmt: skip
    """The plan of a query if figures were others: the memo is costed again, not explored again.

    \b
    planscope what-if tpch/q05 -d tpch:0.1 --rows '{lineitem,orders}=1e6'
    planscope what-if tpch/q05 -d tpch:0.1 --cost hash_join=2 --cost sort=0.5
    planscope what-if tpch/q05 -d tpch:0.1 --sweep '{orders}' -o diagram.svg
    planscope what-if tpch/q05 -d tpch:0.1 --sweep '{orders}' \\
        --sweep '{customer,orders}=10..1e6' -o diagram.svg
    """
    format = format_of(output, format, FORMATS)
    if not (rows or cost or sweep):
        raise click.UsageError("say what is to be another: --rows '{a,b}=1e6', --cost hash_join=2 or --sweep '{a}'")
    if len(sweep) > 2:
        raise click.UsageError("a plan diagram has one axis or two")
    if sweep and rows:
        raise click.UsageError("--sweep changes row counts by itself: leave --rows out")
    if points and not sweep:
        raise click.UsageError("--points are those of an axis: add --sweep '{a}'")
    if format in PICTURES and not sweep:
        raise click.UsageError("there are pictures of plan diagrams: add --sweep '{a}'")
    changed = dict(_rows(text) for text in rows)
    factors = dict(_factor(text) for text in cost)
    if len(changed) < len(rows) or len(factors) < len(cost):
        raise click.UsageError("--rows or --cost names one thing twice")
    axes = [_range(text) for text in sweep]
    if len({names for names, *_ in axes}) < len(axes):
        raise click.UsageError("the two axes of a plan diagram are the rows of two sets: --sweep names one twice")
    session, sql = inputs.open(facts)
    what_if = session.what_if(sql)
    answer = (
        what_if.diagram(axes, factors, points or (60 if len(axes) == 1 else 16)) if sweep else what_if.under(changed, factors)
    )
    if format == "json":
        write_json(answer.json, output)
    elif format in PICTURES:
        from memo_viz.plan_diagram import plan_diagram_svg

        svg = plan_diagram_svg(answer.json, inputs.sql)
        if format == "svg":
            write_text(svg, output)
        else:
            from experiments.diagram_file import diagram_file

            with sink(output) as file:
                file.write(diagram_file(svg, format))
    else:
        say(answer.show(text_width()), output)


def read_set(text: str) -> frozenset[str]:
    """Relations as `{a,b}`, with or without the braces; names with commas in double quotes. Raises click.UsageError."""
    inner = re.sub(r"^\s*\{(.*)\}\s*$", r"\1", text)
    found = re.findall(r'"((?:[^"]|"")+)"|([^\s,][^,]*)', inner)
    names = frozenset((quoted.replace('""', '"') or plain.strip()).lower() for quoted, plain in found)
    if not names:
        raise click.UsageError(f'"{text}" names no relations: write {{a,b}}')
    return names


def _rows(text: str) -> tuple[frozenset[str], float]:
    names, equals, value = text.rpartition("=")
    if not equals:
        raise click.UsageError(f'"{text}" says no number of rows: write {{a,b}}=1e6')
    return read_set(names), _number(value, text, 0.0)


def _factor(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    return name, _number(value, text, 0.0)


def _range(text: str) -> tuple[frozenset[str], float | None, float | None]:
    names, equals, span = text.rpartition("=")
    if not equals or {*span} & {*'}"'}:  # the = is one of a name
        return read_set(text), None, None
    low, dots, high = span.partition("..")
    ends = _number(low, text, 1e-9), _number(high, text, 1e-9)
    if not dots or ends[0] >= ends[1]:
        raise click.UsageError(f'"{text}" is no range: write {{a}}=10..1e6')
    return read_set(names), *ends


def _number(value: str, text: str, least: float) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not least <= number < math.inf:
        raise click.UsageError(f'"{text}": {value!r} is no number from {least:g} up')
    return number
