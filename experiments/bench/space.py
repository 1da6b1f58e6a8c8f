"""The space of plans of a query: how many there are, what they cost, and how well costs tell quick plans from slow ones.

    count      plans and trees of operators before pruning, and what was left of them
    uniform    plans drawn uniformly: cost over that of the chosen plan (Waas and Galindo-Legaria, SIGMOD 2000)
    quickpick  random join orders, each with the best operators for it: the same ratio (Waas and Pellenkoft, BNCOD
               2000)
    run        plans drawn uniformly among those of at most `within` times the least cost, and the chosen one, run and
               timed

The score of `run` is the weighted correlation of costs and times of TAQO (Gu, Soliman and Waas, DBTest 2012). Costs
are those the search saw, and those under the rows that operators turned out to have, so that what remains is the
error of the cost model. Filters at run time are off: they change the rows that operators see. Plans that do not end
within a limit have no time, and are counted.
"""

import math
from operator import itemgetter
from random import Random
from statistics import mean

import pyarrow as pa

from executor.arrow.watch import LimitReached
from executor.execution import new_counters
from executor.session import Session
from experiments.bench.experiment import Figure, Item, Options, Row, Section, Table
from experiments.bench.store import table_of
from experiments.bench.summary import geometric_mean, grouped
from experiments.calibration.recost import cost_of, ran_operators
from experiments.plan_space import draw, operator_line, ready
from experiments.random_orders import random_order
from experiments.rank_correlation import spearman, weighted_correlation
from experiments.sub_plans import SubPlans
from experiments.timing import run, timed
from experiments.workloads.data import opened
from experiments.workloads.queries import check_queries, resolve_sql
from optimizer.algebra.plan import PlanNode
from optimizer.engines.arrow import COST_MODELS, cost_model
from optimizer.errors import Unsupported
from optimizer.joins.join_order import show_join_order
from optimizer.pipeline import OptimizedQuery
from optimizer.plan_space import PlanSpace
from optimizer.plan_space.of_search import full_space, searched_space
from optimizer.settings import Settings

NAME = "space"
HELP = """The space of plans of a query: counts, costs of random plans, and how well costs order plans by time.

Plans are drawn uniformly from the space, and join orders by QuickPick; plans are run where there are rows. By default all of
TPC-H.
"""
MODES = ("costs", "run")
TIMEOUT = 300.0
KEYS = ("what", "number")
SHARED = {"data": "query", "costs": "query", "run": "query", **dict.fromkeys(("plans", "orders", "runs", "within"), "")}
QUERIES = tuple(f"tpch/q{number:02d}" for number in range(1, 23))
WITHIN = 10.0
SECONDS = 10.0  # for one run
CLOCKS = {"cpu_ms": "CPU time", "ms": "elapsed"}


def items(options: Options) -> list[Item]:
    named = options.queries or (("tpch/q03", "tpch/q05", "tpch/q10") if options.quick else QUERIES)
    sizes = {"plans": 100, "orders": 10, "runs": 4} if options.quick else {"plans": 1000, "orders": 100, "runs": 10}
    found: list[Item] = []
    check_queries(named)
    for query in named:
        own = options.data_for(query, "tpch:0.01" if options.quick else "tpch:0.1")
        may_run = "run" in options.modes and not opened(own).statistics_only
        shared = {"query": query, "data": own, **sizes, "within": WITHIN, "pairs": options.pairs_for(query)}
        found += ({**shared, "costs": "costs" in options.modes, "run": may_run, "seed": seed} for seed in range(options.seeds))
    return found


def measure(item: Item) -> list[Row]:
    session = Session(opened(item["data"]), Settings.from_pairs(item["pairs"], runtime_filters=False))
    sql, random = resolve_sql(item["query"]), Random(f"{item['seed']} {item['query']}")
    query = session.optimize(sql)
    space = full_space(query.engine)
    rows = [counts(query, space)]
    if item["costs"]:
        drawn = space.sample_ranks(item["plans"], random)
        rows += ({"what": "uniform", "number": n, "ratio": over(space.unrank(rank).cost, query)} for n, rank in enumerate(drawn))
        ratios = quickpick(session, sql, query, item["orders"], random)
        rows += ({"what": "quickpick", "number": n, "ratio": ratio} for n, ratio in enumerate(ratios))
    if item["run"]:
        rows += runs(query, space, item["runs"], item["within"], random)
    return rows


