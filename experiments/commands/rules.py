"""planscope rules: what may fire, in order; the program of the pre-pass."""

from __future__ import annotations

import click

from experiments.commands.output import table_text


@click.command("rules")
@click.option("--program", is_flag=True, help="Print the program of the pre-pass, as TOML that --program reads elsewhere.")
def command(program: bool) -> None:
    """List the rules of the optimizer; each name can be given to --disable.

    \b
    planscope rules --program > mine.toml
    planscope explain tpch/q05 --stage prepass --program mine.toml
    """
    if program:
        from optimizer.prepass.program import PROGRAM
        from optimizer.prepass.program_text import show_program

        click.echo(show_program(PROGRAM))
        return
    from optimizer.rule_list import describe_rules

    click.echo(table_text(("rule", "kind", "what it does"), [(name, kind, doc) for name, kind, doc in describe_rules()]))
