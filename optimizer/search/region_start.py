"""How a region begins, once its relations are settled: by the table of all its sets, by tasks, or in one order.

Seeds are join trees found by heuristics, installed as plans of their sets, so that a search by tasks has a bar from the start.
Where a region is too large to be searched exactly, the better of them is the answer and proves nothing beyond its bound.

Adaptive (Neumann and Radke, SIGMOD 2018): exact while the connected sets, and for the table their splits, fit a budget; beyond,
linearized DP up to a number of relations, and GOO-DP.
"""

from __future__ import annotations

import numpy as np

from optimizer.algebra.columns import column_set
from optimizer.joins.costing import Ordered
from optimizer.joins.goo_dp import goo_dp
from optimizer.joins.graph import JoinTree, Relations, joins_of, one_by_one
from optimizer.joins.greedy import greedy
from optimizer.joins.inner import splitter
from optimizer.joins.linearized import linearized
from optimizer.joins.partition import PARTITIONERS
from optimizer.joins.policy import TASKS_SETS, Enumeration, choice_of
from optimizer.joins.region_costing import RegionCosting, smallest_first
from optimizer.joins.set_bound import set_bound
from optimizer.joins.set_splits import OutOfTime, SetSplits, set_splits
from optimizer.joins.set_table import Methods, SetTable
from optimizer.memo.goal import INFINITY, ROUNDING
from optimizer.search.set_goals import SetGoals

FEW = 2  # relations up to which tasks are as fast as the table


def start(region: SetGoals) -> None:
    """Solve a region, or give it its splits, its bound and its seeds; one order where the time allowed ends meanwhile."""
    try:
        _start(region)
    except OutOfTime:
        begin_with_one_order(region)


def _start(region: SetGoals) -> None:
    search = region.search
    settings = search.context.settings
    graph, costs = region.region.graph, region.costs
    left_deep = settings.enumeration == "left_deep"
    own = search.context.partition
    partition = own or PARTITIONERS[settings.partitioner]
    region.splits_of = splitter(region.region, partition, left_deep, in_order=not search.use_bounds)
    if costs is None:
        if (choice := choice_of(region.region, settings)).enumeration is not Enumeration.EXACT:
            take_one_order(region, choice.why)
        return
    merge = region.methods.merge and not (region.methods.hash and costs.hash_beats_merge)
    table = settings.region == "table" or (settings.region == "auto" and region.region.n > FEW)
    loose = any(goal.lower < goal.best_cost for goal in region.leaf_goals)  # by a gap: what they cost is no bound
    table = table and not loose and not region.grown and not region.region.forced.sets and own is None
    if not table and not search.dominance:
        merge = region.methods.merge  # nothing is skipped because another method is never dearer
    region.dominated = region.methods.merge and not merge
    region.methods = Methods(region.methods.hash, region.methods.loop, merge)
    splits = None
    if table or search.use_bounds:
        most = settings.exact_sets if settings.enumeration == "adaptive" else 4_000_000
        splits = set_splits(graph, left_deep, most if table else min(most, TASKS_SETS), region.region.links, search.late)
    if table and splits is not None:
        _fill_table(region, splits)
        return
    if search.use_bounds and not region.grown:
        lower = [goal.lower for goal in region.leaf_goals]
        region.bound = set_bound(region.region.graph, costs, region.methods, splits, region.estimates, _rows(region), lower)
    choice = choice_of(region.region, settings)
    if choice.enumeration is not Enumeration.EXACT:
        better = "linearized" if choice.enumeration is Enumeration.LINEARIZED else "goo_dp"
        take_one_order(
            region, choice.why, min(_ordered(region, "greedy"), _ordered(region, better), key=lambda found: found.cost).tree
        )
        return
    for kind in ("greedy", "linearized"):
        if settings.seed in (kind, "best") and not region.merging:
            tree = _ordered(region, kind).tree
            if (not left_deep or one_by_one(tree)) and (own is None or _allowed(region, tree)):
                region.install(tree)
    whole = region.figures(graph.all).goal
    if settings.epsilon and whole.best_cost < INFINITY:
        region.enough = settings.epsilon * whole.best_cost / (2 * graph.n - 1)


def _allowed(region: SetGoals, tree: JoinTree) -> bool:
    """Whether an enumerator that is not ours has every join of a tree among its splits."""
    return all(a in (parts := region.splits_of(a | b)) or b in parts for a, b in joins_of(tree))


def take_one_order(region: SetGoals, why: str, tree: JoinTree | None = None) -> None:
    """Leave a region one order: `tree`, or a greedy one."""
    joins, estimates, rows = region.region, region.estimates, _rows(region)  # the region itself keeps what is made of these
    order = {a | b: a for a, b in joins_of(tree or smallest_first(joins, estimates, rows))}

    def split(s: Relations) -> list[Relations]:
        if s not in order:  # a part of the region that is no part of the tree
            order.update((a | b, a) for a, b in joins_of(smallest_first(joins, estimates, rows, s)))
        return [order[s]]

    region.splits_of, region.heuristic = split, why
    region.search.counters.proven, region.search.counters.heuristic = False, why


def begin_with_one_order(region: SetGoals) -> None:
    """`start` for a search that wants a plan and no more."""
    costs, methods = region.costs, region.methods
    if costs is not None and methods.merge and methods.hash and costs.hash_beats_merge:
        region.dominated, region.methods = True, Methods(methods.hash, methods.loop, False)
    take_one_order(region, "a budget was spent")


def _fill_table(region: SetGoals, splits: SetSplits) -> None:
    search, costs = region.search, region.costs
    assert costs is not None
    leaves = [goal.best_cost for goal in region.leaf_goals]
    one_row = any(leaf.props.at_most_one_row for leaf in region.leaves)
    # relations that may be in some order as they come, or whose order asks for nothing
    in_order = region.pinned | column_set(i for i, leaf in enumerate(region.leaves) if leaf.sorted_inside or one_row)
    estimated = np.maximum(region.estimates.vector(splits.sets), costs.floor)
    table = SetTable(region.region, splits, costs, region.methods, estimated, leaves, in_order, bool(region.pinned), search.late)
    region.bounded = True
    region.table = table
    region.pairs += splits.count
    search.counters.costed += splits.count * region.each
    if search.trace is not None:
        search.trace.emit(
            "table", group=region.whole.group, sets=len(splits.sets), splits=splits.count, cost=float(table.best[-1]),
            exact=region.exact,
        )  # fmt: skip
    for figures in list(region.sets.values()):
        goal = figures.goal
        if goal.relations & (goal.relations - 1):
            figures.rows, bound = table.of(goal.relations)
            region.prove(goal, region.bounded_by(goal.relations, bound * ROUNDING), "the table of all sets")


def _ordered(region: SetGoals, kind: str) -> Ordered:
    """What a heuristic makes of a region."""
    orderer = {"greedy": greedy, "linearized": linearized, "goo_dp": goo_dp}[kind]
    assert region.costs is not None
    plans = [goal.best_cost for goal in region.leaf_goals]
    return region.region.ordered(
        RegionCosting(region.costs, region.region.graph, region.estimates, _rows(region), plans), orderer
    )


def _rows(region: SetGoals) -> list[float]:
    """The rows of each relation."""
    return [region.sets[1 << i].rows for i in range(region.region.n)]
