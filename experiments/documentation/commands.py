"""The reference of the command line: what `--help` says of every command."""

from collections.abc import Iterator

import click

from experiments.cli import cli

_HEAD = """# Command line

Written by `python -m experiments.documentation` from the commands; do not edit.

`planscope COMMAND --help` prints the same. Exit codes:

| code | means |
| --- | --- |
| 0 | done |
| 1 | a bug of ours; what it takes to look into it is written into a file |
| 2 | wrong input |
| 3 | SQL that is not supported |
| 4 | no plan within the budget; a replay that differs |
| 130 | interrupted |
| 141 | the reader of the output went away |
"""


def page() -> str:
    """docs/reference/commands.md."""
    lines = [_HEAD]
    for name, command, context in _walk(cli, click.Context(cli, info_name="planscope", **cli.context_settings)):
        depth = name.count(" ") + 1
        lines += [
            f"{'#' * min(depth, 3)} {name}\n" if depth > 1 else "## planscope\n",
            f"```text\n{command.get_help(context)}\n```\n",
        ]
    return "\n".join(lines)


def _walk(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    yield context.command_path, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from _walk(below, click.Context(below, context, name, **below.context_settings))
