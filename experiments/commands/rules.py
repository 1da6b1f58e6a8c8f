"""planscope rules: what may fire, in order."""

from __future__ import annotations

import click

from experiments.commands.output import table_text


@click.command("rules")
def command() -> None:
    """List the rules of the optimizer; each name can be given to --disable."""
    from optimizer.rule_list import describe_rules

    click.echo(table_text(("rule", "kind", "what it does"), [(name, kind, doc) for name, kind, doc in describe_rules()]))
