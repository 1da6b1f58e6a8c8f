"""planscope step: walk through a search in the terminal, while it runs or from its trace."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from executor.atomic import write_file
from experiments.commands.inputs import TO_WATCH, Inputs, query_inputs
from experiments.commands.output import say, text_width
from experiments.commands.traced import is_trace, traced
from memo_viz.text import clean

if TYPE_CHECKING:
    from memo_viz.terminal.commands import Stepper


@click.command("step")
@query_inputs
@click.option(
    "-x", "--script", type=click.Path(path_type=Path), metavar="FILE", help="Commands to carry out; - is standard input."
)
@click.option("--web", is_flag=True, help="Walk in a browser: opens the page that planscope trace -o trace.html writes.")
@click.pass_obj
def command(facts: dict[str, Any], inputs: Inputs, script: Path | None, web: bool) -> None:
    """Walk through the search for a query, forwards and backwards.

    SQL may also be FILE.jsonl, a trace that planscope trace wrote. A query is searched as far as you look, so breakpoints stop
    the search itself, and it can be run again with other settings and row counts. Commands come from the terminal, where help
    lists them, or from a script.

    The joins of a region are searched set by set, to be watched; --set region=auto takes the quicker way that explain takes.

    \b
    planscope step tpch/q05 -d tpch:0.1
    planscope step trace.jsonl
    planscope step tpch/q05 -d tpch:0.1 --web
    echo 'break prune
    run
    why' | planscope step tpch/q05 -d tpch:0.1
    """
    if web and script is not None:
        raise click.UsageError("--web opens a page, which carries out no script: leave -x out")
    if web:
        _open_page(facts, inputs)
        return
    lines = _script(script)
    if is_trace(inputs.sql):
        from memo_viz.terminal.commands import Stepper
        from optimizer.trace.replay import Replay

        _walk(Stepper(Replay.load(inputs.of_trace()), None, text_width(), _rules(inputs.plugins), write_file), lines)
        return
    session, sql = inputs.open(facts, **TO_WATCH)
    from experiments.live_query import LiveQuery
    from memo_viz.terminal.commands import Stepper

    query = LiveQuery(inputs, session, sql)
    try:
        _walk(Stepper(query.again(), query, text_width(), _rules(session.settings.plugins), write_file), lines)
    finally:
        query.close()


def _rules(plugins: Sequence[str]) -> list[str]:
    from experiments.rule_list import STEPS, describe_rules
    from optimizer.plugins.load import load_plugins

    return [*(rule.name for rule in describe_rules(load_plugins(plugins))), *STEPS]


def _open_page(facts: dict[str, Any], inputs: Inputs) -> None:
    """Write the page into a folder for temporary files, and open it."""
    import tempfile
    import webbrowser

    from experiments.commands.trace import page_of

    events, title, _ = traced(inputs, facts)
    file = Path(tempfile.mkdtemp(prefix="planscope-")) / "trace.html"
    file.write_bytes(page_of(events, title, 0)[0])
    say(f"the page is {file}")
    if not webbrowser.open(file.as_uri()):
        say("no browser could be started here; open it with yours")


def _script(file: Path | None) -> Iterable[str] | None:
    """The lines of a script; None where commands come from a terminal."""
    if file is not None and str(file) != "-":
        try:
            return file.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"cannot read {file}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}") from None
    if file is None and sys.stdin is not None and sys.stdin.isatty():
        return None
    return sys.stdin or ()


def _walk(stepper: Stepper, lines: Iterable[str] | None) -> None:
    from memo_viz.terminal.prompt import converse, follow

    if stepper.replay.damage is not None:
        click.echo(clean(f"the trace is read up to its damage: {stepper.replay.damage}"), err=True)
    if lines is not None:
        follow(stepper, lines, say)
    else:
        converse(stepper, say, _history())


def _history() -> Path | None:
    """Where commands are remembered; None where that cannot be written."""
    from experiments.workloads.cache import cache_folder

    file = cache_folder() / "step_history"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    except OSError:
        return None
    return file
