"""How good estimates are, and what it costs when they are not: estimators by cost models, beside other systems.

    estimate  rows of a sub-plan as estimated and as counted. Its q-error is max(estimate / true, true / estimate),
              both taken as at least one row (Moerkotte, Neumann and Steidl, VLDB 2009).
    plan      a plan chosen under an estimator, costed operator by operator with the true rows of every relation set
              it computes, over the cheapest plan under true rows: at least 1 (Leis et al., VLDB 2015, section 4; the
              P-error of later work). For the join order of another system: the cheapest plan that has this order.
              With `run` also its time.

A sub-plan is a set of relations of a query joined under all predicates among them; true rows are the published ones.
Rules that put aggregates or lookups between joins are off, since these are counts of joins. DuckDB estimates and
plans over native tables with the same rows. PostgreSQL's orders are read from files that EXPLAIN (FORMAT JSON) wrote,
one a query; those of stats are recorded beside its queries.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from operator import itemgetter
from pathlib import Path

import click
import numpy as np
import pyarrow as pa

from executor.arrow.watch import LimitReached
from executor.session import Session
from experiments.bench.experiment import Figure, Item, Options, Row, Section, Table, names_of
from experiments.bench.store import table_of
from experiments.bench.summary import geometric_mean, grouped
from experiments.duckdb_estimates import DuckDBEstimates, FlatQuery
from experiments.duckdb_sql import MISSING, duckdb_module
from experiments.order_links import linked_by
from experiments.order_of import SystemOrder, duckdb_order, postgres_order, recorded_plan
from experiments.sub_plans import JOINS_ALONE, SubPlans, scan_of
from experiments.timing import timed
from experiments.workloads.data import opened
from experiments.workloads.queries import default_data, resolve_sql
from experiments.workloads.true_cardinalities import WORKLOADS, Aliases, true_cardinalities
from memo_viz.q_error import q_error
from optimizer.algebra.plan import PlanNode
from optimizer.catalog.table import Catalog
from optimizer.cost.model import CostModel
from optimizer.errors import InternalError, SettingsError, SqlError, Unsupported
from optimizer.explanation.diagram import plan_key
from optimizer.pipeline import OptimizedQuery, Optimizer
from optimizer.prepass.program import PROGRAM
from optimizer.settings import Settings
from optimizer.stats.injected import Injected
from optimizer.stats.relation import RelationStats

NAME = "quality"
HELP = """How good estimates are, and what it costs when they are not.

