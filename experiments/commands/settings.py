"""planscope settings: every knob, with its default."""

import click

from experiments.commands.inputs import plugin_option
from experiments.commands.output import list_format, write_list
from memo_viz.text import setting_text


@click.command("settings")
@plugin_option
@list_format
def command(plugins: tuple[str, ...], format: str) -> None:
    """List the settings; each can be changed with --set NAME=VALUE or in a --settings file.

    With --plugin, the cost models and estimators of these files are among the values.
    """
    from optimizer.settings import describe_settings

    own: dict[str, list[str]] = {}
    if plugins:
        from optimizer.plugins.load import load_plugins

        registry = load_plugins(plugins)
        kinds = {"cost_model": "cost_model", "estimator": "estimator", "partitioner": "enumerator"}
        own = {setting: list(registry.of_kind(kind)) for setting, kind in kinds.items()}
    rows = [(s.name, s.default, "|".join((s.choices, *own.get(s.name, ()))), s.doc) for s in describe_settings()]
    if format == "json":
        write_list(("setting", "default", "values", "meaning"), rows, format)
    else:
        shown = [(name, setting_text(default), f"{doc} ({values.replace('|', ' | ')})") for name, default, values, doc in rows]
        write_list(("setting", "default", "meaning (values)"), shown, format)
