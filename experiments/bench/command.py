"""The command of an experiment: `planscope bench NAME`, made from its module."""

import shlex
import tempfile
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
from click.core import ParameterSource

from executor.atomic import make_folder
from experiments.bench.experiment import Experiment, Options, Section, names_of
from experiments.bench.inputs import input_digests
from experiments.bench.registry import EXPERIMENTS, load
from experiments.bench.report import failed_section, write_report
from experiments.bench.results import Results, environment, read_environment, read_rows
from experiments.bench.runner import Limits, run
from experiments.bench.store import Store
from experiments.bench.tables import texts
from experiments.commands.inputs import DATA_HELP, progress
from experiments.commands.output import aligned_text, say, table_text, text_width
from experiments.commands.spark_options import SPARK_OPTIONS
from experiments.redacted import command_text
from optimizer.errors import InternalError, OutputError, PlanscopeError, SettingsError, many
from optimizer.plugins.load import load_plugins
from optimizer.settings import Settings

TIMEOUT, QUICK_TIMEOUT = 60.0, 30.0  # seconds for an item
MEMORY = 4096  # megabytes
_MOST_ROWS, _WIDEST = 40, 80  # rows of a table that a terminal shows; columns of text


_DATA = (
    click.Option(["-d", "--data"], metavar="DATA", help=DATA_HELP),
    click.Option(["--set", "pairs"], multiple=True, metavar="NAME=VALUE", help="Change a setting for all items (repeatable)."),
    click.Option(["--plugin", "plugins"], multiple=True, metavar="FILE.py", help="Rules, cost models, ... (repeatable)."),
)


def command_of(name: str) -> click.Command:
    """The command of an experiment."""
    experiment = load(name)
    modes: Sequence[str] = getattr(experiment, "MODES", ())
    number, count = click.FloatRange(0), click.IntRange(1)
    usual = f"Default: {_usual_timeout(experiment):g}; {QUICK_TIMEOUT:g} with --quick."
    seeds = ", with --quick ".join(map(str, dict.fromkeys(_seeds(experiment))))
    parameters: list[click.Parameter] = [
        click.Argument(["queries"], nargs=-1, metavar=getattr(experiment, "ARGUMENT", "[SQL]...")),
        *(option for option in _DATA if option.name not in getattr(experiment, "OWN", ())),
        *([click.Option(["--modes"], metavar="A,B,...", help=f"Of {', '.join(modes)}. Default: all.")] if modes else []),
        *getattr(experiment, "PARAMETERS", ()),
        click.Option(["--seeds"], type=count, metavar="N", help=f"Seeds 0 to N-1, if it has any. Default: {seeds}."),
        click.Option(["--quick"], is_flag=True, help="Fewer and smaller items: to see that it works."),
        click.Option(["--timeout"], type=number, metavar="S", help=f"Seconds for an item, 0 for any. {usual}"),
        click.Option(
            ["--memory"], type=click.IntRange(0), default=MEMORY, show_default=True, metavar="MB", help="Of an item, 0: any."
        ),
        click.Option(
            ["--jobs"], type=count, default=1, show_default=True, metavar="N", help="Items at a time; they disturb each other."
        ),
        click.Option(["--spark"], is_flag=True, help="Measure in Spark tasks: the same items, counts and report."),
        *SPARK_OPTIONS,
        click.Option(["--retry"], is_flag=True, help="Measure again what failed in an earlier run into the same folder."),
        click.Option(["-o", "--output"], metavar="DIR", help="Keep the results there; the same command goes on with them."),
        click.Option(["-q", "--quiet"], is_flag=True, help="No progress on standard error."),
    ]
    return click.Command(name, params=parameters, help=experiment.HELP, callback=partial(_run, experiment))


def _usual_timeout(experiment: Experiment) -> float:
    return float(getattr(experiment, "TIMEOUT", TIMEOUT))


def _seeds(experiment: Experiment) -> tuple[int, int]:
    """How many there are without --seeds, and with --quick."""
    return getattr(experiment, "SEEDS", (1, 1))


