"""Running the search on a graph query, recomputing what its plan costs, and plans that have to cost the same."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from experiments.workloads.queries import resolve_sql
from optimizer.algebra import ColumnSet, PlanNode
from optimizer.catalog.table import Catalog
from optimizer.drivers import new_search as search_over
from optimizer.engines.arrow import cost_model
from optimizer.figures import Figures
from optimizer.memo.goal import Goal
from optimizer.memo.memo import Memo
from optimizer.rules.catalog import rule_set
from optimizer.rules.interface import RuleContext
from optimizer.search.search import Search
from optimizer.stats.relation import RelationStats
from planscope import CostModel, Estimator, OptimizedQuery, Optimizer, Settings, Trace
from tests.search.graphs import GraphQuery

FEW = 5  # relations up to which joins are searched set by set, unless a test asks for the table


def new_search(query: GraphQuery, settings: Settings, trace: Trace | None = None, cost: CostModel | None = None) -> Search:
    if settings.region == "auto" and query.tree.relations.bit_count() <= FEW:
        settings = replace(settings, region="tasks")
    cost = cost or cost_model(settings)
    figures = Figures(Estimator(query.catalog, query.columns), cost)
    memo = Memo(figures, trace, query.columns.label)
    return search_over(memo, rule_set(settings), RuleContext(query.columns, settings), cost, trace)


def plan(query: GraphQuery, trace: Trace | None = None, cost: CostModel | None = None, **settings: object) -> tuple[Search, Goal]:
    search = new_search(query, Settings(**settings), trace, cost)
    return search, search.run(query.tree, query.order)


def traced(query: GraphQuery, cost: CostModel | None = None, **settings: object) -> tuple[Search, Trace]:
    trace = Trace()
    trace.header("a join graph", settings, "digest")
    return plan(query, trace, cost, **settings)[0], trace


def trace_of(query: str, catalog: Catalog, **settings: object) -> Trace:
    """The trace of a query, by its name or its text, whose joins are searched set by set."""
    trace = Trace()
    Optimizer(catalog, Settings.from_mapping({"region": "tasks", **settings})).optimize(resolve_sql(query), trace)
    return trace


def planned_alike(
    tables: Catalog, texts: Iterable[str], ways: Iterable[dict[str, Any]], proves: int | None = None, **common: Any
) -> list[OptimizedQuery]:
    """Every text planned in every way, settings that are added to `common`: all plans cost the same, and the first `proves`,
    or all, are called proven."""
    found = [Optimizer(tables, Settings(**{**common, **way})).optimize(sql) for sql in texts for way in ways]
    assert [query.cost for query in found] == pytest.approx([found[0].cost] * len(found), rel=1e-9)
    assert all(query.search.proven for query in found[:proves])
    return found


def recomputed_cost(search: Search, plan: PlanNode, cost: CostModel) -> float:
    """The cost of an extracted plan from its operators alone; sets of relations get groups, and so statistics."""
    of_columns: dict[ColumnSet, RelationStats] = {}
    for region in search.regions.made:
        for s in list(region.sets):
            of_columns[region.columns(s)] = search.memo.group(region.group_of(s)).stats

    def stats(node: PlanNode) -> RelationStats:
        return search.memo.group(node.group).stats if node.group >= 0 else of_columns[node.columns]

    return sum(cost.local(n.op, n.alternative.delivered, stats(n), [stats(child) for child in n.inputs]) for n in plan.walk())
