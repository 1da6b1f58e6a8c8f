"""Top-down enumeration: a set is partitioned when it is first asked for, and its cheapest order is kept.

Source: DeHaan and Tompa, Optimal Top-Down Join Enumeration, SIGMOD 2007, without bounds. What the search does for groups of
inner joins, with nothing else around it.
"""

from collections.abc import Callable

from experiments.enumerators.plan_table import PlanTable
from optimizer.errors import PlanscopeError
from optimizer.joins.costing import JoinCosting, Ordered
from optimizer.joins.graph import JoinGraph, Relations
from optimizer.joins.partition.hypergraph import connected
from optimizer.joins.partition.min_cut_branch import min_cut_branch


def top_down(
    graph: JoinGraph, costing: JoinCosting, partition: Callable[[JoinGraph, Relations], list[Relations]] = min_cut_branch
) -> Ordered:
    """The cheapest bushy order without cross products. The graph is connected; by hyperedges if `partition` knows them.

    Of what `partition` leaves out no order is made; raises PlanscopeError where that leaves none. Does not recurse.
    """
    table = PlanTable(graph, costing)
    assert connected(graph, graph.all), f"relations {graph.all:b} cannot be joined without a cross product"
    parts: dict[Relations, list[Relations]] = {1 << i: [] for i in range(graph.n)}
    pending = [graph.all]
    while pending:
        s = pending[-1]
        if s not in parts:
            parts[s] = found = partition(graph, s)
            pending += (half for part in found for half in (part, s ^ part) if half not in parts)
        else:
            pending.pop()
            for part in parts[s]:
                if part in table.cost and s ^ part in table.cost:
                    table.consider(part, s ^ part)
            parts[s] = []
    if graph.all not in table.cost:
        raise PlanscopeError(f"no order of the {graph.n} relations is left by {getattr(partition, '__name__', partition)}")
    return table.ordered(graph.all)
