"""How a region begins, once its relations are settled: by the table of all its sets, by tasks, or in one order.

Seeds are join trees found by heuristics, installed as plans of their sets, so that a search by tasks has a bar from the start.
Where a region is too large to be searched exactly, the better of them is the answer and proves nothing beyond its bound.

Adaptive (Neumann and Radke, SIGMOD 2018): exact while the connected sets, and for the table their splits, fit a budget; beyond,
linearized DP up to a number of relations, and GOO-DP.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optimizer.joins.costing import COutCosting, Ordered
from optimizer.joins.goo_dp import goo_dp
from optimizer.joins.graph import JoinGraph, JoinTree, Relations, bits, joins_of
from optimizer.joins.greedy import greedy
from optimizer.joins.inner import InnerRegion
from optimizer.joins.linearized import linearized
from optimizer.joins.partition import PARTITIONERS
from optimizer.joins.policy import Choice, Enumeration, choose
from optimizer.joins.set_splits import OutOfTime, SetSplits, set_splits
from optimizer.joins.set_table import Methods, SetTable
from optimizer.memo.goal import INFINITY
from optimizer.rules.interface import Partition
from optimizer.search.set_goals import ROUNDING, SetGoals
from optimizer.settings import Settings

EXACT_ROWS_UP_TO = 20  # relations up to which heuristics ask the estimator for rows; beyond they multiply selectivities
FEW = 5  # relations up to which tasks are as fast as the table
TASKS_SETS = 10_000  # connected sets up to which tasks search a region exactly
BOUNDED_SPLITS = 500_000  # splits up to which tasks use the bound that needs a pass over all of them


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
            take_one_order(region, choice.why, _by_rows(region))
        return
    merge = region.methods.merge and not (region.methods.hash and costs.hash_beats_merge)
    table = settings.region == "table" or (settings.region == "auto" and region.region.n > FEW)
    loose = any(goal.lower < goal.best_cost for goal in region.leaf_goals)  # by a gap: what they cost is no bound
    table = table and not loose and not _grown(region) and not region.region.forced.sets and own is None
    if not table and not search.use_bounds:
        merge = region.methods.merge  # nothing is skipped because another method is never dearer
    region.dominated = region.methods.merge and not merge
    region.methods = Methods(region.methods.hash, region.methods.loop, merge)
    splits = None
    if table or search.use_bounds:
        most = settings.exact_sets if settings.enumeration == "adaptive" else 4_000_000
        splits = set_splits(graph, left_deep, most if table else min(most, TASKS_SETS), late=search.late)
    if table and splits is not None:
        _fill_table(region, splits)
        return
    if search.use_bounds:
        region.bound = _bound(region, splits)
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
            if not left_deep or _one_by_one(tree):
                region.install(tree)
    whole = region.figures(graph.all).goal
    if settings.epsilon and whole.best_cost < INFINITY:
        region.enough = settings.epsilon * whole.best_cost / (2 * graph.n - 1)


def take_one_order(region: SetGoals, why: str, tree: JoinTree | None = None) -> None:
    """Leave a region one order: `tree`, or a greedy one."""
    order = {a | b: a for a, b in joins_of(_by_rows(region) if tree is None else tree)}

    def split(s: Relations) -> list[Relations]:
        if s not in order:  # a part of the region that is no part of the tree
            order.update((a | b, a) for a, b in joins_of(_by_rows(region, s)))
        return [order[s]]

    region.splits_of, region.heuristic = split, why
    region.search.counters.proven, region.search.counters.heuristic = False, why


def begin_with_one_order(region: SetGoals) -> None:
    """`start` for a search that wants a plan and no more."""
    take_one_order(region, "a budget was spent")


def splitter(
    region: InnerRegion, partition: Partition, left_deep: bool, in_order: bool
) -> Callable[[Relations], list[Relations]]:
    """The splits of a set that the enumeration and the forced order allow, each as the part with the lowest relation;
    `in_order`: of the parts, since no bounds will put them in order."""

    def splits(s: Relations) -> list[Relations]:
        parts = region.splits(s, partition)
        if in_order:
            parts.sort()
        if left_deep:
            return [a for a in parts if not a & (a - 1) or not (s ^ a) & ((s ^ a) - 1)]
        return parts

    return splits


def _grown(region: SetGoals) -> bool:
    """Whether rules found other expressions for a part of the region that is a group: the table knows joins alone."""
    groups = (region.search.memo.group(gid) for s, gid in region.groups.items() if s != region.region.graph.all)
    return any(len(group.logical) > 1 for group in groups)


def choice_of(region: InnerRegion, settings: Settings) -> Choice:
    """How a region is enumerated; under a forced order, how the hardest of its problems is."""
    if settings.enumeration != "adaptive":
        return Choice(Enumeration.EXACT, f"enumeration {settings.enumeration}")
    choices = [
        choose(
            graph,
            exact_below=settings.exact_below,
            csgs=min(settings.exact_sets, TASKS_SETS),
            linearized_up_to=settings.linearized_up_to,
        )
        for graph in region.graphs
    ]
    return next((choice for choice in choices if choice.enumeration is not Enumeration.EXACT), choices[0])


def _fill_table(region: SetGoals, splits: SetSplits) -> None:
    search, costs = region.search, region.costs
    assert costs is not None
    leaves = [region.sets[1 << i].goal.best_cost for i in range(region.region.n)]
    one_row = any(leaf.props.at_most_one_row for leaf in region.leaves)
    in_order = 0  # relations that may be in some order as they come, or whose order asks for nothing
    for i, leaf in enumerate(region.leaves):
        if leaf.offers or leaf.props.constants or one_row:
            in_order |= 1 << i
    constants = any(leaf.props.constants for leaf in region.leaves)
    estimated = np.maximum(region.estimates.vector(splits.sets), costs.floor)
    table = SetTable(region.region, splits, costs, region.methods, estimated, leaves, in_order, constants, search.late)
    region.bounded = True
    region.table = table
    region.pairs += splits.count
    search.counters.costed += splits.count * region.each
    search.counters.sets += len(splits.sets)
    if search.trace is not None:
        search.trace.emit(
            "table", group=region.whole.group, sets=len(splits.sets), splits=splits.count, cost=float(table.best[-1]),
            exact=region.exact,
        )  # fmt: skip
    for figures in list(region.sets.values()):
        goal = figures.goal
        if goal.relations & (goal.relations - 1):
            figures.rows, bound = table.of(goal.relations)
            region.prove(goal, bound * ROUNDING, "the table of all sets")


def _bound(region: SetGoals, splits: SetSplits | None) -> Callable[[Relations, float], float]:
    """The bound of a set with so many rows: see the head of `region_ways`. Without the splits, of the intermediate results only
    the smallest pair counts. A sum in another order than a plan's may round up, so the bound gives way by a hair."""
    costs = region.costs
    assert costs is not None
    floor, start_up, out, least_input, n = costs.floor, costs.start, costs.out, costs.least_input, region.region.n
    partner = np.zeros(n)  # the fewest rows that each relation is joined with
    edges = [1 << u | 1 << v for u, v in region.region.graph.edges()]
    pairs = sorted((max(region.estimates.rows(edge), floor), edge) for edge in edges)
    fewest: dict[Relations, float] = {}
    if splits is not None and splits.count <= BOUNDED_SPLITS:
        all_rows = np.maximum(region.estimates.vector(splits.sets), floor)
        partner[:] = np.inf
        within = np.zeros(len(splits.sets))  # rows of all intermediate results of a set, at least
        total = within.copy()  # and of the set itself, where it is a join
        for level in splits.levels:
            within[level.sets] = np.minimum.reduceat(total[level.left] + total[level.right], level.starts)
            total[level.sets] = within[level.sets] + all_rows[level.sets]
            for one, other in ((level.left, level.right), (level.right, level.left)):
                alone = one < n
                np.minimum.at(partner, one[alone], all_rows[other[alone]])
        fewest = dict(zip(splits.sets.tolist(), within.tolist(), strict=True))
    leaves = []
    for i, other in enumerate(partner.tolist()):
        figures = region.sets[1 << i]
        smaller = figures.rows <= other  # the smaller input of each join that reads it
        each = costs.smaller_input(other, region.methods.merge) if smaller else least_input
        leaves.append(figures.goal.lower + each * figures.rows + start_up)

    def bound(s: Relations, set_rows: float) -> float:
        total = out * set_rows - start_up
        for low in bits(s):
            total += leaves[low.bit_length() - 1]
        k = s.bit_count()
        if k > 2:
            if s in fewest:
                total += (least_input + out) * fewest[s]
            else:
                total += (least_input + out) * next((of_pair for of_pair, edge in pairs if not edge & ~s), 0.0)
        return total * ROUNDING

    return bound


