"""planscope bench: experiments that compare parts of the optimizer with one another."""

from __future__ import annotations

from collections.abc import Sequence

import click

from experiments.commands.inputs import progress
from experiments.commands.output import say, table_text

PARTS = ("rates", "graphs", "job", "memory", "tracing")  # of bench search


class Experiments(click.Group):
    """The commands below, and one for each registered experiment, imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from experiments.bench.registry import EXPERIMENTS

        return sorted({*super().list_commands(ctx), *EXPERIMENTS, "report", "compare"})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        from experiments.bench import command as made
        from experiments.bench.registry import EXPERIMENTS

        if name in EXPERIMENTS:
            return made.command_of(name)
        own = {"report": made.report_command, "compare": made.compare_command}
        return own.get(name) or super().get_command(ctx, name)


@click.group("bench", cls=Experiments)
def command() -> None:
    """Experiments that compare parts of the optimizer; each prints tables, and keeps results, tables and figures with -o."""


@command.command("search")
@click.argument("parts", nargs=-1, type=click.Choice(PARTS), metavar="[PART]...")
@click.option("--quick", is_flag=True, help="Smaller graphs, fewer queries, one run each: to see that it works.")
@click.option("-o", "--output", metavar="DIR", help="Write search.json and a CSV file for each kind of row there as well.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
def search(parts: tuple[str, ...], quick: bool, output: str | None, quiet: bool) -> None:
    """How fast the search is. All parts unless some are named.

    \b
    rates    microseconds for a costed join alternative, a task, an insertion into the memo
    graphs   chains, stars, cycles and cliques: by default, exhaustively as tasks and as a table, by commute and associate
    job      the Join Order Benchmark from SQL text to plan, with DuckDB beside where it is installed
    memory   bytes for an expression, a goal and a set of relations, and the peak of a clique
    tracing  the same search without a trace and with one

    \b
    planscope bench search
    planscope bench search job --quick
    planscope bench search rates tracing -o results
    """
    from executor.atomic import make_folder
    from experiments.search_bench.report import Results, write_results
    from experiments.search_bench.run import run

    if output is not None:
        make_folder(output)  # better to fail before minutes of work than after
    results = Results()
    for section in run(list(dict.fromkeys(parts)) or PARTS, quick, progress(quiet), results):
        rows = _right_aligned(section.head, section.rows, section.texts)
        say("\n".join([section.title, table_text(section.head, rows), *section.notes, ""]))
    if output is not None:
        for path in write_results(results, output):
            click.echo(f"wrote {path}", err=True)


@command.command("exec")
@click.argument("queries", nargs=-1, metavar="[SQL]...")
@click.option("-d", "--data", default="tpch:1", show_default=True, metavar="DATA",
              help="A folder of tables, or a built-in dataset with rows.")  # fmt: skip
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Of each engine. Default: one for each processor.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, metavar="N", help="Runs that count.")
@click.option("--engines", metavar="A,B,...", help="Of duckdb, polars. Default: those that are installed.")
@click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help="Change a setting of planscope (repeatable).")
@click.option("-o", "--output", metavar="DIR", help="Write exec.json and exec.parquet there as well.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
def execution(
    queries: tuple[str, ...], data: str, threads: int | None, rounds: int, engines: str | None, pairs: tuple[str, ...],
    output: str | None, quiet: bool,
) -> None:  # fmt: skip
    """How fast queries run, with DuckDB and Polars beside: time, CPU time, peak memory, ratios. Rows are compared.

    Without queries: all built-in ones that are about the dataset. "operators" stands for queries on TPC-H in which one
    operator does nearly all the work.

    \b
    planscope bench exec
    planscope bench exec tpch/q17 tpch/q18 -d tpch:0.1 --rounds 5 -o results
    planscope bench exec operators --engines duckdb
    """
    import os

    from executor.atomic import make_folder
    from experiments.exec_bench import report
    from experiments.exec_bench.engines import NAMES
    from experiments.exec_bench.measure import OPERATORS, default_queries, measure
    from experiments.workloads.data import open_data
    from optimizer.settings import Settings

    others = _names(engines) or list(NAMES[1:])
    if unknown := [name for name in others if name not in NAMES[1:]]:
        raise click.UsageError(f'there is no engine "{unknown[0]}" to compare with; choose of {", ".join(NAMES[1:])}')
    settings = Settings.from_pairs(pairs)
    if output is not None:
        make_folder(output)
    if open_data(data, progress(quiet)).statistics_only:
        raise click.UsageError(f"the dataset {data} has statistics only: nothing can be run on it")
    chosen = [each for query in queries for each in (OPERATORS if query == "operators" else (query,))] or default_queries(data)
    if not chosen:
        raise click.UsageError(f"there are no built-in queries about {data}: name some, or give SQL")
    threads = threads or os.cpu_count() or 1
    rows = []
    for found in measure(chosen, data, settings, threads, rounds, (NAMES[0], *others), progress(quiet)):
        rows += found
    section = report.section(rows, data, threads)
    lines = _right_aligned(section.head, section.rows, section.texts)
    say("\n".join([section.title, table_text(section.head, lines), *section.notes]))
    if output is not None:
        for path in report.write_results(rows, data, threads, output):
            click.echo(f"wrote {path}", err=True)


@command.command("trace")
@click.argument("query", default="clique/8", metavar="[QUERY]")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
def trace(query: str, quiet: bool) -> None:
    """How fast a long trace is walked through, and what that takes in memory.

    The trace is of a search by rules that prunes nothing: over a million events for clique/8, recorded in a minute.

    \b
    planscope bench trace
    planscope bench trace clique/6
    """
    from experiments.trace_bench import HEAD, measure
    from experiments.workloads.queries import default_data

    if default_data(query) is None:
        raise click.UsageError(f'"{query}" is no query that belongs to one dataset, such as clique/8, star/7, job/1a')
    rows = list(measure(query, progress(quiet)))
    widest = max(len(figure) for _, figure, _, _ in rows)
    say(table_text(HEAD, [(what, figure.rjust(widest), unit, notes) for what, figure, unit, notes in rows]))


@command.command("plan")
@click.argument("workloads", nargs=-1, type=click.Choice(("job", "tpch", "tpcds")), metavar="[WORKLOAD]...")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, metavar="N", help="Rounds that count.")
@click.option("--quick", is_flag=True, help="Every twelfth query, one round: to see that it works.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
def plan(workloads: tuple[str, ...], rounds: int, quick: bool, quiet: bool) -> None:
    """How long planning takes, from SQL text to plan and stage by stage, with DuckDB's PREPARE beside.

    Milliseconds of CPU time for all queries of job, tpch and tpcds (default: all three). DuckDB has tables with rows, is
    in the same process, and takes turns with planscope; where it is not installed its times are left out.

    \b
    planscope bench plan
    planscope bench plan tpch --rounds 5
    """
    from experiments.plan_bench import HEAD, fast, measure
    from experiments.search_bench.duckdb_plans import MISSING, duckdb_module

    rows = [row.cells() for row in measure(workloads, 1 if quick else rounds, quick, progress(quiet))]
    say(table_text(HEAD, _right_aligned(HEAD, rows, 1)))
    say(f"CPU milliseconds; sqlglot is {'compiled' if fast() else 'not compiled: planscope[fast] brings that'}")
    if duckdb_module() is None:
        say(MISSING)


def _names(text: str | None) -> list[str]:
    """`a,b` as a list; empty for None."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _right_aligned(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], texts: int = 2) -> list[tuple[str, ...]]:
    """Cells but for the first `texts` columns, as wide as their column and to its right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return [(*row[:texts], *(cell.rjust(width) for cell, width in zip(row[texts:], widths[texts:], strict=True))) for row in rows]
