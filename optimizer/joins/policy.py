"""Which enumerator a join graph gets: exact while its plans fit a budget, heuristic beyond.

Neumann and Radke, Adaptive Optimization of Very Large Join Queries, SIGMOD 2018. What exact enumeration needs is measured by the
connected subgraphs rather than by the relations: a chain of 100 has 5,050 of them, a clique of 14 has 16,383.
"""

from enum import StrEnum
from typing import NamedTuple

from optimizer.joins.csg import count_connected_sets
from optimizer.joins.graph import JoinGraph
from optimizer.joins.inner import InnerRegion
from optimizer.settings import Settings

TASKS_SETS = 10_000  # connected sets up to which tasks search a region exactly


class Enumeration(StrEnum):
    """The ways of ordering joins that `choose` decides between."""

    EXACT = "exact"
    LINEARIZED = "linearized"
    GOO_DP = "goo_dp"


class Choice(NamedTuple):
    """`why`: a sentence for traces."""

    enumeration: Enumeration
    why: str


def choose(graph: JoinGraph, exact_below: int = 14, csgs: int = 10_000, linearized_up_to: int = 100) -> Choice:
    """The enumeration for a graph whose joins are inner.

    Exact below `exact_below` relations and up to `csgs` connected subgraphs; the count stops there. Beyond, graphs
    are linearized up to `linearized_up_to` relations. GOO-DP takes the rest.
    """
    n = graph.n
    if n < exact_below:
        return Choice(Enumeration.EXACT, f"{n} relations, fewer than {exact_below}")
    counted = count_connected_sets(graph, csgs)
    if counted <= csgs:
        return Choice(Enumeration.EXACT, f"{counted:,} connected subgraphs, at most {csgs:,}")
    many = f"joins were ordered by heuristics: over the budget of {csgs:,} connected subgraphs"
    if n <= linearized_up_to:
        return Choice(Enumeration.LINEARIZED, f"{many}, at most {linearized_up_to} relations")
    return Choice(Enumeration.GOO_DP, f"{many}, more than {linearized_up_to} relations")


def choice_of(region: InnerRegion, settings: Settings) -> Choice:
    """How a region is enumerated; under a forced order, how the hardest of its problems is."""
    if settings.enumeration != "adaptive":
        return Choice(Enumeration.EXACT, f"enumeration {settings.enumeration}")
    most_sets = min(settings.exact_sets, TASKS_SETS)
    choices = [choose(graph, settings.exact_below, most_sets, settings.linearized_up_to) for graph in region.graphs]
    return next((choice for choice in choices if choice.enumeration is not Enumeration.EXACT), choices[0])
