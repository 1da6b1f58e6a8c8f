"""A sweep as an experiment (experiments/bench): an item is planned, run if that is wanted, and told about in one row.

An item is a dict: `item` (its id), `number`, `query`, `sql`, `data`, `digest` (of the data), `variant`, `seed`, `settings`,
`execute`, `analyze`, `repeats`.
"""

import socket
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache
from statistics import median
from time import perf_counter
from typing import Any

import pyarrow as pa

from executor.execution import actuals, new_counters, reader
from executor.session import Session
from experiments.bench.child import untimed
from experiments.bench.code_version import code_digest
from experiments.bench.experiment import Item, Row
from experiments.pipeline.spark.manifest import versions
from experiments.pipeline.sweep.columns import SCHEMA as SCHEMA
from experiments.pipeline.sweep.columns import setting_columns
from experiments.pipeline.sweep.plan_shape import plan_shape
from experiments.workloads.data import opened
from memo_viz.q_error import q_error
from optimizer import errors
from optimizer.pipeline import OptimizedQuery
from optimizer.settings import Settings
from optimizer.stats.injected import for_query

NAME = __name__
_KINDS = {
    "OtherData": "data", "Unsupported": "unsupported", "SqlError": "sql", "CatalogError": "catalog", "SettingsError": "settings",
    "NoPlan": "no_plan", "ExecutionError": "execution", "OperatorError": "execution",
}  # fmt: skip
_STAGES = {
    "parse": ("parse",), "bind": ("bind",), "decorrelate": ("ctes", "subqueries", "filters", "decorrelate"),
    "prepass": ("prepass", "semi_joins", "common_parts"), "search": ("search",),
}  # fmt: skip


class OtherData(errors.PlanscopeError):
    """The dataset is not the one that was planned for."""


def measure(item: Item) -> list[Row]:
    """Columns of the plan, the search, the times and the execution. Raises PlanscopeError for what cannot be planned or run.
    The query is planned `repeats` times and the last plan run as often, alone in the process; times are milliseconds."""
    with untimed():
        _warm_up()
        catalog = opened(item["data"])
    if catalog.digest != item["digest"]:
        raise OtherData(
            f"{item['data']} on {socket.gethostname()} is not what the sweep was planned for: its files or statistics changed "
            "since, or differ from those of the machine that started the sweep"
        )
    session = Session(catalog, settings_of(item))
    spent, stages = [], []
    for _ in range(item["repeats"]):
        start = perf_counter()
        query = session.optimize(item["sql"])
        spent.append((perf_counter() - start) * 1e3)
        stages.append(query.ms)
    operators = Counter(node.op.name for node in query.plan.walk())
    row: Row = {"cost": query.cost, "rows": query.rows, "operators": dict(sorted(operators.items()))}
    row |= plan_shape(query.plan)._asdict() | _search_columns(query) | {"plan_ms": median(spent), "plan_ms_runs": spent}
    row.update((f"ms_{name}", median(sum(ms[part] for part in parts) for ms in stages)) for name, parts in _STAGES.items())
    if item["execute"]:
        row.update(_execution_columns(query, item["repeats"], item["analyze"]))
    return [row]


@cache
def _warm_up() -> None:
    """The first query of a process takes ten times as long as the same one later: it imports what plans and runs it."""
    rows = pa.table({"k": [1, 2, 3], "v": ["a", "b", None]})
    sql = "select a.v, count(*) n from t a join t b on a.k = b.k where b.v like 'a%' or a.k > 1 group by a.v order by n"
    for _ in reader(Session({"t": rows}).optimize(sql)):
        pass


def settings_of(item: Item) -> Settings:
    """The settings of an item; of a file of injected cardinalities those of its query."""
    return for_query(Settings.from_mapping(item["settings"]), item["query"])


def row(item: Item, measured: Row) -> Row:
    """A row of results: which item it is, what was measured of it, where and with what."""
    status, kind, error = measured["status"], None, measured.get("error")
    if status == "error":
        names = [cls.__name__ for cls in getattr(errors, measured["error_kind"], object).__mro__]
        kind = next((_KINDS[name] for name in (measured["error_kind"], *names) if name in _KINDS), "internal")
        known = kind != "internal" or "PlanscopeError" in names
        error = error if known else f"{measured['error_kind']}: {error}"
    elif status != "ok":
        kind = "crash" if status == "died" else status
    rss_mb = measured.get("rss_mb")
    return {
        **{name: item[name] for name in ("item", "number", "query", "data", "variant", "seed")},
        "workload": item["query"].partition("/")[0], "data_digest": item["digest"],
        **setting_columns(Settings.from_mapping(item["settings"]).as_dict()), **measured,
        "status": "error" if kind else "ok", "error_kind": kind, "error": error,
        "rss_mb": None if rss_mb is None else round(rss_mb),
        "started": datetime.now(UTC) - timedelta(seconds=measured["item_s"] or 0.0),
        **_provenance(),
    }  # fmt: skip


@cache
def _provenance() -> Row:
    return {"host": socket.gethostname(), "code": code_digest(), **versions("pyarrow")}


def _search_columns(query: OptimizedQuery) -> dict[str, Any]:
    figures = query.search.as_dict()
    return {
        **{name: figures[name] for name in SCHEMA.names if name in figures},
        "firings": sum(figures["rules_fired"].values()),
        "pruned_total": sum(figures["pruned"].values()) - figures["pruned"]["dominated"],
    }


def _execution_columns(query: OptimizedQuery, repeats: int, analyze: bool) -> dict[str, Any]:
    spent, rows = [], 0
    for _ in range(repeats):
        start = perf_counter()
        rows = sum(batch.num_rows for batch in reader(query))
        spent.append((perf_counter() - start) * 1e3)
    row = {"elapsed_ms": median(spent), "elapsed_ms_runs": spent, "rows_returned": rows, "q_error": q_error(query.rows, rows)}
    if analyze:
        counters = new_counters()
        for _ in reader(query, counters):
            pass
        found = {id: actual for id, actual in actuals(counters).items() if not actual.fewer}
        errors = [q_error(node.rows, found[node.id].rows) for node in query.plan.walk() if node.id in found]
        row |= {"q_error_median": median(errors), "q_error_max": max(errors)}
    return row
