"""planscope explain: the plan of a query, the stages before it with all that fired in them, and what the search did."""

from typing import Any

import click

from experiments.commands.engines import engine_of, engine_options
from experiments.commands.inputs import Inputs, query_inputs
from experiments.commands.limits import limit_options
from experiments.commands.output import format_of, say, text_width, write_json, write_text
from optimizer.errors import SettingsError, Unsupported

FORMATS = ("text", "json", "svg")


@click.command("explain")
@query_inputs
@click.option("--analyze", is_flag=True, help="Run the query and show actual rows and time beside the estimates.")
@click.option("--stage", default="plan", show_default=True, metavar="STAGE", help="bind, prepass, ..., memo, plan, or all.")
@click.option("--format", "format", type=click.Choice(FORMATS), help="Default: what FILE's ending says, else text.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of standard output.")
@click.option("--order-of", type=click.Choice(["duckdb", "postgres"]), help="With that system's join order, priced in our model.")
@click.option("--postgres", metavar="DSN|FILE", help="Where that order is from: a database, or EXPLAIN as JSON.")
@engine_options
@limit_options
@click.pass_obj
def command(
    facts: dict[str, Any], /, inputs: Inputs, analyze: bool, stage: str, format: str | None, output: str | None, engine: str,
    order_of: str | None, postgres: str | None, timeout: float | None, memory_limit: str | None, master: str | None,
    remote: str | None, conf: dict[str, str],
) -> None:  # fmt: skip
    """Show the plan of a query, and how it came about.

    \b
    planscope explain tpch/q05 -d tpch:0.1 --stage all
    planscope explain tpch/q05 -d tpch:0.1 --stage prepass
    planscope explain tpch/q05 -d tpch:0.1 --analyze
    planscope explain tpch/q05 -d tpch:0.1 -o plan.svg
    planscope explain tpch/q05 -d tpch:0.1 --order-of duckdb
    planscope explain stats/024 --order-of postgres
    planscope explain @mine.sql -d DIR --order-of postgres \\
        --postgres "host=localhost dbname=mine"
    """
    format = format_of(output, format, FORMATS)
    if format == "json" and stage in ("memo", "all"):
        raise click.UsageError("--format json describes the plan or one stage before it; planscope memo has the memo as data")
    if format == "svg" and stage not in ("plan", "memo"):
        raise click.UsageError("there are pictures of --stage plan and --stage memo; other stages are text")
    if analyze and stage not in ("plan", "all"):
        raise click.UsageError("--analyze runs the plan and shows it; leave --stage out")
    if postgres is not None and order_of != "postgres":
        raise click.UsageError("--postgres says where --order-of postgres finds the order")
    if not analyze and (timeout is not None or memory_limit is not None):
        raise click.UsageError("--timeout and --memory-limit are about running: they need --analyze")
    from executor.execution import limits

    allowed = limits(timeout, memory_limit)
    session, sql = inputs.open(facts, **({"cost_model": "spark"} if engine == "spark" else {}))
    runs = engine_of(engine, master, remote, conf, session.settings.spark_nodes, inputs.quiet, inputs.sql)
    if analyze:
        session.check_rows()
    note = ""
    if order_of is not None:
        from executor.session import Session
        from experiments.order_links import linked_by
        from experiments.order_of import duckdb_order, order_of_postgres

        if session.settings.join_order:
            raise click.UsageError("--order-of asks another system for the order of the joins, and one is given: leave one out")
        own = session.optimize(sql)
        found = duckdb_order(session.catalog, own) if order_of == "duckdb" else order_of_postgres(inputs.sql, sql, postgres)
        settings = session.settings.replace(join_order=found.order)
        facts["settings"] = settings.as_dict()
        session = Session(session.catalog, settings, (*session.program, linked_by(found.order)))
    session.limits, session.engine = allowed, runs
    try:
        explanation = session.explain(sql, analyze=analyze)
    except SettingsError as error:
        if order_of is None:
            raise
        why = str(error).splitlines()[0].partition(": ")[2]
        raise Unsupported(f"{found.system} joins {found.order}, which is not in our space: {why}") from None
    if order_of is not None:
        note = "\n\n" + _priced(found.system, own.cost, explanation.query.cost)
    names = [s.name for s in explanation.query.stages]
    if stage not in (*names, "memo", "plan", "all"):
        why = "has nothing to show of" if stage in explanation.query.ms else "has no"
        raise click.UsageError(f'this query {why} stage "{stage}"; its stages are {", ".join([*names, "memo", "plan", "all"])}')
    if format == "json":
        from experiments.commands.stage_text import stage_json

        chosen = [s for s in explanation.query.stages if s.name == stage]
        value: dict[str, Any] = stage_json(chosen[0]) if chosen else explanation.json
        if order_of is not None and not chosen:
            value |= {"order_of": {"system": found.system, "join_order": found.order, "own_cost": own.cost}}
        write_json(value, output)
    elif format == "svg":
        write_text(explanation.plan.svg if stage == "plan" else explanation.memo.svg(), output)
    else:
        say(_text(explanation, stage) + note, output)


def _priced(system: str, own: float, other: float) -> str:
    """The cost of the order of another system beside that of our own."""
    from optimizer.algebra.printing import number, ratio

    more = "no dearer"
    if other > own * (1 + 1e-9):
        more = f"{ratio(100 * (other / own - 1))} % dearer" if own else "dearer"
    if other < own * (1 - 1e-9):  # our search takes the equalities as they are
        more = f"{100 * (1 - other / own):.3g} % cheaper, by equalities that others imply,"
    return f"{system} joins in this order: in our model {number(other)}, {more} than our own order with {number(own)}"


def _text(explanation: Any, stage: str) -> str:
    from experiments.commands.stage_text import stage_text, stage_title
    from memo_viz.listing import memo_listing

    query, parts = explanation.query, []
    for each in query.stages:
        if stage == each.name:
            parts.append(stage_text(each, text_width()))
        elif stage == "all":
            parts.append(f"{stage_title(each)}\n\n{each.text}")
    if stage == "memo":  # with all of the above it would bury the plan
        parts.append(memo_listing(explanation.memo.state))
    if stage in ("plan", "all"):
        head = "plan\n\n" if stage == "all" else ""
        parts.append(head + explanation.show(text_width()))
    return "\n\n".join(parts)
