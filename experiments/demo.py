"""The tour that `planscope demo` gives: one query from SQL text to rows, with everything in between."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from executor.atomic import make_folder, write_file
from executor.execution import actuals, new_counters, reader
from executor.explanation import Explanation
from executor.formats import show_table
from executor.session import Session
from experiments.commands.output import aligned_text, text_width
from experiments.workloads.data import dataset_folder, open_data
from experiments.workloads.generated_data import is_made, seconds_of_steps
from experiments.workloads.queries import resolve_sql
from memo_viz.explain import Actual, plan_table, regions_text
from memo_viz.text import shorten
from optimizer.algebra.printing import number
from optimizer.errors import many
from optimizer.settings import Settings
from optimizer.trace.recorder import json_lines

if TYPE_CHECKING:
    from optimizer.algebra.plan import PlanNode
    from optimizer.catalog.table import Catalog
    from optimizer.pipeline import OptimizedQuery

QUERY, DATA = "tpch/q05", "tpch:0.1"
MODES = ("none", "upper", "lower", "both")
SETTINGS = Settings(region="tasks")  # to be watched: the table of a region is one step
PIPELINE = {"session": "start of Spark", "generate": "generate", "analyze": "analyze"}
STAGES = {
    "bind": "What the text says and no more.",
    "prepass": "Rewrites that always help: conditions go to where their columns are, unread columns go away.",
}


def run_demo(output: str, progress: Callable[[str], None] | None = None, data: str = DATA) -> None:
    """Print the tour on standard output and write memo.svg, plan.svg and trace.jsonl into the folder `output`.

    The folder is made first, so that a place that cannot be written is known before any work is done. Raises
    OutputError, and whatever opening the data, planning and running raise.
    """
    folder = make_folder(output)
    started = time.perf_counter()
    title = "planscope: a query from SQL text to rows, and everything in between"
    click.echo(f"{click.style(title, bold=True)}\n{'═' * len(title)}")
    session = _data(data, progress)
    sql = resolve_sql(QUERY)
    _step("The query", f"{QUERY}, a join of six tables that closes a cycle: customers and suppliers share a nation.")
    _block(sql.strip())
    session.optimize(sql)  # first-time costs (imports, caches) would blur the times below
    explanation = session.explain(sql)
    _stages(explanation.query)
    _search(session, sql)
    actual, seconds = _execution(session, explanation)
    _times(explanation.query, actual, seconds)
    _pictures(explanation, actual, folder)
    _next(data)
    click.echo()
    _say(f"That was all, in {time.perf_counter() - started:.1f} s.")


def _data(data: str, progress: Callable[[str], None] | None) -> Session:
    kind, _, scale = data.partition(":")
    there = is_made(kind, scale)
    _step(
        "The data",
        f"TPC-H at scale factor {scale}, made by the data pipeline, which writes Parquet files (generate), "
        "then reads them once for distinct counts, common values, histograms and the truth of declared keys (analyze).",
    )
    path = dataset_folder(data, progress)
    catalog = open_data(data, progress)
    _block(_table_sizes(catalog))
    click.echo()
    _say(f"{'It was in the cache already' if there else 'It is in the cache now'}: {_home(path)}")
    _say("How long each part took when it was made:" if there else "How long each part took:")
    _block(_pipeline_times(seconds_of_steps(path)))
    return Session(catalog, SETTINGS)


def _pipeline_times(seconds: Mapping[str, float]) -> str:
    """A line for each step of the pipeline, in the order they are run in."""
    return "\n".join(f"{what:<16}{seconds[step]:>6.1f} s" for step, what in PIPELINE.items() if step in seconds)


def _table_sizes(catalog: Catalog) -> str:
    tables = sorted(catalog.tables.values(), key=lambda t: t.stats.rows)
    cells = [f"{t.name:<9}{t.stats.rows:>9,}" for t in tables]
    return "\n".join("     ".join(cells[i : i + 4]) for i in range(0, len(cells), 4)) + "  rows"


def _stages(query: OptimizedQuery) -> None:
    label = query.columns.label(query.outputs[0].id)
    _step("From text to a tree", f"A column is a name and a number, and stays the same column wherever it shows up: {label}.")
    for stage in query.stages:
        fired = Counter(firing[0] for firing in stage.firings)
        rules = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in fired.items())
        click.echo()
        _say(click.style(f"after {stage.name}", bold=True) + f" ({stage.ms:.1f} ms)")
        _tell(STAGES.get(stage.name, "") + (f" Rules that fired: {rules}." if rules else ""))
        _block("\n".join(shorten(line, text_width() - 3) for line in stage.text.splitlines()))


def _search(session: Session, sql: str) -> None:
    _step(
        "The search",
        "The memo keeps every equivalent expression once; tasks on a stack explore and cost them. Pruning skips what "
        "cannot win: upper stops where the best plan so far is already cheaper, lower where even the best imaginable "
        "rest would not help. The winner costs the same, whichever is on. Dominated are merge joins that are left out with lower "
        "bounds because a hash join of the same inputs never costs more.",
    )
    rows, costs = [], set()
    for mode in MODES:
        query = Session(session.catalog, SETTINGS.replace(pruning=mode)).optimize(sql)
        s = query.search.as_dict()
        costs.add(round(query.cost, 6))
        rows.append(
            (
                mode,
                f"{s['costed']:,}",
                f"{s['goals']:,}",
                f"{s['tasks']:,}",
                f"{sum(s['pruned'].values()) - s['pruned']['dominated']:,}",
                f"{s['pruned']['dominated']:,}",
                f"{query.ms['search']:.1f}",
                number(query.cost),
            )
        )
    head = ("pruning", "alternatives costed", "goals", "tasks", "skips", "dominated", "search ms", "winner's cost")
    _block(aligned_text(head, rows, text_width() - 3))
    click.echo()
    if len(costs) == 1:
        _say("Four searches, one answer: every mode found a plan of the same cost.")
    else:
        _say("The modes disagree about the cheapest plan. That is a bug: please report it with this output.")
    _tell(
        f"The last memo has {many(s['groups'], 'group')}, {s['mexprs_logical']:,} logical and {s['mexprs_physical']:,} physical "
        f"multi-expressions; {s['joins_enumerated']:,} joins of two sets of tables were considered. Regions of joins "
        f"were searched by {regions_text(s['regions'])}, so that there is something to "
        "watch; planscope explain takes the quicker way."
    )


def _execution(session: Session, explanation: Explanation) -> tuple[Mapping[int, Actual], float]:
    query = explanation.query
    counters = new_counters()
    started = time.perf_counter()
    table = reader(query, counters).read_all()
    seconds = time.perf_counter() - started
    actual = actuals(counters)
    _step(
        "The chosen plan, and what happened when it ran",
        "rows is the estimate, actual the truth, q-error the factor between them; cost includes the inputs.",
    )
    _block(plan_table(query.plan, query.columns, actual, text_width() - 3))
    _step("The result")
    for line in show_table(table, 20).splitlines():
        _say(line)
    return actual, seconds


def _times(query: OptimizedQuery, actual: Mapping[int, Actual], seconds: float) -> None:
    parts = " + ".join(f"{name} {ms:.1f}" for name, ms in query.ms.items() if ms >= 0.05)
    _step("Where the time went")
    _say(f"planning   {sum(query.ms.values()):>8.1f} ms = {parts}")
    _say(f"execution  {seconds * 1000:>8.1f} ms; its operators, with the work of all threads added up:")
    timed = [(actual[n.id].ms, n) for n in query.plan.walk() if n.id in actual and actual[n.id].ms]
    for ms, node in sorted(timed, key=lambda pair: -pair[0])[:4]:
        _say(f"           {ms:>8.1f} ms in {_name(node, query)}")


def _name(node: PlanNode, query: OptimizedQuery) -> str:
    return shorten(f"{node.op.name} {node.op.describe(query.columns.label)}", 64)


def _pictures(explanation: Explanation, actual: Mapping[int, Actual], folder: os.PathLike[str]) -> None:
    from memo_viz.dot import memo_dot
    from memo_viz.graph import memo_graph
    from memo_viz.plan_graph import plan_dot
    from memo_viz.svg import render_svg

    query = explanation.query
    rows = {id: found.rows for id, found in actual.items()}
    memo = memo_dot(memo_graph(explanation.memo.state), title=f"{QUERY}: the memo")
    write_file(os.path.join(folder, "memo.svg"), render_svg(memo))
    plan = plan_dot(query.plan, query.columns, rows, f"{QUERY}: the chosen plan")
    write_file(os.path.join(folder, "plan.svg"), render_svg(plan))
    events = explanation.trace.events
    write_file(os.path.join(folder, "trace.jsonl"), "".join(line + "\n" for line in json_lines(explanation.trace)))
    _step("To look at", f"written to {os.path.abspath(folder)}")
    _say("memo.svg     the memo: groups, multi-expressions, the chosen plan in green (open it in a browser)")
    _say("plan.svg     the plan: cost as colour, rows as the width of the edges")
    _say(f"trace.jsonl  every event of the search, {many(len(events), 'line')}")


def _next(data: str) -> None:
    _step("Try next")
    planscope = _program()
    commands = (
        (f"trace {QUERY} -d {data} -o q05.html", "the search, step by step"),
        (f"run tpch/q03 -d {data}", "another query"),
        (f'run "select count(*) from orders" -d {data}', "one of your own"),
        (f"explain {QUERY} -d {data} --analyze", "estimates beside the truth"),
        (f"explain {QUERY} -d {data} --disable join_to_hash_join", "what a rule is worth"),
        (f"data show {data} --table orders", "what is known of a table"),
        (f"memo {QUERY} -d {data} -o winners.svg --winners", "the plan in its memo"),
    )
    width = max(len(arguments) for arguments, _ in commands)
    for arguments, why in commands:
        _say(f"{planscope} {arguments:<{width}}  {why}")


def _program() -> str:
    """How to call planscope from here."""
    if shutil.which("planscope"):
        return "planscope"
    script = Path(sys.executable).with_name("planscope")
    return os.path.relpath(script) if script.exists() else "python -m planscope"


def _step(title: str, text: str = "") -> None:
    click.echo()
    click.echo(click.style(f"── {title} ".ljust(text_width(), "─"), fg="green", bold=True))
    _tell(text)


def _say(text: str) -> None:
    """One line, as it is."""
    click.echo(f"   {text}")


def _tell(text: str) -> None:
    """A paragraph."""
    for line in textwrap.wrap(text, text_width() - 3):
        _say(line)


def _block(text: str) -> None:
    click.echo()
    for line in text.splitlines():
        click.echo(f"   {line}".rstrip())


def _home(path: os.PathLike[str]) -> str:
    text, home = os.fspath(path), os.path.expanduser("~")
    return "~" + text[len(home) :] if text.startswith(home + os.sep) else text
