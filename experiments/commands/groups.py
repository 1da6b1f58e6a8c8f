"""Groups of commands whose parts are imported only when they are run."""

import importlib
from collections.abc import Mapping
from typing import Any

import click


class Group(click.Group):
    """A group that says what it has when it is asked for something else."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            from optimizer.errors import did_you_mean

            hint = did_you_mean(args[0], names, f"commands: {', '.join(names)}")
            _, *above = ctx.command_path.split()
            raise click.UsageError(f'there is no command "{" ".join([*above, args[0]])}"; {hint}', ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(1000)) for name, command in commands if command is not None])


class CommandGroup(Group):
    """Commands by name, each as `command` in the module `package`.NAME (`import` in import_, `what-if` in what_if); `parts`: one
    line of help each."""

    def __init__(self, name: str | None, package: str, parts: Mapping[str, str], **more: Any) -> None:
        super().__init__(name, **more)
        self._package, self._parts = package, dict(parts)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._parts)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self._parts:
            return None
        module = "import_" if name == "import" else name.replace("-", "_")
        found: click.Command = importlib.import_module(f"{self._package}.{module}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._parts.items()))
