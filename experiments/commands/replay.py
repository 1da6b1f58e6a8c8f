"""planscope replay: a bundle planned again."""

from pathlib import Path

import click

from experiments.commands.inputs import plugin_option
from experiments.commands.output import say

DIFFERS = 4


@click.command("replay")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.zip")
@plugin_option
@click.pass_context
def command(ctx: click.Context, file: Path, plugins: tuple[str, ...]) -> None:
    """Plan a bundle again, and say whether its trace is the same, or from which event on it is not. The exit code is 0 or 4.

    A bundle may come from anywhere: nothing in it is run, and the plug-ins that it names are to be given with --plugin.

    \b
    planscope replay case.zip
    """
    from experiments.bundles.bundle import read_bundle
    from experiments.bundles.replay import replay

    found = replay(read_bundle(file), plugins)
    say(found.text)
    if not found.same:
        ctx.exit(DIFFERS)
