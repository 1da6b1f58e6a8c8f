"""How much a plan loses when row counts are wrong, and what helps: another choice of plan, or filters at run time.

Three parts, as `modes`:

    diagrams   the plan that wins at each point of a grid over the rows of the two largest tables of a query
    errors     the plan chosen from estimates, costed under row counts that are wrong by random factors
    orders     random join orders, forced and run, with run-time filters on and off

Errors of `errors`: each filtered relation and each join of two has a factor between 1/q and q, and a larger join has the
factors of all that it holds, so errors multiply with joins (Ioannidis and Christodoulakis, SIGMOD 1991). The regret of a plan
under row counts is its cost over that of the cheapest plan, at least 1. Scenarios draw factors q^u, u uniform in -1 … 1.

The bounded choice is the plan whose largest regret over the corners of the box of factors is least, of those that are the
cheapest at a corner or by the estimate. Where the cost of every plan is an affine function of each factor, the others held (costs
that are linear in rows, rows that are products of factors), the largest regret over the corners is that over the whole box: for
two plans and one factor f the ratio (a + b·f) / (c + d·f) is monotone, so it is largest at an end; so it is for each factor in
turn, and for the largest of the ratios to all plans. Scenarios within the box check it: a regret above what was promised is
counted. With more than MOST_CORNERS corners some are drawn, and nothing is promised.

Filters at run time carry the keys of finished build sides to the scans of probe sides: predicate transfer in kind, along the
joins of the plan and in one direction (Yang et al., CIDR 2024; Zhao et al., SIGMOD 2025, from whom the random orders are).
Diagrams: Reddy and Haritsa, VLDB 2005; plans within 20 % swallowed greedily: Harish, Darera and Haritsa, VLDB 2007.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from operator import itemgetter
from random import Random

import pyarrow as pa

from executor.arrow.watch import LimitReached
from executor.execution import new_counters
from executor.session import Session
from experiments.bench.experiment import Figure, Item, Options, Row, Section, Table
from experiments.bench.store import table_of
from experiments.bench.summary import geometric_mean, grouped, shares
from experiments.plan_space import visible_keys
from experiments.random_orders import random_left_deep, random_order
from experiments.same_rows import difference
from experiments.sub_plans import JOINS_ALONE, SubPlans
from experiments.timing import run, timed
from experiments.workloads.data import opened
from experiments.workloads.queries import check_queries, resolve_sql
from optimizer.errors import InternalError, Unsupported
from optimizer.explanation.changed import Rows
from optimizer.explanation.diagram import axis, plan_key, plan_line
from optimizer.explanation.recost import Recosting
from optimizer.joins.join_order import JoinOrder, show_join_order
from optimizer.pipeline import OptimizedQuery
from optimizer.search.extract import give_groups
from optimizer.settings import Settings

NAME = "robustness"
HELP = """How much plans lose when row counts are wrong, and what helps.