def counts(query: OptimizedQuery, space: PlanSpace) -> Row:
    """`ratio`: the cheapest plan of the space over the chosen one, 1 where the search found it."""
    choices, ways = space.size
    trees = space.operator_trees()
    kept = searched_space(query.engine)
    return {
        "what": "count", "number": 0, "all_plans": float(space.count), "trees": None if trees is None else float(trees),
        "choices": choices, "ways": ways, "searched": float(kept.count), "costed": query.search.costed,
        "proven": query.search.proven,
        "ratio": over(space.best_cost, query),
    }  # fmt: skip


def over(cost: float, query: OptimizedQuery) -> float:
    """A cost over that of the chosen plan; where this is 0, 1 for the same and infinite for more."""
    return cost / query.cost if query.cost else math.inf if cost else 1.0


def quickpick(session: Session, sql: str, query: OptimizedQuery, count: int, random: Random) -> list[float]:
    """Costs of the best plans for random join orders over that of the chosen plan; none where there are no joins of tables alone,
    or fewer than three of these."""
    try:
        sub_plans = SubPlans(query)
    except Unsupported:
        return []
    if len(sub_plans.aliases) < 3:
        return []
    found = []
    for _ in range(count):
        order = show_join_order(random_order(sub_plans.graph, sub_plans.aliases, random))
        forced = Session(session.catalog, session.settings.replace(join_order=order))
        found.append(over(forced.optimize(sql).cost, query))
    return found


def runs(query: OptimizedQuery, space: PlanSpace, count: int, within: float, random: Random) -> list[Row]:
    """A row for each plan that was run, the chosen one first; `true_…`: its cost under the rows that were counted."""
    models = {name: cost_model(query.settings.replace(cost_model=name)) for name in COST_MODELS}
    query.give_groups()
    plans: list[PlanNode] = [query.plan]
    plans += (ready(space.unrank(rank), query) for rank in draw(space, count, random, within))
    found: list[Row] = []
    for number, plan in enumerate(plans):
        row = {
            "what": "run",
            "number": number,
            "ratio": over(plan.cost, query),
            "estimated": plan.cost,
            "plan": operator_line(plan),
        }
        counters = new_counters()
        try:
            run(query, plan, SECONDS, counters)
            took = timed(query, plan, SECONDS, runs=5)
        except LimitReached:
            found.append({**row, "ms": None, "cpu_ms": None})
            continue
        operators = ran_operators(query.memo, plan, counters)
        costs = {f"true_{name}": cost_of(operators, model) for name, model in models.items()}
        found.append({**row, **costs, "ms": took.ms, "cpu_ms": took.cpu_ms})
    return found


def report(rows: pa.Table) -> list[Section]:
    found = [row for row in rows.to_pylist() if row["status"] == "ok"]
    what = {name: [row for row in found if row["what"] == name] for name in ("count", "uniform", "quickpick", "run")}
    return [*_spaces(what["count"], [*what["uniform"], *what["quickpick"]]), *_runs(what["run"])]


