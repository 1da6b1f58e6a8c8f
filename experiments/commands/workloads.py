"""planscope workloads: what can be planned and run without any data of one's own."""

from __future__ import annotations

import json

import click

from experiments.commands.output import list_format, table_text, text_width


@click.command("workloads")
@list_format
def command(format: str) -> None:
    """List the built-in datasets (for -d) and queries (for SQL)."""
    from experiments.workloads.data import BUILT_IN
    from experiments.workloads.join_graphs import FAMILIES
    from experiments.workloads.queries import built_in_queries

    queries = [*(tuple(query) for query in built_in_queries()), *FAMILIES.items()]
    if format == "json":
        parts = {"datasets": BUILT_IN.items(), "queries": queries}
        click.echo(json.dumps({part: [{"name": n, "title": t} for n, t in rows] for part, rows in parts.items()}, indent=2))
        return
    click.echo(table_text(("dataset", "what it is"), list(BUILT_IN.items()), text_width()))
    click.echo()
    click.echo(table_text(("query", "what it is good for"), queries, text_width()))
