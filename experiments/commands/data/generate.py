"""planscope data generate: datasets made by Spark tasks."""

from functools import partial
from typing import Any

import click

from experiments.commands.inputs import progress
from experiments.commands.spark_options import spark_options
from experiments.pipeline.generate.kinds import KINDS

KIND_HELP = "\n".join(f"{name:<10} {what}" for name, what in KINDS.items())


@click.command("generate", help=f"Make a dataset in a folder, or go on with one that was interrupted.\n\n\b\n{KIND_HELP}")
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.option(
    "--scale", required=True, metavar="S",
    help="How much: 1 is about 1 GB of raw text for tpch and tpcds, the rows of IMDB for imdb_like, and those that the dataset "
    "joingraph has figures of, up to 10 million a table, for joingraph.",
)  # fmt: skip
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIR",
    help="The folder to make it in, which a cluster has to share; or a URI that Spark writes to.",
)
@click.option(
    "--graph", "graphs", multiple=True, metavar="NAME", help="joingraph: the join graph, clique/8 for one (repeatable)."
)
@click.option("--parts", type=click.IntRange(1, 99_999), metavar="N", help="Files of each large table. Default: of some 128 MB.")
@spark_options
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@click.pass_obj
def command(
    facts: dict[str, Any], kind: str, scale: str, output: str, graphs: tuple[str, ...], parts: int | None, master: str | None,
    remote: str | None, conf: dict[str, str], quiet: bool,
) -> None:  # fmt: skip
    facts["data"] = f"{kind}:{scale}"
    from experiments.pipeline.generate.generate import generate, made_text
    from experiments.pipeline.generate.kinds import recipe
    from experiments.pipeline.spark.session import spark_session, unheard
    from experiments.workloads.scale import parse_scale

    said = progress(quiet)
    wanted = recipe(kind, parse_scale(scale, "--scale S", "--scale 0.1"), parts, graphs)
    start = partial(spark_session, master, remote, said, conf, lambda: True)
    done = generate(wanted, output, start, said or unheard)
    when = f"made in {done.counts['seconds']['generate']:.1f} s" if done.made else "there already"
    click.echo(f"{output}: {made_text(wanted, done)}, {when}")