def _spaces(counted: list[Row], drawn: list[Row]) -> list[Section]:
    lines, problems = [], []
    for row in counted:
        own = [each for each in drawn if each["item"] == row["item"]]
        uniform, picked = ([each["ratio"] for each in own if each["what"] == what] for what in ("uniform", "quickpick"))
        lines.append({
            "query": row["query"], "seed": row["seed"], "plans": row["all_plans"], "operator trees": row["trees"],
            "choices": row["choices"], "ways": row["ways"], "searched": row["searched"], "costed": row["costed"],
            "uniform within 2x": sum(ratio <= 2.0 for ratio in uniform) / len(uniform) if uniform else None,
            "uniform mean": geometric_mean(uniform) if uniform else None,
            "QuickPick mean": geometric_mean(picked) if picked else None,
            "best of 10": min(picked[:10], default=None), "best of all": min(picked, default=None),
        })  # fmt: skip
        least = min((each["ratio"] for each in (row, *own)), default=1.0)
        if row["proven"] and least < 1.0 - 1e-9:
            problems.append(
                f"{row['query']}: a plan of the space costs {least:.9g} of the chosen one, which is said to be the cheapest"
            )
    if not lines:
        return []
    caption = (
        "Plans, and trees of operators that differ, before pruning; choices and ways describe them; searched: plans made of "
        "what the search costed to the end. Costs over the chosen plan's: share of uniform plans within twice, geometric means, "
        "best of the first 10 and of all random join orders."
    )
    names = {"uniform": "uniform plans", "quickpick": "QuickPick"}
    shares = [{"x": row["ratio"], "series": names[row["what"]], "panel": row["query"]} for row in drawn]
    caption_of = "Share of random plans that cost at most so many times as much as the chosen one."
    labels = "cost over the chosen plan's", "share of plans"
    figures = [Figure("costs", caption_of, table_of(shares), "shares", *labels, log_x=True)] if shares else []
    return [Section("Plans and their costs", "", [Table("spaces", caption, table_of(lines))], figures, problems)]


def _runs(rows: list[Row]) -> list[Section]:
    ran = [row for row in rows if row["cpu_ms"] is not None]
    if not ran:
        return []
    columns = {"estimated": "as planned", **{f"true_{name}": f"{name}, true rows" for name in COST_MODELS}}
    models = []
    for column, model in columns.items():
        for clock, name in CLOCKS.items():
            scores = [_scores(own, column, clock) for _, own in grouped(ran, itemgetter("query")).items()]
            models.append({
                "costs": model, "clock": name, "Spearman": _scores(ran, column, clock)[0], "TAQO": _scores(ran, column, clock)[1],
                "Spearman within queries": _mean([s for s, _ in scores]), "TAQO within queries": _mean([w for _, w in scores]),
            })  # fmt: skip
    queries = []
    for query, own in grouped(ran, itemgetter("query")).items():
        chosen = next((row["cpu_ms"] for row in own if row["number"] == 0), None)
        rho, score = _scores(own, "true_arrow", "cpu_ms")
        queries.append({
            "query": query, "plans": len(own), "not ended": sum(row["query"] == query for row in rows) - len(own),
            "chosen ms": chosen, "fastest ms": min(row["cpu_ms"] for row in own), "slowest ms": max(row["cpu_ms"] for row in own),
            "rank of the chosen": None if chosen is None else 1 + sum(row["cpu_ms"] < chosen for row in own),
            "Spearman": rho, "TAQO": score,
        })  # fmt: skip
    text = f"{len(ran)} plans, within {WITHIN:g} times the least cost of their query; {len(rows) - len(ran)} more did not end "
    text += f"within {SECONDS:g} s."
    about_models = "Spearman's ρ and TAQO's weighted correlation of costs and times: over all plans, and the mean over queries."
    about_runs = (
        "CPU milliseconds of plans that were run; rank: 1 is the fastest; correlations are of arrow's costs under true rows."
    )
    points = [{"x": row["true_arrow"] / 1e3, "y": row["cpu_ms"], "series": row["query"]} for row in ran]
    about = "Each plan that was run: CPU time over arrow's cost under true rows."
    figure = Figure("times", about, table_of(points), "points", "cost, ms", "CPU ms", log_x=True, log_y=True)
    tables = [Table("models", about_models, table_of(models)), Table("runs", about_runs, table_of(queries))]
    return [Section("Costs and times", text, tables, [figure])]


def _scores(rows: list[Row], column: str, clock: str) -> tuple[float | None, float | None]:
    costs, times = [row[column] for row in rows], [row[clock] for row in rows]
    return spearman(costs, times), weighted_correlation(costs, times)


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None
