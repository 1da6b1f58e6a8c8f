"""Running the search on a graph query, and recomputing what its plan costs."""

from __future__ import annotations

from optimizer.algebra.plan import PlanNode
from optimizer.cost.model import CostModel
from optimizer.engines.arrow import cost_model
from optimizer.memo.goal import Goal
from optimizer.memo.memo import Memo
from optimizer.rules.catalog import rule_set
from optimizer.rules.interface import RuleContext
from optimizer.search.figures import Figures
from optimizer.search.search import Search
from optimizer.settings import Settings
from optimizer.stats.estimator import Estimator
from optimizer.trace.recorder import Trace
from tests.search.graphs import GraphQuery


def new_search(query: GraphQuery, settings: Settings, trace: Trace | None = None, keep: bool = False) -> Search:
    cost = cost_model(settings)
    figures = Figures(Estimator(query.catalog, query.columns), cost)
    memo = Memo(figures, trace, query.columns.label)
    return Search(memo, rule_set(settings), RuleContext(query.columns, settings), cost, trace, keep)


def plan(query: GraphQuery, trace: Trace | None = None, keep: bool = False, **settings: object) -> tuple[Search, Goal]:
    search = new_search(query, Settings(**settings), trace, keep)
    return search, search.run(query.tree, query.order)


def recomputed_cost(search: Search, node: PlanNode, cost: CostModel) -> float:
    """The cost of an extracted plan from its operators alone, inputs first."""
    inputs = [recomputed_cost(search, child, cost) for child in node.inputs]
    stats = [search.memo.group(child.group).stats for child in node.inputs]
    local = cost.local(node.op, node.alternative.delivered, search.memo.group(node.group).stats, stats)
    return local + sum(inputs)
