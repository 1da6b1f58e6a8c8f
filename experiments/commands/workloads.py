"""planscope workloads: what can be planned and run without any data of one's own."""

from __future__ import annotations

import click

from experiments.commands.output import table_text


@click.command("workloads")
def command() -> None:
    """List the built-in datasets (for -d) and queries (for SQL)."""
    from experiments.workloads.data import BUILT_IN
    from experiments.workloads.join_graphs import FAMILIES
    from experiments.workloads.queries import built_in_queries

    click.echo(table_text(("dataset", "what it is"), list(BUILT_IN.items())))
    click.echo()
    queries = [*(tuple(query) for query in built_in_queries()), *FAMILIES.items()]
    click.echo(table_text(("query", "what it is good for"), queries))
