"""Putting a bug into the search, and looking for it with every check there is.

A mutation overrides methods of the search's classes, or functions of its modules, while a test runs. A name that is not there
is an error, so a mutation cannot go stale unnoticed.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from optimizer.audit.audit import audit
from optimizer.audit.ledger import Ledger, Opening
from optimizer.errors import BoundRefuted, NoPlan
from optimizer.search.extract import extract
from optimizer.search.search import Search
from planscope import Settings, Trace
from tests.search.graphs import SHAPES, GraphQuery, graph_query
from tests.search.independent.options import MERGE
from tests.search.planning import new_search, recomputed_cost
from tests.search.random_settings import Options, optimum_of

MOST_TASKS = 30_000  # of a search of four relations; one that takes more goes round in circles


Override = tuple[Any, str, Callable[[Any], Any]]


def plant(override: Override, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put what is made of the attribute `name` of its owner, a class or a module, in its place."""
    owner, name, make = override
    monkeypatch.setattr(owner, name, make(getattr(owner, name)))


def too_high(factor: float) -> Callable[[Any], Any]:
    """Makes of `region_start.set_bound` one whose bounds of sets of relations are multiplied."""

    def make(bound: Callable[..., Any]) -> Callable[..., Any]:
        def mutated(*args: Any) -> Any:
            right = bound(*args)
            return lambda s, rows: factor * right(s, rows)

        return mutated

    return make


class Query(NamedTuple):
    """A query with what an unchanged search does under some settings. `optimum`: by brute force, where it knows the operators;
    `found`: the same to a few units in the last place; `costed`: how many alternatives it took."""

    graph: GraphQuery
    optimum: float
    found: float
    costed: int


def random_query(number: int, settings: Options, relations: int) -> Query:
    """To be called before anything is mutated."""
    graph = graph_query(SHAPES[number % len(SHAPES)], max(3, relations - number % 2), 500 + number)
    search = _searched(graph, settings)
    assert search.root is not None
    brute = set(settings.get("disable", ())) <= {MERGE}
    optimum = optimum_of(graph, search.cost, settings) if brute else search.root.best_cost
    return Query(graph, optimum, search.root.best_cost, search.counters.costed)


def noticed(query: Query, settings: Options) -> str | None:
    """The first check that fails for a query; None when all pass."""
    try:
        return _unsound(query, settings) or _wrong_answers(query, settings)
    except NoPlan:
        return "no plan"
    except BoundRefuted:
        return "refuted"
    except OverflowError:  # limits double each time a goal is searched again
        return "never ends"
    except AssertionError:
        return "assertion"


def _searched(graph: GraphQuery, settings: Options, trace: Trace | None = None) -> Search:
    search = new_search(graph, Settings(**{"budget_tasks": MOST_TASKS, **settings}), trace)
    search.run(graph.tree, graph.order)
    return search


def _unsound(query: Query, settings: Options) -> str | None:
    trace = Trace()
    search = _searched(query.graph, settings, trace)
    goal = search.root
    assert goal is not None
    if not search.counters.proven:
        return "never ends"
    if goal.best_cost > query.optimum * (1 + settings.get("gap", 0.0)) * (1 + 1e-9):
        return "dearer than the optimum"
    if goal.best_cost < query.optimum * (1 - 1e-9):
        return "cheaper than the optimum"
    if abs(recomputed_cost(search, extract(search, goal), search.cost) - goal.best_cost) > 1e-9 * goal.best_cost:
        return "plan costs another amount"
    limits: dict[int, list[float]] = {}
    for opening in Ledger(trace.events).all(Opening):
        limits.setdefault(opening.goal, []).append(opening.limit.value)
    if any(a >= b for tried in limits.values() for a, b in pairwise(tried)):
        return "searched again under no larger limit"
    return None if audit(search, trace).sound else "audit"


def _wrong_answers(query: Query, settings: Options) -> str | None:
    """The limit sequence of §1.9 in three orders, and the work that the search takes.

    What counts as the optimum is what the same memo says in the end: equal plans, added up in another order, may differ by a
    unit in the last place.
    """
    best = query.found
    for limits in ((best * (1 - 1e-9), best), (1.5 * best, best / 2), (best, 3 * best)):
        search = new_search(query.graph, Settings(**{"budget_tasks": MOST_TASKS, **settings}))
        root = search.explore(query.graph.tree)
        answers: list[tuple[float, bool]] = []
        for limit in (*limits, float("inf")):
            goal = search.optimize(root, query.graph.order, limit)
            answers.append((limit, goal.settled and goal.best_cost <= limit))
            if not search.counters.proven:
                return "never ends"
            if goal.settled and goal.best_cost > best * (1 + settings.get("gap", 0.0)) * (1 + 1e-9):
                return "dearer under a limit"
        if not settings.get("gap") and any(wins != (limit >= goal.best_cost) for limit, wins in answers):
            return "wrong answer to a limit"
    return "more work" if _searched(query.graph, settings).counters.costed > query.costed else None