def _one_by_one(tree: JoinTree) -> bool:
    """Whether each join of a tree has a single relation on one side: no other may be a seed where only such are searched."""
    return all(not a & (a - 1) or not b & (b - 1) for a, b in joins_of(tree))


def _ordered(region: SetGoals, kind: str) -> Ordered:
    """What a heuristic makes of a region."""
    orderer = {"greedy": greedy, "linearized": linearized, "goo_dp": goo_dp}[kind]
    return region.region.ordered(_Costing(region), orderer)


def _by_rows(region: SetGoals, s: Relations = 0) -> JoinTree:
    """Smallest results first (GOO), by products of the selectivities between two relations; of a part of the region."""
    whole = region.region.graph
    graph, members = _within(whole, whole.all if region.region.forced.sets else s or whole.all)
    single = [region.sets[1 << m].rows for m in members]
    shares = {}
    for u, v in graph.edges():
        product = single[u] * single[v]
        shares[u, v] = min(1.0, region.estimates.rows(1 << members[u] | 1 << members[v]) / product) if product else 1.0
    costing = COutCosting(single, shares)
    if region.region.forced.sets:
        return region.region.ordered(costing, greedy, s or graph.all).tree
    return _renumbered(greedy(graph, costing).tree, members)


def _within(graph: JoinGraph, s: Relations) -> tuple[JoinGraph, list[int]]:
    """The part of a graph that joins the relations in `s`, renumbered from 0, and their numbers in the whole."""
    members = [low.bit_length() - 1 for low in bits(s)]
    if len(members) == graph.n:
        return graph, members
    number = {m: i for i, m in enumerate(members)}
    edges = [(number[u], number[v]) for u, v in graph.edges() if u in number and v in number]
    return JoinGraph(len(members), edges), members


