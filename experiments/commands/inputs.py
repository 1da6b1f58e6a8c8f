"""Options that several commands share, and what they stand for: a query, a dataset, settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from memo_viz.text import clean_lines

if TYPE_CHECKING:
    from executor.session import Session
    from optimizer.prepass.instructions import Program
    from optimizer.settings import Settings

DATA_HELP = "A folder of tables, or a built-in dataset such as tpch:0.1 or job."
_OPTION_HELP = DATA_HELP + " Not needed for built-in queries that belong to one dataset: job/1a, clique/8."

plugin_option = click.option(
    "--plugin", "plugins", multiple=True, metavar="FILE.py", help="Rules, operators, cost models, estimators (repeatable)."
)


Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completion(module: str, function: str, item: Callable[[Any], tuple[str, str | None]], other: str | None = None) -> Complete:
    """Of what a function of a module gives, the names (each with a help) that begin like the word; else the type `other`."""

    def complete(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
        pairs = map(item, getattr(import_module(module), function)())
        found = [CompletionItem(name, help=help) for name, help in pairs if name.startswith(begun)]
        return found if found or other is None else [CompletionItem(begun, type=other)]

    return complete


def _complete_data(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    named = [CompletionItem(name) for name in ("job", "joingraph", "stats") if begun and name.startswith(begun)]
    return named or [CompletionItem(begun, type="dir")]


_complete_sql = _completion("experiments.workloads.queries", "built_in_queries", lambda query: (query.name, query.title), "file")
_complete_setting = _completion("optimizer.settings", "describe_settings", lambda each: (f"{each.name}=", each.choices))
_complete_preset = _completion("optimizer.presets", "preset_names", lambda name: (name, None))
_complete_rule = _completion("experiments.rule_list", "describe_rules", lambda rule: (rule.name, rule.doc))


@dataclass(frozen=True)
class Inputs:
    """The texts a user gave, before anything was looked up: a field for each option of `query_inputs`."""

    sql: str
    data: str | None
    pairs: tuple[str, ...]
    disable: tuple[str, ...]
    settings_file: Path | None
    program_file: Path | None
    quiet: bool
    plugins: tuple[str, ...] = ()
    preset: str | None = None
    join_order: str | None = None

    def of_trace(self) -> Path:
        """The trace file that SQL names. Raises UsageError for options that are about planning: it was planned."""
        given = (self.data, *self.pairs, *self.disable, self.settings_file, self.program_file, self.preset, self.join_order)
        if any(each is not None for each in given):
            raise click.UsageError("a written trace has its data and settings in it; -d, --set and their like are for SQL")
        return Path(self.sql)

    def without_order(self) -> Inputs:
        """The same for a search that no join order restricts."""
        return replace(self, join_order=None)

    def settings(self, **defaults: Any) -> Settings:
        """`defaults`: of settings that the user says nothing about. Raises SettingsError."""
        from optimizer.presets import preset_file
        from optimizer.settings import Settings

        preset = None if self.preset is None else preset_file(self.preset)
        if self.join_order is not None and not self.join_order.strip():
            raise click.UsageError("--join-order is empty: write an order as '((c o) l)'")
        pairs = self.pairs if self.join_order is None else (*self.pairs, f"join_order={self.join_order}")
        settings = Settings.from_pairs(pairs, self.disable, self.settings_file, self.plugins, preset, **defaults)
        settings.check_injected()
        return settings

    def program(self, settings: Settings) -> Program:
        """What the pre-pass does. Raises SettingsError."""
        from optimizer.plugins.load import load_plugins
        from optimizer.prepass.program import PROGRAM
        from optimizer.prepass.program_text import read_program

        own = load_plugins(settings.plugins).of_kind("prepass")
        return PROGRAM if self.program_file is None else read_program(self.program_file, tuple(own.values()))

    def open(self, facts: dict[str, Any], **defaults: Any) -> tuple[Session, str]:
        """A session, and the query's text. `facts` learns what a replay case needs. `defaults`: see `settings`.

        Settings and the query are looked up before the dataset, which may have to be made. Raises PlanscopeError.
        """
        settings = self.settings(**defaults)
        program = self.program(settings)
        if self.program_file is not None:
            from optimizer.prepass.program_text import show_program

            facts["program"] = show_program(program)
        from executor.session import Session
        from experiments.workloads.data import open_data
        from experiments.workloads.queries import default_data, query_name, resolve_sql
        from optimizer.stats.injected import for_query

        sql = resolve_sql(self.sql)
        data = self.data if self.data is not None else default_data(self.sql)
        settings = for_query(settings, query_name(self.sql))
        facts.update(data=data, sql=sql, settings=settings.as_dict())
        session = Session(open_data(data, progress(self.quiet)), settings, program)
        facts["session"] = session
        return session, sql


def progress(quiet: bool) -> Callable[[str], None] | None:
    """Reports one line of progress on standard error; None when nobody wants it."""
    return None if quiet else lambda text: click.echo(clean_lines(text), err=True)


def query_inputs(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the argument SQL and the options that say on what and how it is planned; passes them as `inputs`."""

    @click.argument("sql", shell_complete=_complete_sql)
    @click.option("-d", "--data", metavar="DATA", help=_OPTION_HELP, shell_complete=_complete_data)
    @click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help="Change a setting (repeatable).",
                  shell_complete=_complete_setting)  # fmt: skip
    @click.option("--join-order", metavar="ORDER", help="Join in this order, all or some relations: '((c o) l)'.")
    @click.option("--disable", multiple=True, metavar="RULE", help="Switch a rule off (repeatable).",
                  shell_complete=_complete_rule)  # fmt: skip
    @click.option(
        "--settings", "settings_file", type=click.Path(path_type=Path), metavar="FILE.toml", help="Read settings from a file."
    )
    @click.option(
        "--program",
        "program_file",
        type=click.Path(path_type=Path),
        metavar="FILE.toml",
        help="Read the program of the pre-pass from a file; planscope rules --program prints one to start from.",
    )
    @click.option("--preset", metavar="NAME", help="Begin with a set of settings: calcite, columbia, fast, textbook.",
                  shell_complete=_complete_preset)  # fmt: skip
    @plugin_option
    @click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
    @wraps(function)  # with the options that it has already
    def wrapped(**given: Any) -> Any:
        inputs = Inputs(**{each.name: given.pop(each.name) for each in fields(Inputs)})
        return function(inputs=inputs, **given)

    return wrapped


TO_WATCH = {"region": "tasks"}  # for commands that show a search: the table of a region is one step


def say_regions(regions: Mapping[str, int], quiet: bool) -> None:
    """How the joins were searched, on standard error, where some were not searched set by set or by rules, to be watched."""
    from memo_viz.explain import regions_text

    if regions.keys() - {"tasks", "expand"} and not quiet:
        heuristic = "; explain may find another plan, and --set region=auto too" if "one order" in regions else ""
        click.echo(f"regions of joins: {regions_text(regions)}{heuristic}", err=True)


def say_warnings(warnings: Sequence[str], quiet: bool) -> None:
    """What was not heeded, on standard error."""
    for warning in () if quiet else warnings:
        click.echo(clean_lines(f"warning: {warning}"), err=True)