Plan diagrams; regret of the chosen plan under random errors, and of a choice that bounds it; random join orders with run-time
filters on and off. Queries: inner joins of tables; by default some of TPC-H and of the Join Order Benchmark.
"""
MODES = ("diagrams", "errors", "orders")
TIMEOUT = 300.0
KEYS = ("scenario", "order", "filters", "x", "y")
SHARED = {"data": "query", "points": "", "scenarios": "", "orders": ""}
QUERIES = ("tpch/q03", "tpch/q05", "tpch/q09", "tpch/q10")
JOB = ("job/2a", "job/3b", "job/6a", "job/17e")
FACTORS = (2.0, 10.0, 100.0)
SECONDS = 5.0  # for one run
SWALLOW = 1.2
MOST_CORNERS = 1024
TOLERANCE = 1e-6
DRAWS = 5  # of join orders, for each seed


def items(options: Options) -> list[Item]:
    named = options.queries or (QUERIES[:2] if options.quick else (*QUERIES, *JOB))
    found: list[Item] = []
    check_queries(named)
    for query in named:
        own = options.data_for(query, "tpch:0.01" if options.quick else "tpch:0.1")
        shared = {"query": query, "data": own, "pairs": options.pairs_for(query)}
        if "diagrams" in options.modes:
            found.append({"part": "diagrams", **shared, "points": 8 if options.quick else 16})
        if "errors" in options.modes:
            for q in FACTORS:
                scenarios = 10 if options.quick else 40
                found += ({"part": "errors", **shared, "q": q, "scenarios": scenarios, "seed": s} for s in range(options.seeds))
        if "orders" in options.modes and not opened(own).statistics_only:
            draws = range(options.seeds * (1 if options.quick else DRAWS))  # small items: a few bad orders take minutes
            found += ({"part": "orders", **shared, "orders": 5, "seed": draw} for draw in draws)
    return found


def measure(item: Item) -> list[Row]:
    settings = Settings.from_pairs(item["pairs"], JOINS_ALONE)
    session = Session(opened(item["data"]), settings)
    sql = resolve_sql(item["query"])
    if item["part"] == "orders":
        return orders(session, sql, item["orders"], Random(item["seed"]))
    query = Session(session.catalog, settings.replace(driver="top_down", exploration="all")).optimize(sql)
    query.give_groups()
    if item["part"] == "diagrams":
        return diagram_rows(query, item["points"])
    return errors(query, item["q"], item["scenarios"], Random(item["seed"]))


class Choices:
    """Plans of one query that are the cheapest under some row counts, each once; the first is that of the estimate."""

    def __init__(self, query: OptimizedQuery) -> None:
        self.memo, self.plans, self._numbers = Recosting(query.engine), [query.plan], {plan_key(query.plan): 0}
        self._proven = True

    def add(self, rows: Rows) -> tuple[int, float]:
        """Number and cost of the cheapest plan under these row counts."""
        found = self.memo.under(rows)
        self._proven = self._proven and found.proven
        number = self._numbers.setdefault(plan_key(found.plan), len(self.plans))
        if number == len(self.plans):
            assert found.search.root is not None
            give_groups(found.search, found.search.root, found.plan)
            self.plans.append(found.plan)
        return number, found.cost

    def regrets(self, rows: Rows, least: float) -> list[float]:
        """Of each plan under these row counts, where the cheapest costs `least`."""
        costs = self.memo.costs_of(self.plans, rows)
        if self._proven and min(costs) < least * (1.0 - 1e-6):
            raise InternalError(f"a plan costs {min(costs)!r} under row counts whose cheapest plan is said to cost {least!r}")
        return [max(1.0, cost / least) if least > 0.0 else 1.0 for cost in costs]


def uncertain(sub_plans: SubPlans, stored: Mapping[str, float]) -> list[frozenset[str]]:
    """What has a factor of its own: relations of fewer rows than are stored, and joins of two."""
    aliases = sub_plans.aliases
    found = [frozenset((alias,)) for alias in aliases if sub_plans.rows((alias,)) < stored[alias]]
    return found + [frozenset((aliases[u], aliases[v])) for u, v in sub_plans.graph.edges()]


def scenario(sub_plans: SubPlans, factors: Mapping[frozenset[str], float]) -> dict[frozenset[str], float]:
    """Row counts with these factors. A relation has one row at least."""
    found = {}
    for s in factors:
        alone = {one: max(1.0, sub_plans.rows(one) * factors.get(one, 1.0)) for one in (frozenset((alias,)) for alias in s)}
        grown = math.prod(rows / (sub_plans.rows(one) or 1.0) for one, rows in alone.items())
        found[s] = alone[s] if len(s) == 1 else sub_plans.rows(s) * grown * factors[s]
    return found


def errors(query: OptimizedQuery, q: float, count: int, random: Random) -> list[Row]:
    """A row for each scenario: regrets, and what the corners promise of them (None: nothing)."""
    sub_plans, choices = SubPlans(query), Choices(query)
    sets = uncertain(sub_plans, choices.memo.relations)
    ends, whole = (1.0 / q, q), 2 ** len(sets) <= MOST_CORNERS
    drawn = ([random.choice(ends) for _ in sets] for _ in range(MOST_CORNERS))
    chosen = product(ends, repeat=len(sets)) if whole else drawn
    corners = [scenario(sub_plans, dict(zip(sets, factors, strict=True))) for factors in chosen]
    known = [(rows, choices.add(rows)[1]) for rows in corners]
    regrets = [choices.regrets(rows, least) for rows, least in known]
    bounded, candidates = least_regret(regrets), len(choices.plans)
    promised = [max(row[plan] for row in regrets) if whole else None for plan in (0, bounded)]
    price = choices.regrets({}, choices.memo.under().cost)[bounded]
    about = {
        "factors": len(sets), "corners": len(corners), "plans": candidates, "bounded_plan": plan_line(choices.plans[bounded]),
        "bounded_price": price, "promised": promised[0], "bounded_promised": promised[1],
    }  # fmt: skip
    found = []
    for number in range(count):
        rows = scenario(sub_plans, {s: q ** random.uniform(-1.0, 1.0) for s in sets})
        judged = choices.regrets(rows, choices.add(rows)[1])
        found.append({"scenario": number, "regret": judged[0], "bounded_regret": judged[bounded], **about})
    return found


def least_regret(regrets: Sequence[Sequence[float]]) -> int:
    """The number of the plan whose largest regret is least, of those whose regrets under each scenario are given."""
    return min(range(len(regrets[0])), key=lambda plan: (max(row[plan] for row in regrets), plan))


def diagram_rows(query: OptimizedQuery, points: int) -> list[Row]:
    """A row for each cell. `plan`: the one that wins, by number; `reduced`: the one that stands for it when plans that cost up to
    20 % more may win; `regret`: of the plan chosen from estimates."""
    sub_plans, choices = SubPlans(query), Choices(query)
    if len(sub_plans.aliases) < 2:
        raise Unsupported("a plan diagram has the rows of two relations at its axes, and the query has one relation")
    largest = sorted(sub_plans.aliases, key=lambda alias: -choices.memo.relations[alias])[:2]
    axes = [axis(choices.memo, frozenset((alias,)), None, None, points) for alias in largest]
    cells = [(x, y) for y in axes[1].values for x in axes[0].values]
    places = [{axes[0].aliases: x, axes[1].aliases: y} for x, y in cells]
    winners = [choices.add(rows) for rows in places]
    regrets = [choices.regrets(rows, cost) for rows, (_, cost) in zip(places, winners, strict=True)]
    kept = swallowed(regrets, SWALLOW)
    bounded = least_regret(regrets)
    return [
        {
            "x": x, "y": y, "x_of": largest[0], "y_of": largest[1], "plan": number, "line": plan_line(choices.plans[number]),
            "reduced": kept[cell], "regret": regrets[cell][0], "bounded_regret": regrets[cell][bounded], "least_cost": cost,
        }
        for cell, ((x, y), (number, cost)) in enumerate(zip(cells, winners, strict=True))
    ]  # fmt: skip


def swallowed(regrets: Sequence[Sequence[float]], most: float) -> list[int]:
    """For each cell a plan of at most that regret, of few plans: again and again the one that covers most of the cells left."""
    left, found = set(range(len(regrets))), [-1] * len(regrets)
    while left:
        plan = max(range(len(regrets[0])), key=lambda each: (sum(regrets[cell][each] <= most for cell in left), -each))
        for cell in [cell for cell in left if regrets[cell][plan] <= most]:
            found[cell] = plan
            left.remove(cell)
    return found


def orders(session: Session, sql: str, count: int, random: Random) -> list[Row]:
    """The chosen plan, and `count` random orders of any shape and `count` left-deep ones, each with and without
    run-time filters."""
    chosen = session.optimize(sql)
    sub_plans = SubPlans(chosen)
    drawn: dict[str, str] = {"": "chosen"}
    for shape, draw in (("bushy", random_order), ("left-deep", random_left_deep)):
        for _ in range(count):
            order: JoinOrder = draw(sub_plans.graph, sub_plans.aliases, random)
            drawn.setdefault(show_join_order(order), shape)
    expected = run(chosen)
    found: list[Row] = []
    for order_text, shape in drawn.items():
        for filters in (True, False):
            settings = session.settings.replace(join_order=order_text, runtime_filters=filters)
            query = Session(session.catalog, settings).optimize(sql)
            row = {"order": order_text, "shape": shape, "filters": filters, "cost": query.cost}
            counters = new_counters()
            try:
                table = run(query, seconds=SECONDS, counters=counters)
                if differs := difference(expected, table, visible_keys(query)):
                    raise InternalError(f"{sql}: join_order={order_text}, runtime_filters={filters} gives {differs}")
                took = timed(query, seconds=SECONDS, runs=1)
            except LimitReached:
                found.append({**row, "joined_rows": None, "ms": None, "cpu_ms": None})
                continue
            joined = sum(counters[node.id].rows for node in query.plan.walk() if len(node.inputs) == 2)
            found.append({**row, "joined_rows": joined, "ms": took.ms, "cpu_ms": took.cpu_ms})
    return found


def report(rows: pa.Table) -> list[Section]:
    found = [row for row in rows.to_pylist() if row["status"] == "ok"]
    parts = {part: [row for row in found if row["part"] == part] for part in MODES}
    makers = {"diagrams": _diagrams_section, "errors": _errors_section, "orders": _orders_section}
    return [makers[part](own) for part, own in parts.items() if own]


def _diagrams_section(rows: list[Row]) -> Section:
    lines = []
    for query, own in grouped(rows, itemgetter("query")).items():
        lines.append({
            "query": query, "rows of": f"{own[0]['x_of']}, {own[0]['y_of']}", "cells": len(own),
            "plans": len({row["plan"] for row in own}), "plans within 20 %": len({row["reduced"] for row in own}),
            "largest regret": max(row["regret"] for row in own),
            "of the bounded choice": max(row["bounded_regret"] for row in own),
        })  # fmt: skip
    caption = (
        "Plans of the diagram; those left when a plan may stand for others that are up to 20 % cheaper; the largest regret over "
        "all cells of the plan chosen from estimates, and of the plan for which it is least."
    )
    figures = []
    for number, (query, own) in enumerate(grouped(rows, itemgetter("query")).items(), 1):
        points = [
            {"x": row["x"], "y": row["y"], "series": f"plan {row['plan'] + 1}"}
            for row in sorted(own, key=lambda row: row["plan"])
        ]
        about = f"{query}: which plan wins, by number; plan 1 is that of the estimate."
        labels = f"rows of {own[0]['x_of']}", f"rows of {own[0]['y_of']}"
        figures.append(Figure(f"diagram_{number}", about, table_of(points), "points", *labels, log_x=True, log_y=True))
    return Section("Plan diagrams", "", [Table("diagrams", caption, table_of(lines))], figures)


def _errors_section(rows: list[Row]) -> Section:
    lines = []
    for (query, q), own in grouped(rows, itemgetter("query", "q")).items():
        chosen, bounded = [row["regret"] for row in own], [row["bounded_regret"] for row in own]
        lines.append({
            "query": query, "q": q, "scenarios": len(own), "mean regret": geometric_mean(chosen), "largest": max(chosen),
            "at the corners": own[0]["promised"], "mean, bounded": geometric_mean(bounded), "largest, bounded": max(bounded),
            "bounded, at the corners": own[0]["bounded_promised"], "price": own[0]["bounded_price"],
        })  # fmt: skip
    caption = (
        "Regret (cost over that of the cheapest plan; geometric mean and largest over scenarios) of the plan chosen from "
        "estimates, and of the bounded choice. `at the corners`: the largest over all corners of the box, which bounds that of "
        "any row counts within it; nothing where there are too many corners. `price`: cost of the bounded choice over the "
        "other's where estimates are right."
    )
    points = [
        {"x": row[column], "series": name, "panel": f"errors up to {q:g}"}
        for q, own in grouped(rows, itemgetter("q")).items()
        for row in own
        for name, column in (("chosen from estimates", "regret"), ("bounded choice", "bounded_regret"))
    ]
    figure = Figure(
        "regret", "Share of scenarios with at most that regret.", table_of(points), "shares", "regret", "share", log_x=True
    )
    text = f"Largest regret over all scenarios: {max(r['regret'] for r in rows):.3g} of the plans chosen from estimates, "
    text += f"{max(r['bounded_regret'] for r in rows):.3g} of the bounded choice."
    checked = [(row["bounded_regret"], row["bounded_promised"]) for row in rows if row["bounded_promised"] is not None]
    broken = sum(regret > most * (1 + TOLERANCE) for regret, most in checked)
    text += f" Of {len(checked):,} scenarios with a promise {broken or 'none'} exceeded it."
    return Section("Regret under wrong row counts", text, [Table("errors", caption, table_of(lines))], [figure])


def _orders_section(rows: list[Row]) -> Section:
    lines, points = [], []
    for query, mine in grouped(rows, itemgetter("query")).items():
        quickest = min((row["cpu_ms"] for row in mine if row["cpu_ms"] is not None), default=1.0)
        for filters, own in grouped(mine, itemgetter("filters")).items():
            times = {
                order: min((row["cpu_ms"] for row in same if row["cpu_ms"] is not None), default=None)
                for order, same in grouped(own, itemgetter("order")).items()
            }
            joined = {row["order"]: row["joined_rows"] for row in own if row["cpu_ms"] is not None}
            drawn = [time for order, time in times.items() if order]  # without the chosen plan
            ended = [time for time in times.values() if time is not None]
            fastest, slowest = min(ended, default=None), max(ended, default=None)
            fewest, most = min(joined.values(), default=None), max(joined.values(), default=None)
            lines.append({
                "query": query, "run-time filters": "on" if filters else "off", "orders": len(drawn),
                "not ended": drawn.count(None),
                "chosen ms": times[""], "fastest ms": fastest, "slowest ms": slowest,
                "slowest / fastest": slowest / fastest if fastest else None,
                "rows joined, chosen": joined.get(""), "fewest": fewest, "most": most,
                "most / fewest": None if fewest is None else most / max(1, fewest),
            })  # fmt: skip
            series = {"series": f"filters {'on' if filters else 'off'}", "panel": query}
            points += [{"x": time / quickest, "y": share, **series} for time, share in shares(drawn)]
    caption = (
        "Random join orders of any shape and left-deep ones, forced: CPU milliseconds and rows that left joins, the chosen one's "
        f"too. Orders that did not end within {SECONDS:g} s are counted and left out of the ratios, which are then too small."
    )
    each = [
        {"x": row["query"], "y": row["cpu_ms"], "series": f"filters {'on' if row['filters'] else 'off'}"}
        for row in rows
        if row["cpu_ms"]
    ]
    figures = [
        Figure("orders_time", "A point for each join order and setting.", table_of(each), "points", "", "CPU ms", log_y=True),
        Figure(
            "orders_shares",
            "Share of random join orders that end and take at most so many times as long as the fastest of all.",
            table_of(points), "shares", "CPU time over the fastest", "share of orders", log_x=True,
        ),
    ]  # fmt: skip
    return Section(
        "Random join orders, with and without run-time filters", "", [Table("orders", caption, table_of(lines))], figures
    )