def _run(
    experiment: Experiment, queries: tuple[str, ...], seeds: int | None, quick: bool, timeout: float | None, memory: int,
    jobs: int, spark: bool, master: str | None, remote: str | None, conf: dict[str, str], retry: bool, output: str | None,
    quiet: bool, data: str | None = None, pairs: tuple[str, ...] = (), plugins: tuple[str, ...] = (), modes: str | None = None,
    **own: Any,
) -> None:  # fmt: skip
    if plugins:
        pairs = (*pairs, f"plugins={','.join(plugins)}")
    settings = Settings.from_pairs(pairs)
    _check_own(experiment, pairs)
    registry = load_plugins(settings.plugins)  # what is wrong with them is said once
    seeds = seeds or _seeds(experiment)[quick]
    items = experiment.items(Options(queries, data, pairs, _modes(experiment, modes), seeds, quick, own))
    if not items:
        raise PlanscopeError(f"bench {experiment.NAME}: nothing to measure")
    if timeout is None:
        timeout = min(QUICK_TIMEOUT, _usual_timeout(experiment)) if quick else _usual_timeout(experiment)
    said, what = progress(quiet), f"bench {experiment.NAME}"
    session = _session(master, remote, conf, said, output) if spark or master or remote or conf else None
    with tempfile.TemporaryDirectory() as temporary, Store(output or temporary).hold(what):
        each = (settings, *map(getattr(experiment, "settings_of", lambda item: settings), items))
        used = {one.cost_model for one in each}
        for name in registry.of_kind("cost_model") if hasattr(experiment, "settings_of") else ():
            if said and name not in used:
                said(f"{what}: no item uses the cost model {name} of a plug-in: --cost-models {name} does")
        inputs = {"the settings": shlex.join(pairs) or "default", **input_digests(each, items, said)}
        results = Results(output or temporary, experiment, _command_line(), items, inputs, retry)
        try:
            run(experiment, items, results, Limits(timeout, memory, jobs), said, session, what)
        except KeyboardInterrupt:
            if output is not None and not quiet:
                click.echo(f"{output} keeps {many(len(results.finished()), 'item')}; the same command goes on", err=True)
            raise
        _show(experiment, results.finish(items), results.folder, results.environment, output is not None)


def _check_own(experiment: Experiment, pairs: Sequence[str]) -> None:
    """Raises SettingsError for a setting that the experiment varies: columns would say what was not measured."""
    own: Mapping[str, str] = getattr(experiment, "OWN_SETTINGS", {})
    for pair in pairs:
        name, _, value = (part.strip() for part in pair.partition("="))
        if name in own:
            instead = own[name].format(value=value)
            raise SettingsError(f"bench {experiment.NAME} varies {name} itself, so it takes no --set {pair}\n{instead}")


def _session(
    master: str | None, remote: str | None, conf: dict[str, str], said: Callable[[str], None] | None, output: str | None
) -> Callable[[], Any]:
    """Starts Spark. Raises PlanscopeError where its workers would have no folder in common."""
    from experiments.pipeline.spark.session import DEFAULT_MASTER, is_local, spark_session

    if output is None and not is_local(remote or master or DEFAULT_MASTER):
        raise PlanscopeError(f"name a folder with -o that the workers of {remote or master} reach: they write the results there")
    return lambda: spark_session(master, remote, said, conf, lambda: True)


@click.command("report")
@click.argument("folder", type=click.Path(path_type=Path))
def report_command(folder: Path) -> None:
    """Make the report of a run again, finished or not, from its results."""
    about = read_environment(folder)
    if about is None or about["experiment"] not in EXPERIMENTS:
        raise OutputError(f"there are no results of an experiment in {folder}")
    _show(load(about["experiment"]), read_rows(folder), folder, about, True)


@click.command("compare")
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("-o", "--output", metavar="DIR", help="Write the comparison there as a report.")
def compare_command(first: Path, second: Path, output: str | None) -> None:
    """What changed between two runs of an experiment, with significance.

    Items are paired by query and settings, as means over seeds; a column with one value in each run, and another one, is what was
    changed.
    """
    from experiments.bench.compare import compare

    sections = compare(first, second)
    for section in sections:
        say("\n".join(section_lines(section)))
    if output is not None:
        about = {"commands": [f"planscope bench compare {first} {second}"], **environment()}
        click.echo(f"wrote {write_report(make_folder(output), 'planscope bench compare', sections, about)[0]}", err=True)


