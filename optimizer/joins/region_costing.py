"""What heuristics are told of a region: rows and join costs, of as many relations as there may be."""

from collections.abc import Sequence

from optimizer.cost.joins import JoinCosts
from optimizer.joins.costing import COutCosting, SetRows
from optimizer.joins.graph import JoinGraph, JoinTree, Relations, bits, parts_of, rebuilt
from optimizer.joins.greedy import greedy
from optimizer.joins.inner import InnerRegion

EXACT_ROWS_UP_TO = 20  # relations up to which the estimator is asked for rows


class RegionCosting:
    """`rows`, `plans`: of each relation, how many rows it has and what its plan costs.

    Beyond EXACT_ROWS_UP_TO relations rows are products of pairwise selectivities; the tree found is costed by the estimator.
    """

    def __init__(
        self, costs: JoinCosts, graph: JoinGraph, estimates: SetRows, rows: Sequence[float], plans: Sequence[float]
    ) -> None:
        self._costs, self._plans = costs, plans
        exact = graph.n <= EXACT_ROWS_UP_TO
        self._ask = estimates.rows if exact else _products(graph, estimates, list(rows)).rows
        self._rows: dict[Relations, float] = {1 << i: own for i, own in enumerate(rows)}

    def leaf(self, relation: int) -> float:
        return self._plans[relation]

    def rows(self, s: Relations) -> float:
        known = self._rows.get(s)
        if known is None:
            known = self._rows[s] = max(self._ask(s), self._costs.floor)
        return known

    def join(self, left: Relations, right: Relations) -> float:
        costs = self._costs
        x, y = self.rows(left), self.rows(right)
        hashed = min(costs.build * x + costs.probe * y, costs.build * y + costs.probe * x)
        loops = costs.loop * (x + y) + costs.pair * x * y
        return costs.start + costs.out * self.rows(left | right) + min(hashed, loops)


def smallest_first(region: InnerRegion, estimates: SetRows, rows: Sequence[float], s: Relations = 0) -> JoinTree:
    """Smallest results first (GOO), by products of the selectivities between two relations; of a part of the region."""
    whole = region.links
    if region.forced.sets:
        return region.ordered(_products(region.graph, estimates, list(rows)), greedy, s or whole.all).tree
    members = [low.bit_length() - 1 for low in bits(s or whole.all)]
    graph = _within(whole, members)
    costing = _products(graph, estimates, [rows[m] for m in members], members)
    return rebuilt(greedy(graph, costing).tree, parts_of, members.__getitem__)


def _products(graph: JoinGraph, estimates: SetRows, rows: list[float], members: Sequence[int] | None = None) -> COutCosting:
    """Rows as products over a graph; `members`: its relations' numbers in the region, if others."""
    number = range(graph.n) if members is None else members
    shares = {}
    for u, v in graph.edges():
        product = rows[u] * rows[v]
        shares[u, v] = min(1.0, estimates.rows(1 << number[u] | 1 << number[v]) / product) if product else 1.0
    return COutCosting(rows, shares)


def _within(graph: JoinGraph, members: Sequence[int]) -> JoinGraph:
    """The part of a graph that joins these relations, renumbered from 0."""
    if len(members) == graph.n:
        return graph
    number = {m: i for i, m in enumerate(members)}
    edges = [(number[u], number[v]) for u, v in graph.edges() if u in number and v in number]
    return JoinGraph(len(members), edges)
