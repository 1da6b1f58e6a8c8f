"""Methods of decorrelation on two tables: where each wins, and what the cost-based choice loses to the quickest.

Outer table `o` and inner table `i` share a key of outer rows / duplicates values. A correlated subquery over `i` is
planned by each method and run. With `index` the inner table is stored by the key, so that an evaluation for one outer
row reads a few rows of it.

The regret of a method is its CPU time over that of the quickest method of the same item that ended. A method that did not end
within the limit counts with the limit, or with the quickest's time where that is more (the limit is of time on the clock, which
CPU time may pass on several cores): a lower bound. Where none ended there is no regret. All methods must give the same rows.
"""

import itertools
import math
import tempfile
from contextlib import suppress
from functools import partial
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow as pa

from executor.arrow.watch import LimitReached
from executor.session import Session
from experiments.bench.experiment import Figure, Item, Options, Row, Section, Table
from experiments.bench.store import table_of
from experiments.bench.summary import geometric_mean, grouped, shares
from experiments.calibration.data import described, write_rows
from experiments.plan_space import operator_line
from experiments.same_rows import difference
from experiments.timing import least, timed
from experiments.workloads.data import opened
from experiments.workloads.queries import check_queries, query_name, resolve_sql
from optimizer.catalog.table import Catalog
from optimizer.decorrelate.methods import METHODS
from optimizer.errors import InternalError, PlanscopeError
from optimizer.explanation.diagram import plan_key
from optimizer.settings import Settings

FORMS = {
    "exists": "select count(*) n from o where exists (select * from i where i.k = o.k and i.v > o.v)",
    "not-in": "select count(*) n from o where o.v not in (select i.v from i where i.k = o.k)",
    "average": "select count(*) n from o where o.v < (select avg(i.v) from i where i.k = o.k)",
    "selective": "select count(*) n from o where o.v < 5 and o.v < (select avg(i.v) from i where i.k = o.k)",
    "first": "select sum((select i.v from i where i.k = o.k and i.v <> o.v order by i.v limit 1)) n from o",
    "inequality": "select sum((select count(*) from i where i.k < o.k)) n from o",
}
"""`v` is one of 1,000 values in both tables."""

SIZES = {"outer": (100, 10_000, 100_000), "inner": (1_000, 100_000, 1_000_000), "duplicates": (1, 100), "index": (False, True)}
QUICK = {"outer": (100, 5_000), "inner": (1_000, 50_000), "duplicates": (1, 100), "index": (False, True)}
SECONDS, QUICK_SECONDS = 5.0, 1.0  # for one run

NAME = "decorrelation"
HELP = """Methods of decorrelation: where each wins, and the regret of the cost-based choice.

Correlated subqueries over two tables, by rows of the outer and of the inner one, outer rows for each key, and whether the inner
table is stored by the key. Name forms: exists, not-in, average, selective, first, inequality (the default: all of them), or
queries: tpch/q02.
"""
OWN_SETTINGS = {"decorrelate": "every item is measured under every method"}
TIMEOUT = 300.0
KEYS = ("method",)
SHARED = {"data": "form", "seconds": ""}


def items(options: Options) -> list[Item]:
    if unknown := [form for form in options.queries if form not in FORMS and not query_name(form)]:
        raise PlanscopeError(f'there is no form "{unknown[0]}" of subquery; forms: {", ".join(FORMS)}; or name a query: tpch/q02')
    check_queries(form for form in options.queries if form not in FORMS)
    sizes = QUICK if options.quick else SIZES
    seconds = QUICK_SECONDS if options.quick else SECONDS
    found: list[Item] = []
    for form in options.queries or FORMS:
        shared = {"seconds": seconds, "pairs": options.pairs_for(form)}
        if form in FORMS:
            found += (
                {"form": form, **dict(zip(sizes, point, strict=True)), **shared} for point in itertools.product(*sizes.values())
            )
        else:
            found.append({"form": form, "data": options.data_for(form, "tpch:0.01"), **shared})
    return found


