"""planscope bench: experiments that compare parts of the optimizer with one another."""

import click

from experiments.commands.groups import Group


class Experiments(Group):
    """A command for each registered experiment, imported on demand, and two for their results."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from experiments.bench.registry import EXPERIMENTS

        return sorted((*EXPERIMENTS, "report", "compare"))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        from experiments.bench import command as made
        from experiments.bench.registry import EXPERIMENTS

        if name in EXPERIMENTS:
            return made.command_of(name)
        return {"report": made.report_command, "compare": made.compare_command}.get(name)


@click.group("bench", cls=Experiments)
def command() -> None:
    """Experiments that compare parts of the optimizer; each prints tables, and keeps results, tables and figures with -o."""
