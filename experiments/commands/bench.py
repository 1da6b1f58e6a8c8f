"""planscope bench: experiments that compare parts of the optimizer with one another."""

from __future__ import annotations

from collections.abc import Sequence

import click

from experiments.commands.inputs import plugin_option, progress
from experiments.commands.output import say, table_text

PARTS = ("rates", "graphs", "job", "memory", "tracing")  # of bench search


@click.group("bench")
def command() -> None:
    """Experiments that compare parts of the optimizer; each prints tables and writes them with -o."""


@command.command("enumeration")
@click.argument("graphs", nargs=-1, metavar="[GRAPH]...")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, metavar="S", help="Seed of cardinalities and selectivities."
)
@click.option("--max-work", type=click.IntRange(1), default=1_000_000, show_default=True, metavar="N",
              help="Leave out what is predicted to take more steps.")  # fmt: skip
@click.option("-o", "--output", metavar="DIR", help="Write enumeration.csv and enumeration.json there as well.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
def enumeration(graphs: tuple[str, ...], seed: int, max_work: int, output: str | None, quiet: bool) -> None:
    """Join enumerators on join graphs: pairs, inner counters, time, and cost compared with the optimum.

    Costs are rows of intermediate results (C_out). It fails if exact enumerators differ.

    \b
    planscope bench enumeration
    planscope bench enumeration clique/12 star/14 grid/3x4 random/12/1 -o results
    """
    from experiments.enumeration import GRAPHS, compare, describe, write_results

    head = ("enumerator", "kind", "inner", "joins costed", "ms", "µs/pair", "cost", "ratio")
    done = []
    for comparison in compare(graphs or GRAPHS, seed, max_work, progress(quiet)):
        done.append(comparison)
        title, rows, left_out = describe(comparison)
        say("\n".join([title, table_text(head, _right_aligned(head, rows)), *left_out, ""]))
    if output is not None:
        for path in write_results(done, output):
            click.echo(f"wrote {path}", err=True)


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


@command.command("pruning")
@click.argument("queries", nargs=-1, metavar="[SQL]...")
@click.option("-d", "--data", metavar="DATA", help="A folder of tables, or a built-in dataset such as tpch:0.1 or job.")
@click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help="Change a setting in all modes (repeatable).")
@plugin_option
@click.option("--audit", "audited", is_flag=True, help="Compare every skip with the exhaustive search of the same memo.")
@click.option("-o", "--output", metavar="DIR", help="Write pruning.csv and pruning.json there as well.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
def pruning(
    queries: tuple[str, ...], data: str | None, pairs: tuple[str, ...], plugins: tuple[str, ...], audited: bool,
    output: str | None, quiet: bool,
) -> None:  # fmt: skip
    """Pruning modes and seeds: alternatives costed and skipped, goals, tasks, time.

    Without queries: chain/8, star/8, clique/6 and some of job; with -d tpch:SF some of tpch. Budgets are off. It fails if
    two modes prove different costs, or the audit finds a skip that is unsound.

    \b
    planscope bench pruning
    planscope bench pruning star/8 job/4a --audit -o results
    planscope bench pruning -d tpch:0.01 --set expand_joins=0
    planscope bench pruning job/4a --plugin mine.py --set cost_model=mine --audit
    """
    from experiments.pruning import compare, default_queries, describe, write_results

    if plugins:
        pairs = (*pairs, f"plugins={','.join(plugins)}")
    done = []
    for comparison in compare(queries or default_queries(data), data, pairs, audited, progress(quiet)):
        done.append(comparison)
        title, head, rows = describe(comparison, audited)
        say("\n".join([title, table_text(head, _right_aligned(head, rows)), ""]))
    if output is not None:
        for path in write_results(done, output):
            click.echo(f"wrote {path}", err=True)


@command.command("estimates")
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@click.option("--estimators", metavar="A,B,...", help="As for the setting estimator; default: histogram,system_r,upper_bound.")
@click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help="Change a setting for all of them (repeatable).")
@click.option("--worst", type=click.IntRange(0), default=0, metavar="N", help="Show the N largest errors of each estimator.")
@click.option("--duckdb/--no-duckdb", default=True, show_default=True, help="DuckDB's estimates beside, where there are rows.")
@click.option("-o", "--output", metavar="DIR", help="Write the tables (CSV, JSON, Markdown) and all sub-plans there as well.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
def estimates(
    workloads: tuple[str, ...],
    estimators: str | None,
    pairs: tuple[str, ...],
    worst: int,
    duckdb: bool,
    output: str | None,
    quiet: bool,
) -> None:
    """Estimated rows of sub-plans beside true ones: q-errors by estimator.

    Workloads: stats, job_m, job_light (default: all). An error of 2 is a factor of 2 up or down; "under" is the share of
    sub-plans with too few rows.

    \b
    planscope bench estimates
    planscope bench estimates stats --estimators histogram --worst 10
    """
    from experiments.estimates import ESTIMATORS, compare, describe, write_results

    names = _names(estimators) or list(ESTIMATORS)
    done = []
    for comparison in compare(workloads, names, pairs, duckdb, progress(quiet)):
        done.append(comparison)
        for section in describe(comparison, worst):
            rows = _right_aligned(section.head, section.rows, section.texts)
            say("\n".join([section.title, table_text(section.head, rows), ""]))
        say("".join(f"{note}\n" for note in comparison.notes))
    if output is not None:
        for path in write_results(done, output):
            click.echo(f"wrote {path}", err=True)


@command.command("quality")
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@click.option("--estimators", metavar="A,B,...", help="As for the setting estimator; default: histogram,system_r,upper_bound.")
@click.option("--cost-models", metavar="A,B,...", help="As for the setting cost_model; default: c_out,arrow.")
@click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help="Change a setting for all of them (repeatable).")
@click.option("--worst", type=click.IntRange(0), default=0, metavar="N", help="Show the N largest ratios of each.")
@click.option("-o", "--output", metavar="DIR", help="Write the tables (CSV, JSON, Markdown) and all queries there as well.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
def quality(
    workloads: tuple[str, ...],
    estimators: str | None,
    cost_models: str | None,
    pairs: tuple[str, ...],
    worst: int,
    output: str | None,
    quiet: bool,
) -> None:
    """Plan quality: what wrong estimates cost.

    The plan chosen under each estimator, costed with true cardinalities, over the plan chosen with these. Workloads: stats,
    job_m (default: both), job_light.

    \b
    planscope bench quality
    planscope bench quality stats --estimators histogram,upper_bound --worst 5
    """
    from experiments.plan_quality import COST_MODELS, ESTIMATORS, compare, describe, write_results

    names = _names(estimators) or list(ESTIMATORS)
    done = []
    for comparison in compare(workloads, names, _names(cost_models) or list(COST_MODELS), pairs, progress(quiet)):
        done.append(comparison)
        for section in describe(comparison, worst):
            rows = _right_aligned(section.head, section.rows, section.texts)
            say("\n".join([section.title, table_text(section.head, rows), ""]))
        say("".join(f"{note}\n" for note in comparison.notes))
    if output is not None:
        for path in write_results(done, output):
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


@command.command("costs")
@click.argument("queries", nargs=-1, metavar="[SQL]...")
@click.option("-d", "--data", default="tpch:0.1", show_default=True, metavar="DATA",
              help="A folder of tables, or a built-in dataset with rows.")  # fmt: skip
@click.option("--plans", type=click.IntRange(2), default=200, show_default=True, metavar="N", help="So many plans in all.")
@click.option("--within", type=click.FloatRange(1.0), default=10.0, show_default=True, metavar="X",
              help="Plans of at most X times the least predicted cost of their query.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(0.1), default=20.0, show_default=True, metavar="S",
              help="Leave a plan out that runs for more than S seconds.")  # fmt: skip
@click.option("--clock", type=click.Choice(("cpu", "elapsed")), default="cpu", show_default=True,
              help="Time of the table by query and of the scatter plot.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Seed of the sample.")
@click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help="Change a setting (repeatable): coefficients=FILE.")
@click.option("-o", "--output", metavar="DIR", help="Write costs.csv, costs.svg and costs.png there as well.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
def costs(
    queries: tuple[str, ...], data: str, plans: int, within: float, timeout: float, clock: str, seed: int,
    pairs: tuple[str, ...], output: str | None, quiet: bool,
) -> None:  # fmt: skip
    """How well cost models order plans by measured time, given true cardinalities.

    Plans are drawn from the spaces of the queries (all of TPC-H unless some are named), run, and costed anew with the rows
    that were counted. Correlations over all plans, and within queries; a scatter plot.

    \b
    planscope bench costs
    planscope bench costs tpch/q05 tpch/q10 --plans 40 -o results
    planscope bench costs --set coefficients=machine.json
    """
    from executor.atomic import make_folder
    from executor.session import Session
    from experiments import cost_quality
    from experiments.workloads.data import open_data
    from optimizer.settings import Settings

    if output is not None:
        make_folder(output)
    # models cost operators by the rows that plans say: a filter at run time would change these
    session = Session(open_data(data, progress(quiet)), Settings.from_pairs(pairs, runtime_filters=False))
    session.check_rows()
    chosen = queries or cost_quality.QUERIES
    sampled = cost_quality.sample_plans(session, chosen, plans, within, timeout, seed, progress(quiet))
    for name, why in sampled.skipped.items():
        say(f"left out {name}: {why}")
    if sampled.timed_out:
        say(f"left out {sampled.timed_out} plans that ran for more than {timeout:g} s")
    runs = sampled.runs
    if len(runs) < 2:
        raise click.UsageError("there are not two plans to compare: sample more, of larger spaces, or allow more time")
    say(f"{len(runs)} plans, at most {within:g} times the least predicted cost of their query; seed {seed}\n")
    for head, rows, texts in (
        (cost_quality.QUALITY_HEAD, cost_quality.quality_rows(runs), 2),
        (cost_quality.QUERY_HEAD, cost_quality.query_rows(runs, clock), 1),
    ):
        say(table_text(head, _right_aligned(head, rows, texts)) + "\n")
    say("\n".join(cost_quality.scatter_lines(runs, clock)))
    if output is not None:
        for path in cost_quality.write_results(runs, clock, output):
            click.echo(f"wrote {path}", err=True)


def _names(text: str | None) -> list[str]:
    """`a,b` as a list; empty for None."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _right_aligned(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], texts: int = 2) -> list[tuple[str, ...]]:
    """Cells but for the first `texts` columns, as wide as their column and to its right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return [(*row[:texts], *(cell.rjust(width) for cell, width in zip(row[texts:], widths[texts:], strict=True))) for row in rows]
