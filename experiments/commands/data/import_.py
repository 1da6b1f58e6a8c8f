"""planscope data import: a dataset of files or tables from elsewhere."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from experiments.commands.inputs import progress
from experiments.commands.output import say
from experiments.commands.spark_options import spark_options
from experiments.redacted import command_text


@click.command("import")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("-o", "--output", required=True, metavar="DIR", help="The new dataset: a folder, or a URI that Spark writes to.")
@click.option(
    "--format",
    "format",
    metavar="FORMAT",
    help="csv, json, parquet, orc, arrow, jdbc, table (of Spark's catalog), or another of Spark's.",
)
@click.option(
    "--schema", type=click.Path(path_type=Path), metavar="FILE.sql", help="Types and keys; default: schema.sql in SOURCE."
)
@click.option(
    "--table", "tables", multiple=True, metavar="NAME", help="All files make this table; with jdbc, read this one (repeatable)."
)
@click.option(
    "--option",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="How to read: delimiter, quote, header, encoding, url ...; TABLE.NAME=VALUE for one table.",
)
@click.option("--on-reject", type=click.Choice(["keep", "fail"]), default="keep", show_default=True, help="Rows that do not fit.")
@click.option(
    "--on-dangling",
    type=click.Choice(["keep", "reject"]),
    default="keep",
    show_default=True,
    help="Rows whose foreign key refers to no row; kept, the foreign key is not declared.",
)
@click.option("--merge-schema", is_flag=True, help="Files of a table may lack columns of others: NULL there.")
@click.option("--jars", multiple=True, type=click.Path(path_type=Path), metavar="FILE.jar", help="A JDBC driver (repeatable).")
@spark_options
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@click.pass_obj
def command(
    facts: dict[str, Any], /, sources: tuple[str, ...], output: str, pairs: tuple[str, ...], quiet: bool, **rest: Any
) -> None:
    """Make a dataset of CSV, JSON, Parquet, ORC, Arrow files, JDBC tables or whatever a URI leads to, checking every row.

    A folder gives a table for each file or sub-folder in it. Columns get the types that schema.sql declares, else those that
    all their values have. Rows that do not fit are put aside with the reason, in DIR/_planscope/rejected.

    \b
    planscope data import shop/ -o shop.data
    planscope data import a.csv b.csv --table sales \\
        --option delimiter=';' -o sales.data
    planscope data import --format jdbc --option url=jdbc:postgresql://db/shop \\
        --table orders --jars pg.jar -o orders.data
    """
    facts["data"] = list(sources)
    master, remote, conf = rest.pop("master"), rest.pop("remote"), rest.pop("conf")
    said = progress(quiet)
    from experiments.pipeline.intake.request import ImportRequest, import_dataset, is_small
    from experiments.pipeline.intake.summary import summary_text
    from experiments.pipeline.spark.session import spark_session, unheard

    request = ImportRequest(sources, output, options=_options(pairs), **rest)
    start = partial(spark_session, master, remote, said, conf, partial(is_small, request))
    done = import_dataset(request, start, said or unheard, command_text(sys.argv[1:]))
    if not done.made:
        click.echo(f"{output} was made of the same sources in the same way on {done.manifest['finished']}")
    say(summary_text(done.manifest, output))


def _options(pairs: tuple[str, ...]) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise click.UsageError(f'--option takes NAME=VALUE, not "{pair}"')
        options[name] = value
    return options