def tables(folder: Path, outer: int, inner: int, duplicates: int, index: bool) -> Catalog:
    """`o` and `i`, the same for the same sizes."""
    random = np.random.default_rng([outer, inner, duplicates])
    keys = max(1, outer // duplicates)
    made = []
    for name, rows, order in (("o", outer, ()), ("i", inner, ("k",) if index else ())):
        k = np.arange(rows) % keys if name == "o" else random.integers(0, keys, rows)
        k = np.sort(k) if order else random.permutation(k)
        rows_of = pa.table({"k": pa.array(k), "v": pa.array(random.integers(0, 1000, rows))})
        made.append(described(name, rows_of, write_rows(rows_of, folder / f"{name}.parquet"), order))
    return Catalog("decorrelation", made)


def measure(item: Item) -> list[Row]:
    """A row for each method: planning time and whether the search was exhaustive, cost of its plan, times (None: not within the
    limit), operators, regret."""
    rows: list[Row] = []
    settings, sql = Settings.from_pairs(item["pairs"]), FORMS.get(item["form"]) or resolve_sql(item["form"])
    with tempfile.TemporaryDirectory() as folder:
        catalog = opened(item["data"]) if "data" in item else tables(Path(folder), *(item[name] for name in SIZES))
        expected: pa.Table | None = None
        took: dict[tuple[str, ...], Row] = {}
        for method in METHODS:
            optimizer = Session(catalog, settings.replace(decorrelate=method)).optimizer
            query, times = least(partial(optimizer.optimize, sql))
            row = {"method": method, "plan_ms": times.cpu_ms, "proven": query.search.proven, "cost": query.cost}
            row["plan"] = operator_line(query.plan)
            same = plan_key(query.plan)
            if same not in took:  # a plan that several methods make is run once
                took[same] = {"ms": None, "cpu_ms": None}
                with suppress(LimitReached):
                    found = timed(query, seconds=item["seconds"], warm=True)
                    if expected is not None and (differs := difference(expected, found.table)):
                        raise InternalError(f"{item}: decorrelate={method} gives {differs}")
                    expected = found.table
                    took[same] = {"ms": found.ms, "cpu_ms": found.cpu_ms}
            rows.append({**row, **took[same]})
    return with_regret(rows, item["seconds"] * 1e3)


def with_regret(rows: list[Row], limit_ms: float) -> list[Row]:
    """Rows of one item, each with its CPU time over the least of those that ended (None: none did)."""
    least = min((row["cpu_ms"] for row in rows if row["cpu_ms"] is not None), default=None)
    if least is None:
        return [{**row, "regret": None} for row in rows]
    return [{**row, "regret": (max(limit_ms, least) if row["cpu_ms"] is None else row["cpu_ms"]) / least} for row in rows]


def report(rows: pa.Table) -> list[Section]:
    found = [row for row in rows.to_pylist() if row["status"] == "ok"]
    if not found:
        return []
    by_form = [_line(own) for own in grouped(found, itemgetter("form", "method")).values()]
    summary = [{**_line(own), "form": "all"} for own in grouped(found, itemgetter("method")).values()]
    where, differ = [], []
    for _, own in grouped(found, itemgetter("item")).items():
        times = {row["method"]: row["cpu_ms"] for row in own}
        point = {name: own[0].get(name) for name in ("form", "outer", "inner", "duplicates", "index")}
        quickest = min((row for row in own if row["cpu_ms"] is not None), key=itemgetter("cpu_ms"), default={"method": None})
        where.append({**point, "quickest": quickest["method"], **times})
        costs = {row["method"]: row["cost"] for row in own}
        if costs["cost"] < 0.99 * costs["general"]:
            regret = {row["method"]: row["regret"] for row in own}
            differ.append((regret["cost"], regret["general"]))
    text = f"The cost-based choice is cheaper than `general` by more than 1 % in {len(differ)} of {len(where)} items."
    if differ:
        means = [geometric_mean(regrets) or math.nan for regrets in zip(*differ, strict=True)]
        text += f" There its mean regret is {means[0]:.3g}, and that of `general` {means[1]:.3g}."
    points = [
        {"x": regret, "y": share, "series": method, "panel": form}
        for (form, method), own in grouped(found, itemgetter("form", "method")).items()
        for regret, share in shares([None if row["cpu_ms"] is None else row["regret"] for row in own])
    ]
    about = (
        "Regret: CPU time over that of the quickest method of the item; what did not end counts with the limit of "
        f"{found[0]['seconds']:g} s, or the quickest's time if that is more, and items in which no method ended do not count. "
        "Planning: CPU time, geometric mean; proven: of so many items the plan is the cheapest of its space."
    )
    about_where = "CPU milliseconds of each method, and the quickest; none: it did not end."
    tables = [
        Table("all_forms", about, table_of(summary)),
        Table("methods", about, table_of(by_form)),
        Table("where", about_where, table_of(where)),
    ]
    about = "Share of items in which a method ends and takes at most so many times as long as the quickest."
    labels = "CPU time over the quickest", "share of items"
    figure = Figure("regret", about, table_of(points), "shares", *labels, log_x=True)
    return [Section("Methods of decorrelation", text, tables, [figure])]


def _line(own: list[Row]) -> Row:
    """A method over several items."""
    regrets = [row["regret"] for row in own if row["regret"] is not None]
    return {
        "form": own[0]["form"], "method": own[0]["method"], "items": len(own),
        "quickest within 20 %": sum(row["cpu_ms"] is not None and row["regret"] <= 1.2 for row in own),
        "mean regret": geometric_mean(regrets),
        "largest": max(regrets, default=None), "not ended": sum(row["cpu_ms"] is None for row in own),
        "planning ms": geometric_mean(row.get("plan_ms") for row in own), "proven": sum(row.get("proven") or 0 for row in own),
    }  # fmt: skip
