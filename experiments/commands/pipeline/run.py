"""planscope pipeline run: the stages of a TOML file, in order."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from experiments.commands.inputs import progress
from experiments.commands.spark_options import spark_options
from experiments.redacted import command_text


@click.command("run")
@click.argument("spec", type=click.Path(path_type=Path), metavar="SPEC.toml")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR",
              help="Where results go; default: SPEC without .toml. A cluster has to share it.")  # fmt: skip
@click.option("--stage", metavar="STAGE", help="Only this one: generate, import, analyze, sweep or report.")
@spark_options
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@click.pass_obj
def command(
    facts: dict[str, Any], spec: Path, output: Path | None, stage: str | None, master: str | None, remote: str | None,
    conf: dict[str, str], quiet: bool,
) -> None:  # fmt: skip
    """Run a pipeline. What is done already is skipped; what was interrupted goes on.

    \b
    planscope pipeline run join_graphs.toml -o results
    planscope pipeline run join_graphs.toml -o results --stage sweep
    planscope pipeline run join_graphs.toml -o /shared/results \\
        --master spark://host:7077
    """
    facts["data"] = str(spec)
    from experiments.pipeline.spark.session import spark_session, unheard
    from experiments.pipeline.stages.run import is_brief, run_pipeline
    from experiments.pipeline.stages.spec import read_pipeline

    said = progress(quiet) or unheard
    out = output if output is not None else Path(spec.stem)
    pipeline = read_pipeline(spec)
    start = partial(spark_session, master, remote, said, conf, partial(is_brief, pipeline, out))
    done = run_pipeline(pipeline, out, start, said, stage, command_text(sys.argv[1:]))
    for name, outcome in done.items():
        click.echo(f"{name}: {outcome.text}{'' if outcome.made else ' (there already)'}")
    said(f"results are in {out}")
