"""planscope rules: what may fire, in order; the program of the pre-pass."""

import click

from experiments.commands.inputs import plugin_option
from experiments.commands.output import list_format, write_list, write_text


@click.command("rules")
@click.option("--program", is_flag=True, help="Print the program of the pre-pass, as TOML that --program reads elsewhere.")
@plugin_option
@list_format
def command(program: bool, plugins: tuple[str, ...], format: str) -> None:
    """List the rules of the optimizer; each name can be given to --disable.

    With --plugin also what these files bring, operators, cost models and estimators included.

    \b
    planscope rules --program > mine.toml
    planscope explain tpch/q05 -d tpch:0.01 --stage prepass --program mine.toml
    planscope rules --plugin mine.py
    """
    from optimizer.plugins.load import load_plugins

    registry = load_plugins(plugins)
    if program:
        from optimizer.prepass.program import PROGRAM
        from optimizer.prepass.program_text import show_program

        write_text(show_program(registry.program(PROGRAM)), None)
        return
    from experiments.rule_list import describe_rules

    write_list(("rule", "kind", "what it does"), describe_rules(registry), format)