def _show(experiment: Experiment, rows: pa.Table, folder: Path, about: dict[str, Any], kept: bool) -> None:
    """Prints the report, and writes it where results are kept. Raises InternalError for problems, PlanscopeError for those of
    plug-ins and where every item failed."""
    sections = [*experiment.report(rows), *failed_section(rows)]
    for section in sections:
        say("\n".join(section_lines(section)))
    if kept:
        for path in write_report(folder, f"planscope bench {experiment.NAME}", sections, about)[:1]:
            click.echo(f"wrote {path}", err=True)
    problems = [problem for section in sections for problem in section.problems]
    if problems:
        more = f"\nand {len(problems) - 3} more" if len(problems) > 3 else ""
        text = f"bench {experiment.NAME}: " + "\n".join(problems[:3]) + more
        given = [each for name in ("pairs", "settings") if name in rows.column_names for each in rows[name].to_pylist()]
        used = {pair for each in given for pair in (each if isinstance(each, list) else [str(each)]) if "plugins=" in pair}
        if used:
            raise PlanscopeError(f"{text}\nplanscope has a bug, or a plug-in gives it what is wrong ({', '.join(sorted(used))})")
        raise InternalError(text)
    if rows.num_rows and "ok" not in rows["status"].to_pylist():
        raise PlanscopeError(f"bench {experiment.NAME}: no item has a result")


def section_lines(section: Section) -> list[str]:
    """A section for a terminal."""
    lines = [section.title, *(line for part in section.text.splitlines() for line in textwrap.wrap(part, text_width()))]
    for table in section.tables:
        few = table.whole or table.data.num_rows <= _MOST_ROWS
        lines += ["", *textwrap.wrap(table.caption, text_width())]
        lines += _table_lines(table.data) if few else [f"{many(table.data.num_rows, 'row')}, kept with -o"]
    return [*lines, ""]


def _table_lines(table: pa.Table) -> list[str]:
    """The table without the last columns of one that is much too wide."""
    kept, _, rows = texts(table)
    names = [name.replace("_", " ") for name in kept]
    width = max(_WIDEST, text_width())
    for count in range(len(names), 0, -1) if rows else ():
        part = tuple(names[:count]), [tuple(row[:count]) for row in rows]
        if count == 1 or max(map(len, aligned_text(*part, width).split("\n"))) <= width:
            more = [f"and {many(len(names) - count, 'column')} more, kept with -o"] if count < len(names) else []
            return [table_text(*part), *more]
    return []


def _modes(experiment: Experiment, text: str | None) -> tuple[str, ...]:
    known: Sequence[str] = getattr(experiment, "MODES", ())
    chosen = tuple(names_of(text)) or tuple(known)
    if unknown := [name for name in chosen if name not in known]:
        raise PlanscopeError(f'there is no mode "{unknown[0]}" in bench {experiment.NAME}; modes: {", ".join(known)}')
    return chosen


def _command_line() -> str:
    """What the user typed, but for secrets and where results go, with options in their order of declaration."""
    context = click.get_current_context()
    words = ["bench", context.command.name or ""]
    for parameter in context.command.params:
        typed = context.get_parameter_source(parameter.name or "") == ParameterSource.COMMANDLINE
        if not typed or parameter.name in ("output", "quiet"):
            continue
        value = context.params[parameter.name or ""]
        value = tuple(f"{key}={each}" for key, each in value.items()) if isinstance(value, dict) else value
        values = value if isinstance(value, tuple) else (value,)
        for each in values:
            if isinstance(parameter, click.Argument):
                words.append(str(each))
            elif each is not False:
                words += [parameter.opts[0], *([] if each is True else [f"{each:g}" if isinstance(each, float) else str(each)])]
    return command_text(words)