q-errors of sub-plans, and plans chosen under each estimator and cost model, costed with true rows and run, beside DuckDB's
estimates and join orders, and PostgreSQL's orders from EXPLAIN files. Workloads or queries of stats, job_m, job_light; by default
the first two.
"""
MODES = ("estimates", "plans", "run")
TIMEOUT = 120.0
KEYS = ("what", "by", "cost_model", "aliases")
OWN = ("data",)
SHARED = {**dict.fromkeys(("estimators", "cost_models", "postgres"), ""), **dict.fromkeys(MODES, "query")}
ESTIMATORS, COST_MODELS = "histogram,system_r,upper_bound", "c_out,arrow"
OWN_SETTINGS = {"estimator": "write --estimators {value}", "cost_model": "write --cost-models {value}"}
PARAMETERS = (
    click.Option(["--estimators"], metavar="A,B,...", default=ESTIMATORS, show_default=True, help="As the setting estimator."),
    click.Option(["--cost-models"], metavar="A,B,...", default=COST_MODELS, show_default=True, help="As the setting cost_model."),
    click.Option(
        ["--postgres"], metavar="DIR", help="PostgreSQL's plans: DIR/stats/001.json and so on; default: those recorded."
    ),
)
NO_BUDGETS = ("budget_tasks=0", "budget_mexprs=0", "budget_groups=0")
TOLERANCE = 1e-6
SECONDS = 20.0  # for one run
TRUE, DUCKDB, POSTGRES = "true rows", "DuckDB", "PostgreSQL"


def items(options: Options) -> list[Item]:
    estimators = names_of(options.own.get("estimators") or ESTIMATORS)
    cost_models = names_of(options.own.get("cost_models") or COST_MODELS)
    for pair in (*(f"estimator={name}" for name in estimators), *(f"cost_model={name}" for name in cost_models)):
        Session(Catalog("none", ()), Settings.from_pairs((*options.pairs, pair)))  # raises where there is no such setting
    return [
        {
            "query": query, "estimators": estimators, "cost_models": cost_models, "pairs": options.pairs_for(query),
            "postgres": options.own.get("postgres"), **{mode: mode in options.modes for mode in MODES},
        }
        for query in _queries(options.queries or WORKLOADS[:2], options.quick)
    ]  # fmt: skip


def _queries(named: Iterable[str], quick: bool) -> Iterator[str]:
    """Queries, and those of workloads. Raises SqlError for one whose sub-plans have not been counted."""
    for name in dict.fromkeys(named):
        known = true_cardinalities(name.split("/")[0])
        if name in known:
            yield name
        elif "/" in name:
            raise SqlError(
                f"no true cardinalities are known for {name}", hint=f"queries with them begin with {next(iter(known))}"
            )
        else:
            yield from list(known)[: 5 if quick else None]


@lru_cache(maxsize=1)
def _duckdb(data: str) -> DuckDBEstimates | None:
    """None where DuckDB is not installed, or there are no rows."""
    return None if duckdb_module() is None or opened(data).statistics_only else DuckDBEstimates(opened(data))


def measure(item: Item) -> list[Row]:
    name = item["query"]
    workload = name.split("/")[0]
    data = default_data(name) or workload
    catalog, counted, sql = opened(data), true_cardinalities(workload)[name], resolve_sql(name)
    settings = {
        (model, estimator): Settings.from_pairs(
            (*NO_BUDGETS, *item["pairs"], f"cost_model={model}", f"estimator={estimator}"), JOINS_ALONE
        )
        for model in item["cost_models"]
        for estimator in dict.fromkeys((*item["estimators"], "histogram"))
    }
    rows: list[Row] = []
    if item["estimates"]:
        first = item["cost_models"][0]
        by_estimator = {each: SubPlans(Session(catalog, settings[first, each]).optimize(sql)) for each in item["estimators"]}
        rows += estimates(FlatQuery(sql), counted, by_estimator, catalog, _duckdb(data))
    if item["plans"] or item["run"]:
        others = list(other_orders(catalog, name, sql, settings[item["cost_models"][0], "histogram"], item["postgres"]))
        runnable = item["run"] and _stored(catalog, FlatQuery(sql).tables.values())
        for model in item["cost_models"]:
            own = {each: settings[model, each] for each in item["estimators"]}
            rows += plans(catalog, sql, counted, settings[model, "histogram"], own, others, runnable and model == "arrow")
    return rows


def _stored(catalog: Catalog, tables: Iterable[str]) -> bool:
    """Whether all these tables have rows."""
    found = [catalog.table(name) for name in tables]
    return not catalog.statistics_only and all(each is not None and each.files for each in found)


def estimates(
    flat: FlatQuery, counted: dict[Aliases, int], by_estimator: dict[str, SubPlans], catalog: Catalog,
    duckdb: DuckDBEstimates | None,
) -> Iterator[Row]:  # fmt: skip
    """A row for each sub-plan and estimator; DuckDB's where the tables of the sub-plan have rows."""
    for aliases, true in counted.items():
        with_rows = _stored(catalog, [flat.tables[alias] for alias in aliases])
        found = {name: sub_plans.rows(aliases) for name, sub_plans in by_estimator.items()}
        if with_rows and duckdb is not None:
            found[DUCKDB] = duckdb.rows(flat.sub_query(aliases))
        for name, rows in found.items():
            yield {
                "what": "estimate", "by": name, "aliases": "+".join(sorted(aliases)), "relations": len(aliases), "estimate": rows,
                "true": true, "with_rows": with_rows, "q_error": q_error(rows, true), "under": too_low(rows, true),
            }  # fmt: skip


def too_low(estimate: float, true: float) -> bool:
    """Rounding aside."""
    return max(1.0, estimate) < max(1.0, true) * (1 - 1e-9)


def other_orders(
    catalog: Catalog, name: str, sql: str, settings: Settings, postgres: str | None
) -> Iterator[tuple[str, SystemOrder]]:
    """The join orders of other systems, as far as they are known."""
    if not catalog.statistics_only and _stored(catalog, FlatQuery(sql).tables.values()) and duckdb_module() is not None:
        with suppress(Unsupported):  # its plan does not scan the tables of FROM one by one
            yield DUCKDB, duckdb_order(catalog, Optimizer(catalog, settings).optimize(sql))
    file = recorded_plan(name) if postgres is None else Path(postgres) / f"{name}.json"
    if file.exists():
        yield POSTGRES, postgres_order(file)


