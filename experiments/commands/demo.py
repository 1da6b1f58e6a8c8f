"""planscope demo: the tour."""

from typing import Any

import click

from experiments.commands.inputs import progress


@click.command("demo")
@click.option("-o", "--output", default="planscope-demo", show_default=True, metavar="DIR", help="Folder for pictures and trace.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@click.pass_obj
def command(facts: dict[str, Any], output: str, quiet: bool) -> None:
    """The tour: TPC-H query 5 from SQL text to rows, with everything in between."""
    from experiments.demo import DATA, QUERY, run_demo

    facts.update(sql=QUERY, data=DATA)
    run_demo(output, progress(quiet))
