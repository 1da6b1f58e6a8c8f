"""planscope pipeline status: how far a pipeline is."""

from pathlib import Path

import click

from experiments.commands.output import say, write_json


@click.command("status")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--format", "format", type=click.Choice(("text", "json")), default="text", show_default=True, help="How to say it.")
def command(folder: Path, format: str) -> None:
    """What is done in a pipeline's folder, when, and how much; what runs, failed or is missing."""
    from experiments.pipeline.stages.run import pipeline_status, status_text

    found = pipeline_status(folder)
    if format == "json":
        write_json(found)
    else:
        say(status_text(found))
