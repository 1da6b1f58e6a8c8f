"""Plans one item, runs it if that is wanted, and tells everything about it as one row of results."""

from __future__ import annotations

import math
from collections import Counter
from statistics import median
from time import perf_counter
from typing import Any

from executor.execution import actuals, new_counters, reader
from executor.session import Session
from experiments.pipeline.sweep.plan import Item, SweepPlan
from experiments.pipeline.sweep.plan_shape import plan_shape
from memo_viz.q_error import q_error
from optimizer.catalog.table import Catalog
from optimizer.pipeline import OptimizedQuery
from optimizer.settings import Settings
from optimizer.stats.injected import for_query

_STAGES = {
    "parse": ("parse",), "bind": ("bind",), "decorrelate": ("ctes", "subqueries", "filters", "decorrelate"),
    "prepass": ("prepass", "semi_joins", "common_parts"), "search": ("search",),
}  # fmt: skip
_AS_THEY_ARE = (
    "groups", "mexprs_logical", "mexprs_physical", "duplicates", "merges", "tasks", "goals", "goals_opened", "costed",
    "joins_enumerated", "proven", "lower_bound", "gap", "heuristic", "prepass_converged",
)  # fmt: skip


def measure(item: Item, plan: SweepPlan, catalog: Catalog) -> dict[str, Any]:
    """Columns of the plan, the search, the times and the execution. Raises PlanscopeError for what cannot be planned or run.

    The query is planned `plan.repeats` times and the last plan run as often, alone in the process; times are milliseconds.
    """
    session = Session(catalog, settings_of(item))
    spent, stages = [], []
    for _ in range(plan.repeats):
        start = perf_counter()
        query = session.optimize(item.query.sql)
        spent.append((perf_counter() - start) * 1e3)
        stages.append(query.ms)
    row = {**_plan_columns(query), **_search_columns(query), "plan_ms": median(spent), "plan_ms_runs": spent}
    row.update((f"ms_{name}", median(sum(ms[part] for part in parts) for ms in stages)) for name, parts in _STAGES.items())
    if plan.execute:
        row.update(_execution_columns(query, plan.repeats, plan.analyze))
    return row


def settings_of(item: Item) -> Settings:
    """The settings of an item; of a file of injected cardinalities those of its query."""
    return for_query(Settings.from_mapping(item.settings), item.query.name)


def _plan_columns(query: OptimizedQuery) -> dict[str, Any]:
    shape = plan_shape(query.plan)
    return {
        "cost": query.cost,
        "rows": query.rows,
        "relations": shape.relations,
        "joins": shape.joins,
        "join_order": shape.order,
        "shape": shape.shape,
        "depth": shape.depth,
        "operators": dict(sorted(Counter(node.op.name for node in query.plan.walk()).items())),
    }


def _search_columns(query: OptimizedQuery) -> dict[str, Any]:
    figures = query.search.as_dict()
    return {
        **{name: figures[name] for name in _AS_THEY_ARE},
        "rules_fired": figures["rules_fired"],
        "firings": sum(figures["rules_fired"].values()),
        "pruned": figures["pruned"],
        "pruned_total": sum(figures["pruned"].values()) - figures["pruned"]["dominated"],
    }


def _execution_columns(query: OptimizedQuery, repeats: int, analyze: bool) -> dict[str, Any]:
    spent, rows = [], 0
    for _ in range(repeats):
        start = perf_counter()
        rows = sum(batch.num_rows for batch in reader(query))
        spent.append((perf_counter() - start) * 1e3)
    row = {"elapsed_ms": median(spent), "elapsed_ms_runs": spent, "rows_returned": rows, "q_error": _q_error(query.rows, rows)}
    if analyze:
        counters = new_counters()
        for _ in reader(query, counters):
            pass
        found = {id: actual for id, actual in actuals(query.plan, counters).items() if not actual.fewer}
        errors = [_q_error(node.rows, found[node.id].rows) for node in query.plan.walk() if node.id in found]
        row |= {"q_error_median": median(errors), "q_error_max": max(errors)}
    return row


def _q_error(estimate: float, actual: int) -> float:
    return q_error(estimate, actual) if math.isfinite(estimate) else math.inf
