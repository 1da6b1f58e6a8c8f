"""planscope data path: where a dataset is."""

import os
import sys
from typing import Any

import click

from experiments.commands.inputs import progress
from experiments.commands.output import sink
from memo_viz.text import clean


@click.command("path")
@click.argument("data")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@click.pass_obj
def command(facts: dict[str, Any], data: str, quiet: bool) -> None:
    """Print the folder of a dataset; a built-in one is made if need be.

    \b
    planscope data path tpch:0.1
    """
    facts["data"] = data
    from experiments.workloads.data import dataset_folder, open_data

    open_data(data, progress(quiet))  # a folder that holds no dataset is an error here as everywhere
    folder = dataset_folder(data)
    path = str(folder.absolute())
    if sys.stdout is not None and sys.stdout.isatty():
        click.echo(clean(path))
        return
    with sink(None) as file:
        file.write(os.fsencode(path) + b"\n")  # as it is for programs
