"""planscope bundle: all that planning a query needs, in one file."""

from typing import Any

import click

from experiments.commands.inputs import Inputs, query_inputs
from memo_viz.text import clean_lines
from optimizer.errors import many


@click.command("bundle")
@query_inputs
@click.option("-o", "--output", required=True, metavar="FILE.zip", help="Write there.")
@click.option("--mask", is_flag=True, help="Make up the texts of the query and of the statistics; equal ones stay equal.")
@click.option("--no-trace", is_flag=True, help="Leave the trace out: replay then compares plans and errors alone.")
@click.pass_obj
def command(facts: dict[str, Any], inputs: Inputs, output: str, mask: bool, no_trace: bool) -> None:
    """Write a bundle of a query: text, schema, statistics, settings, versions, plan and trace. There are no rows in it, and no
    paths of this machine. planscope replay plans it again anywhere.

    \b
    planscope bundle tpch/q05 -d tpch:0.1 -o case.zip
    """
    if not output.lower().endswith(".zip"):
        raise click.UsageError(f"a bundle is a zip file, and {output} does not end in .zip")
    session, sql = inputs.open(facts)
    from experiments.bundles.bundle import make_bundle, plan, recorded, write_bundle
    from experiments.bundles.mask import masked

    settings = session.settings
    bundle = make_bundle(sql, session.catalog, settings, inputs.program(settings), not no_trace)
    if mask:
        before = bundle.plan
        bundle = masked(bundle)
        bundle = recorded(bundle, plan(bundle, settings.plugins, not no_trace), not no_trace)
        if (bundle.plan is None) is not (before is None) or (before and bundle.plan and before["cost"] != bundle.plan["cost"]):
            outcome = bundle.error or f"a plan of cost {bundle.plan['cost'] if bundle.plan else None}"
            click.echo(clean_lines(f"the masked query is planned otherwise than the query was: {outcome}"), err=True)
    write_bundle(bundle, output)
    if not inputs.quiet:
        what = bundle.error or many(len(bundle.trace or ()), "event")
        click.echo(clean_lines(f"{output}: {many(len(bundle.catalog['tables']), 'table')}, {what}"), err=True)