def plans(
    catalog: Catalog, sql: str, counted: dict[Aliases, int], settings: Settings, estimators: dict[str, Settings],
    others: Sequence[tuple[str, SystemOrder]], runnable: bool,
) -> list[Row]:  # fmt: skip
    """A row for the cheapest plan under true rows, one for each estimator's choice and one for each order of another system."""
    injected = partial(Injected, cardinalities={aliases: float(count) for aliases, count in counted.items()})
    model = settings.cost_model
    cheapest = Optimizer(catalog, settings, estimator=injected)
    planned = cheapest.optimize(sql)
    truth = SubPlans(planned)
    best = recosted(planned, truth, cheapest.cost)
    if not math.isclose(best, planned.cost, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
        raise InternalError(f"{sql}: the plan costs {planned.cost!r} in the search and {best!r} operator by operator")
    chosen: list[tuple[str, OptimizedQuery, float]] = [(TRUE, planned, best)]
    for name, each in estimators.items():
        query = Session(catalog, each).optimize(sql)
        chosen.append((name, query, recosted(query, truth, cheapest.cost)))
    for name, found in others:
        try:
            forced = settings.replace(join_order=found.order)
            query = Optimizer(catalog, forced, program=(*PROGRAM, linked_by(found.order)), estimator=injected).optimize(sql)
        except SettingsError:  # not in our space
            continue
        chosen.append((name, query, query.cost))
    result: list[Row] = []
    took: dict[tuple[str, ...], Row] = {}
    for name, query, cost in chosen:
        if cost < best * (1.0 - TOLERANCE) and planned.search.proven:
            raise InternalError(f"{sql}: the plan of {name} costs {cost!r} under {model}, the cheapest {best!r}")
        row: Row = {"what": "plan", "by": name, "cost_model": model, "relations": len(truth.aliases), "cost": cost, "best": best}
        row["ratio"] = max(1.0, cost) / max(1.0, best)  # a plan whose joins are all empty costs nothing in c_out
        if runnable:
            same = plan_key(query.plan)
            took[same] = took.get(same) or times(query)
            row |= took[same]
        result.append(row)
    return result


def times(query: OptimizedQuery) -> Row:
    try:
        found = timed(query, seconds=SECONDS, warm=True)
    except LimitReached:
        return {"ms": SECONDS * 1e3, "cpu_ms": SECONDS * 1e3, "ended": False}
    return {"ms": found.ms, "cpu_ms": found.cpu_ms, "ended": True}


def recosted(query: OptimizedQuery, truth: SubPlans, model: CostModel) -> float:
    """The cost of the plan of a query with the rows that `truth` has for each relation set."""
    aliases: dict[int, frozenset[str]] = {}
    figures: dict[int, RelationStats] = {}
    query.give_groups()
    cost = 0.0
    for node in reversed(list(query.plan.walk())):  # inputs first
        aliases[id(node)] = _aliases(query, node).union(*(aliases[id(child)] for child in node.inputs))
        inputs = [figures[id(child)] for child in node.inputs]
        figures[id(node)] = _figures(query, node, truth, aliases[id(node)], inputs)
        cost += model.local(node.op, node.alternative.delivered, figures[id(node)], inputs)
    return cost


def _aliases(query: OptimizedQuery, node: PlanNode) -> frozenset[str]:
    scan = scan_of(query.memo.group(node.group))
    return frozenset() if scan is None else frozenset((scan.alias.lower(),))


def _figures(
    query: OptimizedQuery, node: PlanNode, truth: SubPlans, aliases: frozenset[str], inputs: Sequence[RelationStats]
) -> RelationStats:
    """Figures of a scan, a join or a sort of one: those of its relation set. Above the joins there is one row, or as many as
    below."""
    group = query.memo.group(node.group)
    if group.region is not None or scan_of(group) is not None:
        return truth.stats(aliases)
    rows = 1.0 if group.props.at_most_one_row else inputs[0].rows
    return RelationStats(rows, group.stats.columns, keys=group.stats.keys)


def report(rows: pa.Table) -> list[Section]:
    found = [{**row, "workload": row["query"].split("/")[0]} for row in rows.to_pylist() if row["status"] == "ok"]
    sections = [_estimates_section([row for row in found if row["what"] == "estimate"])]
    sections += _plans_sections([row for row in found if row["what"] == "plan"])
    return [section for section in sections if section is not None]


def _estimates_section(rows: list[Row]) -> Section | None:
    if not rows:
        return None
    tables = []
    scopes = {"all": rows, "stored": [row for row in rows if row["with_rows"]]}
    captions = {
        "all": "q-errors of sub-plans; under: the share estimated too low.",
        "stored": "Of those sub-plans whose tables have rows.",
    }
    for scope, own in scopes.items():
        lines = [
            {"workload": workload, "estimator": name, **_percentiles(each)}
            for (workload, name), each in grouped(own, itemgetter("workload", "by")).items()
            if scope == "stored" or name != DUCKDB
        ]
        if lines:
            tables.append(Table(f"q_errors_{scope}", captions[scope], table_of(lines)))
    known = {row["workload"] for row in scopes["stored"]}  # elsewhere there are no rows at all
    sized = [row for row in rows if row["with_rows"] or row["workload"] not in known]
    by_size = [
        {"workload": workload, "estimator": name, "relations": relations, **_percentiles(each)}
        for (workload, name, relations), each in sorted(
            grouped(sized, itemgetter("workload", "by", "relations")).items(), key=lambda found: found[0]
        )
    ]
    caption = "q-errors by number of relations; of workloads with rows, those sub-plans whose tables all have some."
    tables.append(Table("q_errors_by_relations", caption, table_of(by_size)))
    points = [
        {"x": line["relations"], "y": line[column], "series": f"{line['estimator']}, {column}", "panel": line["workload"]}
        for column in ("median", "95 %")
        for line in by_size
    ]
    about = "q-errors grow with the number of relations."
    figure = Figure("q_errors", about, table_of(points), "lines", "relations joined", "q-error", log_y=True)
    missing = scopes["stored"] and all(row["by"] != DUCKDB for row in rows)
    return Section("Estimates", MISSING if missing else "", tables, [figure])


def _percentiles(rows: Sequence[Row]) -> Row:
    errors = np.array([row["q_error"] for row in rows])
    median, p90, p95, p99 = (float(x) for x in np.percentile(errors, (50, 90, 95, 99)))
    under = sum(row["under"] for row in rows) / len(rows)
    figures = {"sub-plans": len(rows), "median": median, "90 %": p90, "95 %": p95, "99 %": p99}
    return {**figures, "max": float(errors.max()), "under": under}


def _plans_sections(rows: list[Row]) -> Iterator[Section]:
    if not rows:
        return
    lines = []
    for (workload, model, name), own in grouped(rows, itemgetter("workload", "cost_model", "by")).items():
        ratios = [row["ratio"] for row in own]
        median, p90 = (float(x) for x in np.percentile(ratios, (50, 90)))
        lines.append({
            "workload": workload, "cost model": model, "chosen by": name, "queries": len(own),
            "geometric mean": geometric_mean(ratios),
            "median": median, "90 %": p90, "max": max(ratios), "within 1 %": sum(ratio <= 1.01 for ratio in ratios) / len(ratios),
        })  # fmt: skip
    shares = [
        {"x": row["ratio"], "series": row["by"], "panel": f"{row['workload']}, {row['cost_model']}"}
        for row in rows
        if row["by"] != TRUE
    ]
    caption = "Cost under true rows of the chosen plan over that of the cheapest; other systems' orders with our operators."
    figure = Figure(
        "ratios", "Share of queries whose plan costs at most so many times the cheapest.", table_of(shares), "shares",
        "cost over the cheapest's, true rows", "share of queries", log_x=True,
    )  # fmt: skip
    notes = "job_m: rows of single relations were not published; those of the histogram estimator stand for them everywhere."
    text = notes if any(row["workload"] == "job_m" for row in rows) else ""
    yield Section("Plans under true rows", text, [Table("plans", caption, table_of(lines))], [figure])
    ran = [row for row in rows if row.get("cpu_ms") is not None]
    if not ran:
        return
    least = {(row["query"], row["cost_model"]): row["cpu_ms"] for row in ran if row["by"] == TRUE and row["ended"]}
    lines = []
    for (workload, name), own in grouped(ran, itemgetter("workload", "by")).items():
        ratios = [_slower(row, least[key]) for row in own if (key := (row["query"], row["cost_model"])) in least]
        lines.append({
            "workload": workload, "chosen by": name, "queries": len(own), "CPU s": sum(row["cpu_ms"] for row in own) / 1e3,
            "elapsed s": sum(row["ms"] for row in own) / 1e3, "geometric mean": geometric_mean(ratios),
            "max": max(ratios, default=None), "not ended": sum(not row["ended"] for row in own),
        })  # fmt: skip
    caption = (
        "Times of chosen plans on our executor, and CPU times over those of the plan chosen under true rows, where that ended. A "
        f"plan that did not end within {SECONDS:g} s counts with these, or with the other's CPU time if that is more."
    )
    yield Section("Measured times", "", [Table("times", caption, table_of(lines))])


def _slower(row: Row, least: float) -> float:
    """CPU time over `least`, that of another plan, which ended: the limit is of time on the clock, and of several cores it may be
    less."""
    return float(row["cpu_ms"] / least if row["ended"] else max(1.0, row["cpu_ms"] / least))
