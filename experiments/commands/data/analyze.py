"""planscope data analyze: statistics of a dataset, by Spark tasks."""

import re
from pathlib import Path
from typing import Any

import click

from experiments.commands.inputs import DATA_HELP, progress
from experiments.commands.output import say, table_text
from experiments.commands.spark_options import spark_options
from optimizer.errors import many


@click.command(
    "analyze",
    help="Measure a dataset: distinct counts, common values, histograms; verify its keys and foreign keys.\n\n"
    f"DATA: {DATA_HELP}\n\nParts of files that were read before and have not changed are not read again.",
)
@click.argument("data")
@click.option("--table", "tables", multiple=True, metavar="T", help="Only this table (repeatable).")
@click.option("--joint", multiple=True, metavar="'T(A, B)'", help="Count combinations of these columns too (repeatable).")
@click.option(
    "--sample", type=click.FloatRange(0, 1, min_open=True), metavar="SHARE", help="Read this share of tables of over 30,000 rows."
)
@spark_options
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@click.pass_obj
def command(
    facts: dict[str, Any], data: str, tables: tuple[str, ...], joint: tuple[str, ...], sample: float | None, master: str | None,
    remote: str | None, conf: dict[str, str], quiet: bool,
) -> None:  # fmt: skip
    facts["data"] = data
    sets = [_joint(text) for text in joint]
    if sample is not None and not sample > 0:  # NaN passes the range
        raise click.UsageError("--sample takes a share from 0 to 1")
    from experiments.pipeline.analyze.analyze import analyze_dataset
    from experiments.pipeline.spark.session import spark_session, unheard
    from experiments.workloads.data import dataset_folder, tell_beside

    said = progress(quiet) or unheard
    tell_beside(data, said)
    folder: Path = dataset_folder(data, said)
    report = analyze_dataset(
        folder, lambda: spark_session(master, remote, said, conf), tables=tables, joint=sets, sample=sample, say=said
    )
    head = ("table", "rows", "parts", "read", "seconds", "keys", "foreign keys", "unique columns beside keys")
    rows = []
    for t in report.tables:
        unique = ", ".join([*t.unique, *(f"{name} (probably)" for name in t.probably_unique)]) or "-"
        figures = (f"{t.rows:,}", str(t.pieces), str(t.read), f"{t.seconds:.1f}", str(t.keys), str(t.foreign_keys))
        rows.append((t.name, *figures, unique))
    say(table_text(head, rows))
    parts = sum(t.pieces for t in report.tables)
    click.echo(f"read {report.read} of {many(parts, 'part')} of files; {report.seconds:.1f} s in all")


def _joint(text: str) -> tuple[str, tuple[str, ...]]:
    found = re.fullmatch(r"\s*([^()]+?)\s*\(([^()]+)\)\s*", text)
    names = tuple(name.strip() for name in found.group(2).split(",")) if found else ()
    if found is None or len(names) < 2 or not all(names):
        raise click.UsageError(f'--joint "{text}" names no columns: write it as table(a, b)')
    return found.group(1), names
