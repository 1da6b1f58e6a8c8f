"""planscope run: a query's rows."""

import json
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from experiments.commands.engines import engine_of, engine_options
from experiments.commands.inputs import Inputs, query_inputs, say_warnings
from experiments.commands.limits import Progress, limit_options
from experiments.commands.output import fitted, format_of, sink, text_width

FORMATS = ("table", "csv", "json", "parquet")


@click.command("run")
@query_inputs
@click.option("--format", "format", type=click.Choice(FORMATS), help="Default: what FILE's ending says, else table.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of standard output.")
@click.option("--analyze", is_flag=True, help="Also show what each operator did; with --format json, only that.")
@engine_options
@limit_options
@click.option("--max-rows", type=click.IntRange(0), default=200, show_default=True, help="Rows a table shows; 0: all.")
@click.pass_obj
def command(
    facts: dict[str, Any], inputs: Inputs, engine: str, format: str | None, output: str | None, analyze: bool, max_rows: int,
    timeout: float | None, memory_limit: str | None, master: str | None, remote: str | None, conf: dict[str, str],
) -> None:  # fmt: skip
    """Run a query and print its rows.

    \b
    planscope run tpch/q05 -d tpch:0.1
    planscope run "select count(*) from orders" -d my/folder --format csv
    planscope run @query.sql -d tpch:0.1 -o result.parquet
    """
    format = format_of(output, format, FORMATS)
    if format == "parquet" and output in (None, "-"):
        raise click.UsageError("Parquet is not text: name a file with -o, for example -o result.parquet")
    from executor.execution import actuals, limits, new_counters, reader
    from executor.explanation import Explanation
    from executor.formats import Rows, write_rows

    allowed = limits(timeout, memory_limit)
    session, sql = inputs.open(facts, **({"cost_model": "spark"} if engine == "spark" else {}))
    session.check_rows()
    session.engine = engine_of(engine, master, remote, conf, session.settings.spark_nodes, inputs.quiet, inputs.sql)
    own = {file.resolve() for table in session.catalog.tables.values() for file in table.files}
    if output is not None and Path(output).resolve() in own:
        raise click.UsageError(f"{output} is a file of the dataset: choose another name with -o")
    counters = new_counters() if analyze else None
    query = session.optimize(sql)
    say_warnings(query.warnings, inputs.quiet)
    here = output in (None, "-")
    terminal = here and sys.stdout is not None and sys.stdout.isatty()
    progress = Progress(inputs.quiet or (format != "table" and terminal))
    with sink(output) as file, closing(progress):
        rows: Rows = reader(query, counters, allowed, progress, session.engine)
        if counters is not None and format == "json":
            for _ in rows:
                pass
            explanation = Explanation(session, query, actuals(counters))
            file.write((json.dumps(explanation.json, indent=2, allow_nan=False) + "\n").encode())
            return
        if format == "table":
            rows = rows.read_all()
            progress.close()
        fit = terminal or (here and "COLUMNS" in os.environ)  # what goes to a program stays whole
        write_rows(rows, format, file, max_rows or None, text_width() if fit else None)
    if counters is not None:
        text = Explanation(session, query, actuals(counters)).show(text_width())
        click.echo(fitted(f"\n{text}"), file=sys.stdout if format == "table" else sys.stderr)
