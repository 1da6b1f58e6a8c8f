"""The whole memo, for those who look at every plan."""

from collections.abc import Iterator
from contextlib import contextmanager

from optimizer.algebra.join_graph import JoinGraph
from optimizer.memo.binding import bindings
from optimizer.memo.goal import INFINITY
from optimizer.memo.mexpr import LogicalExpr
from optimizer.rules.interface import TransformationRule
from optimizer.search.counters import Counters
from optimizer.search.firing import fire, insert_results
from optimizer.search.search import Search
from optimizer.search.tasks.apply_rule import ApplyRule
from optimizer.search.tasks.explore_input import ExploreInput


def expand_all(search: Search) -> bool:
    """Explore everything that was left for later: regions whose joins are no expressions, groups nobody asked for. Rules look
    into the joins of a region only where the search lets them.

    Figures, goals and plans of the search stay as they are; the limits on the size of the memo hold: False
    when one of them left something out.
    """
    with _aside(search):
        search.take_all_forms()
        seen: set[int] = set()
        while True:
            for group in search.memo.live_groups():
                search.push(ExploreInput(group.id))
                for mexpr in group.logical:
                    for bit, rule in search.regions.partitioning:
                        if not mexpr.applied & bit and rule.pattern.takes(mexpr.op):
                            mexpr.applied |= bit
                            if isinstance(mexpr.op, JoinGraph) and search.regions.unseen(mexpr):
                                _split(search, rule, mexpr)
                            else:
                                search.push(ApplyRule(rule, mexpr))
            search.drain()
            grown = {group.id for group in search.memo.live_groups()}
            if grown <= seen:
                break
            seen = grown
        return search.counters.proven


def explore_all_forms(search: Search) -> None:
    """Explore the forms of the query that were left out, with the joins that rules look into."""
    with _aside(search):
        search.take_all_forms()


@contextmanager
def _aside(search: Search) -> Iterator[None]:
    """What is done to a memo after its search."""
    kept = search.counters, search.trace, search.budget, search.deadline, search.exploration
    search.counters, search.exploration = Counters(), "all"
    search.trace = search.memo.trace = None
    search.budget = search.deadline = INFINITY
    search.counters.ways = kept[0].ways  # whose numbers are taken
    try:
        yield
    finally:
        search.counters, search.trace, search.budget, search.deadline, search.exploration = kept
        search.memo.trace, search.stale = search.trace, False


def _split(search: Search, rule: TransformationRule, graph: LogicalExpr) -> None:
    """Make the joins of a region expressions that no rule sees."""
    for bound in bindings(search.memo, graph, rule.pattern):
        if not search.may_explore():
            return
        insert_results(search, rule, graph, fire(search, rule, graph, bound), unseen=True)
