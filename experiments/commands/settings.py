"""planscope settings: every knob, with its default."""

from __future__ import annotations

import click

from experiments.commands.output import table_text


@click.command("settings")
def command() -> None:
    """List the settings; each can be changed with --set NAME=VALUE or in a --settings file."""
    from optimizer.settings import describe_settings

    rows = [(name, _show(default), str(choices), doc) for name, default, choices, doc in describe_settings()]
    click.echo(table_text(("setting", "default", "values", "meaning"), rows))


def _show(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "(none)"
    return str(value)
