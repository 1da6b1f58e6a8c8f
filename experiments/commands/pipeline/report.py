"""planscope pipeline report: tables and figures of a sweep."""

from pathlib import Path

import click

from experiments.commands.inputs import progress
from experiments.commands.spark_options import spark_options


@click.command("report")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--run", "run", metavar="RUN", help="Which run; default: the one begun last.")
@click.option("--baseline", metavar="VARIANT", help="The variant that others are compared with; default: the first.")
@spark_options
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
def command(
    folder: Path, run: str | None, baseline: str | None, master: str | None, remote: str | None, conf: dict[str, str], quiet: bool
) -> None:
    """Write DIR/report: tables (Parquet, CSV, Markdown) and figures (SVG, PDF) of a complete sweep in DIR/results."""
    from experiments.pipeline.report.report import write_report
    from experiments.pipeline.spark.session import spark_session, unheard

    said = progress(quiet) or unheard
    report = write_report(folder, lambda: spark_session(master, remote, said, conf, lambda: True), baseline, run, said)
    click.echo(f"{folder / report.page}{'' if report.made else ' (there already)'}")
