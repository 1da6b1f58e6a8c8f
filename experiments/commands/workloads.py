"""planscope workloads: what can be planned and run without any data of one's own."""

import click

from experiments.commands.output import list_format, say, table_text, write_json


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
        write_json({part: [{"name": n, "title": t} for n, t in rows] for part, rows in parts.items()})
        return
    say(table_text(("dataset", "what it is"), list(BUILT_IN.items())) + "\n")
    say(table_text(("query", "what it is good for"), queries))