def _renumbered(tree: JoinTree, members: list[int]) -> JoinTree:
    built: list[JoinTree] = []
    stack: list[tuple[JoinTree, bool]] = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        if isinstance(node, int):
            built.append(members[node])
        elif ready:
            right, left = built.pop(), built.pop()
            built.append((left, right))
        else:
            stack += [(node, True), (node[1], False), (node[0], False)]
    return built[0]


class _Costing:
    """Rows and join costs of a region for the heuristics.

    Beyond EXACT_ROWS_UP_TO relations rows are products of pairwise selectivities, built up one relation at a time; the tree
    that is found is costed by the estimator all the same.
    """

    def __init__(self, region: SetGoals) -> None:
        costs, graph = region.costs, region.region.graph
        assert costs is not None
        self._region, self._costs, self._graph = region, costs, graph
        self._exact = graph.n <= EXACT_ROWS_UP_TO
        self._rows: dict[Relations, float] = {1 << i: region.sets[1 << i].rows for i in range(graph.n)}
        self._selectivity: dict[Relations, float] = {}
        if not self._exact:
            for u, v in graph.edges():
                pair = 1 << u | 1 << v
                product = self._rows[1 << u] * self._rows[1 << v]
                self._selectivity[pair] = min(1.0, max(region.estimates.rows(pair), costs.floor) / product) if product else 1.0

    def leaf(self, relation: int) -> float:
        return self._region.sets[1 << relation].goal.best_cost

    def rows(self, s: Relations) -> float:
        known = self._rows.get(s)
        if known is None:
            known = self._rows[s] = max(self._region.estimates.rows(s), self._costs.floor) if self._exact else self._product(s)
        return known

    def join(self, left: Relations, right: Relations) -> float:
        costs = self._costs
        x, y = max(self.rows(left), costs.floor), max(self.rows(right), costs.floor)
        hashed = min(costs.build * x + costs.probe * y, costs.build * y + costs.probe * x)
        loops = costs.loop * (x + y) + costs.pair * x * y
        return costs.start + costs.out * max(self.rows(left | right), costs.floor) + min(hashed, loops)

    def _product(self, s: Relations) -> float:
        """Rows by the relation taken off last: the set without its highest relation first. No recursion."""
        pending = [s]
        while pending[-1] not in self._rows:
            last = pending[-1]
            pending.append(last ^ (1 << last.bit_length() - 1))
        while pending:
            part = pending.pop()
            if part in self._rows:
                continue
            top = 1 << part.bit_length() - 1
            rows = self._rows[part ^ top] * self._rows[top]
            for low in bits(self._graph.adjacency[top.bit_length() - 1] & part):
                rows *= self._selectivity[low | top]
            self._rows[part] = rows
        return self._rows[s]
