"""The `planscope` command: finds the command named, runs it, and turns whatever goes wrong into a message and an exit code.

Exit codes: 0 done; 1 a bug of ours (a replay case is written); 2 wrong input; 3 unsupported SQL; 4 no plan within the
budget; 130 interrupted; 141 the reader of our output went away.
"""

import errno
import importlib.metadata
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import click

from experiments.commands.groups import CommandGroup
from memo_viz.text import clean_lines, shorten
from optimizer.errors import Interrupted, OutputError, PlanscopeError
from optimizer.plugin_code import plugin_line

COMPLETION = "_PLANSCOPE_COMPLETE"  # what a shell sets to be told how to complete, or what to offer
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

COMMANDS = {  # name -> what `planscope --help` says; the command itself is imported only when it is run
    "demo": "The tour: data, plan, search, execution, trace and pictures.",
    "run": "Run a query and print its rows.",
    "explain": "Show the plan of a query, and how it came about.",
    "why": "Why a plan was not chosen, and what would make it win.",
    "what-if": "The plan under other row counts and costs; plan diagrams.",
    "plans": "Count, sample, list and run the plans of a query's space.",
    "memo": "Write the memo of a query as a picture or as data.",
    "picture": "Draw a search: plan, join graph, rewrites, rules, traits, memo.",
    "diff": "Compare two searches: of a query under two settings, or of two traces.",
    "trace": "Write every event of the search for a query.",
    "step": "Walk through the search for a query, forwards and backwards.",
    "bundle": "Write all that planning a query needs to a file.",
    "replay": "Plan a bundle again: the same trace, or where it first differs.",
    "shrink": "Make a bundle smaller while a command still succeeds.",
    "bench": "Experiments that compare parts of the optimizer.",
    "calibrate": "Measure the operators on this machine: coefficients for the cost model.",
    "data": "Datasets: where they are, what they hold.",
    "pipeline": "Data, statistics, sweeps and reports on Spark, from one TOML file.",
    "rules": "List the rules of the optimizer.",
    "settings": "List the settings.",
    "workloads": "List the built-in datasets and queries.",
}


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"planscope {version()}")
        ctx.exit()


def version() -> str:
    try:
        return importlib.metadata.version("planscope")
    except importlib.metadata.PackageNotFoundError:
        return "unknown (not installed)"


@click.group(
    cls=CommandGroup, package="experiments.commands", parts=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)  # fmt: skip
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version.")
def cli() -> None:
    """A research framework for Cascades query optimizers: SQL in, memo search, trace and pictures, Arrow out.

    SQL is text, a file (q.sql), - (standard input) or a built-in query such as tpch/q05. DATA is a folder with one Parquet,
    CSV or Arrow file per table, or a built-in dataset such as tpch:0.1, made on first use.

    Try: planscope run tpch/q05 -d tpch:0.1
    """


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code. Never lets an exception out, never prints a traceback."""
    arguments = list(sys.argv[1:] if args is None else args)
    facts: dict[str, object] = {}
    try:
        return _run(arguments, facts)
    except PlanscopeError as error:
        if error.exit_code == 1:
            return _internal(error, arguments, facts)
        return _fail(str(error), error.exit_code)
    except click.ClickException as error:
        if not isinstance(error, click.exceptions.NoArgsIsHelpError):  # whose message is the whole help
            error.__dict__["message"] = shorten(clean_lines(error.message), 1000)  # what click shows, with the usage above it
        _quietly(error.show)
        return 2
    except (KeyboardInterrupt, click.Abort) as stop:
        return _fail(str(stop) if isinstance(stop, Interrupted) else "interrupted", 130)
    except BrokenPipeError:
        _drop_output()
        return 141
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return _fail(f"no file can have this name: {error.filename}", PlanscopeError.exit_code)
        if error.errno not in FULL:
            return _internal(error, arguments, facts)
        _drop_output()
        return _fail(f"cannot write to {error.filename or 'standard output'}: {error.strerror}", OutputError.exit_code)
    except BaseException as error:  # plug-ins may raise anything
        return _internal(error, arguments, facts)


def _run(arguments: list[str], facts: dict[str, object]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if asked := os.environ.get(COMPLETION):
        from click.shell_completion import shell_complete

        return shell_complete(cli, {"obj": facts}, "planscope", COMPLETION, asked)
    width = max(40, min(100, shutil.get_terminal_size().columns)) - 2  # of help; click's own is 50 at least
    try:
        with cli.make_context("planscope", [_not_an_option(a) for a in arguments], obj=facts, terminal_width=width) as context:
            cli.invoke(context)
    except click.exceptions.Exit as done:  # --help and --version end this way
        return done.exit_code
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()
    return 0


def _not_an_option(argument: str) -> str:
    """SQL text that begins with a comment looks like an option: a line break before it tells them apart."""
    return "\n" + argument if re.match(r"--(\s|[^=\n]*\n)", argument) else argument


def _fail(message: str, code: int) -> int:
    text = "\n".join(shorten(line, 1000) for line in clean_lines(message).split("\n"))
    _quietly(partial(click.echo, f"error: {text}", err=True))
    return code


def _internal(error: BaseException, arguments: list[str], facts: dict[str, object]) -> int:
    """A bug in a plug-in: say where. Our own: keep what replays it, and say where that is."""
    plugins: tuple[str, ...] = ()
    if "optimizer.plugins.load" in sys.modules:
        from optimizer.plugins.load import plugins_in_use

        plugins = plugins_in_use()
        if (where := plugin_line(error)) is not None:
            kind = "" if isinstance(error, PlanscopeError) else f"{type(error).__name__}: "
            return _fail(f"plug-in {where}: {kind}{error}", 2)
    from experiments.replay_case import write_case

    case = write_case(error, arguments, facts, version())
    text = (str(error) or "no message").strip()
    if not isinstance(error, PlanscopeError):
        text = f"{type(error).__name__}: {shorten(text, 500)}"
    return _fail(
        f"planscope has a bug{', or what a plug-in gives it is wrong (' + ', '.join(plugins) + ')' if plugins else ''}: "
        f"{text}\n" + _kept(case),
        1,
    )


def _kept(case: Path | None) -> str:
    if case is None:
        return "what is needed to find it could not be written anywhere"
    if case.suffix == ".zip":
        return f"what is needed to replay it is in {case}"
    return f"the command, what it was given and where it ended are in {case}; the same command on the same data replays it"


def _quietly(show: Callable[[], None]) -> None:
    """Say it, unless standard error is gone."""
    try:
        show()
    except OSError:
        _drop_output()


def _drop_output() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not complain about it when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        return
    finally:
        os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
