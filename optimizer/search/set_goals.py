"""The sets of relations of one region of inner joins as goals: their rows, their bounds, and their groups where they have one.

A set is a goal as a group is, without a group of its own: its rows and its bound are numbers. It becomes a group of the memo when
someone asks for it in some order, or looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

from optimizer.algebra.columns import ColumnSet, column_ids, column_set, union
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.physical import HashJoin, NestedLoopJoin
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.traits import ANY
from optimizer.algebra.trees import Node, Tree
from optimizer.cost.joins import JoinCosts
from optimizer.joins.costing import SetRows
from optimizer.joins.graph import JoinTree, Relations, joins_of
from optimizer.joins.inner import InnerRegion
from optimizer.joins.set_table import Methods, SetTable
from optimizer.memo.bounds import kinds_of
from optimizer.memo.goal import INFINITY, ROUNDING, Goal, Split, Status, Way
from optimizer.memo.group import Group
from optimizer.memo.mexpr import LogicalExpr
from optimizer.search.context import OfSearch, SearchContext

PARTITION = "partition_joins"


class SetFigures:
    """What arithmetic needs of a set: `rows` of its join, at least the costs' floor; `calls`, `residual`: calls of all conjuncts
    within it, and of those that are no hash key; `lower`: the bound that it was made with."""

    __slots__ = ("calls", "goal", "lower", "residual", "rows")

    def __init__(self, rows: float, calls: float, residual: float, goal: Goal) -> None:
        self.rows, self.calls, self.residual, self.goal, self.lower = rows, calls, residual, goal, goal.lower


class Found(NamedTuple):
    """Whether rules found other expressions than its joins for a part of a region, and for the whole."""

    parts: bool
    whole: bool


class SetGoals(OfSearch):
    """Relation i is the i-th of `leaves`; `pairs` counts the splits looked at.

    `costs`: None where joins are not costed by arithmetic. `start`: solves or seeds the region, once its relations are settled.
    `splits_of`: the splits that the search may look at, each as one part. `bound`: what a plan of a set with so many rows costs
    at least. `heuristic`: why only one order is tried, if so. `dominated`: merge joins are left out, since a hash join never
    costs more.
    """

    def __init__(
        self, search: SearchContext, whole: LogicalExpr, region: InnerRegion, costs: JoinCosts | None, methods: Methods,
        estimates: SetRows, start: Callable[[SetGoals], None], registry: tuple[dict[int, int], dict[int, int]],
    ) -> None:  # fmt: skip
        super().__init__(search)
        self.whole, self.region, self.costs, self.methods, self.start = whole, region, costs, methods, start
        self.estimates = estimates
        self._sources, self._places = registry  # its number by goal, and by group
        self.number = -1
        self.each = methods.hash + methods.loop
        self.bounded = False
        self.enough = -1.0
        self.pairs = 0
        self.dominated = False
        self.leaves: Sequence[Group] = [search.memo.group(gid) for gid in whole.inputs]
        self.sets: dict[Relations, SetFigures] = {}
        self.groups: dict[Relations, int] = {}  # of the sets that have one
        self.placed: dict[int, Relations] = {}  # and the other way round
        self.table: SetTable | None = None
        self.heuristic = ""
        self.splits_of: Callable[[Relations], Sequence[Relations]] = lambda s: ()
        self.bound: Callable[[Relations, float], float] = lambda s, rows: 0.0
        self.begun = self.waited = False
        self._number = {leaf.id: 1 << i for i, leaf in enumerate(self.leaves)}
        self._counted: set[Relations] = set()
        self._reached: dict[Goal, set[Relations]] = {}  # splits that became expressions, each by one part
        self._made: dict[tuple[Relations, Relations], LogicalExpr] = {}
        self._joined: dict[Relations, LogicalProps] = {}  # what is known of the columns of sets
        self._weights = [(c.relations, float(c.calls), 0.0 if c.key else float(c.calls)) for c in region.conjuncts]
        floor = 0.0 if costs is None else costs.floor
        for i, leaf in enumerate(self.leaves):
            calls = sum(weight for within, weight, _ in self._weights if within == 1 << i)
            self.sets[1 << i] = SetFigures(max(leaf.stats.rows, floor), calls, calls, search.goal(leaf.id, ANY))

    def output(self, goal: Goal) -> tuple[ColumnSet, float]:
        """The columns and rows of a set."""
        return self.columns(goal.relations), self.estimates.rows(goal.relations)

    @property
    def merging(self) -> bool:
        """Whether the sets' goals need expressions: a merge join may be the cheapest, or joins are not costed by arithmetic."""
        return self.costs is None or self.methods.merge

    @property
    def exact(self) -> bool:
        """Whether the table has the cost of the cheapest plan of each set."""
        return self.table is not None and not self.methods.merge

    @cached_property
    def pinned(self) -> Relations:
        """The relations of which a column that joins read is constant: an order by it asks for nothing."""
        joined = union(conjunct.scalar.columns for conjunct in self.region.conjuncts)
        return column_set(i for i, leaf in enumerate(self.leaves) if leaf.props.closure(0) & joined)

    @property
    def method(self) -> str:
        """How the region is searched."""
        return "one order" if self.heuristic else "tasks" if self.table is None else "table"

    @cached_property
    def found(self) -> Found:
        """What rules had found when it was first asked for."""
        return self.found_now()

    def found_now(self) -> Found:
        memo, own, beyond = self.search.memo, {leaf.id for leaf in self.leaves}, ~self.columns(self.region.graph.all)
        parts = whole = False
        for group in memo.live_groups():
            if not group.props.columns & beyond:
                joins, others = kinds_of(memo, group)
                if len(joins) > 1 or any(not isinstance(m.op, RegionGraph) for m in others):
                    parts = parts or any(own > set(leaves) for leaves in joins)
                    whole = whole or any(own == set(leaves) for leaves in joins)
        return Found(parts, whole)

    @property
    def grown(self) -> bool:
        """Whether a part of the region is more than its joins: tables and bounds of sets know nothing else."""
        return self.found.parts

    def bounded_by(self, s: Relations, lower: float) -> float:
        """What plans of a set cost at least, where its joins cost `lower`: the whole may be had in other ways."""
        return min(lower, self.search.memo.group(self.whole.group).lower) if self._otherwise(s) else lower

    def _otherwise(self, s: Relations) -> bool:
        return self.found.whole and s == self.region.graph.all

    @property
    def size(self) -> int:
        """Sets of two relations or more that the search knows of."""
        return (len(self.sets) if self.table is None else len(self.table.splits.sets)) - self.region.n

    # -- sets, goals and groups ---------------------------------------------------------------------------------------------

    def figures(self, s: Relations) -> SetFigures:
        """The numbers of a set; made on first use."""
        known = self.sets.get(s)
        return known if known is not None else self._new(s)

    def _new(self, s: Relations) -> SetFigures:
        search = self.search
        calls = residual = 0.0
        for within, weight, extra in self._weights:
            if not within & ~s:
                calls += weight
                residual += extra
        if self.table is not None:
            rows, cost = self.table.of(s)
            lower = self.bounded_by(s, cost * ROUNDING)
        elif self.costs is None:
            group = search.memo.group(self.group_of(s))
            rows, lower = group.stats.rows, group.lower if search.use_bounds else 0.0
        else:
            rows = max(self.estimates.rows(s), self.costs.floor)
            lower = self.bounded_by(s, self.bound(s, rows)) if search.use_bounds else 0.0
        goal = search.memo.new_goal(self.groups.get(s, -1), ANY, lower, s)
        made = self.sets[s] = SetFigures(rows, calls, residual, goal)
        self._sources[goal.id] = self.number
        if search.trace is not None:
            search.emit_goal(goal, region=self.whole.group, relations=self.members(s), rows=self.estimates.rows(s))
        if self.exact:
            self.settle(goal)
        return made

    def at_least(self, s: Relations) -> float:
        """What plans of a set cost at least, whatever order they give. To a cost model that is not known, rows in some order may
        cost less than rows in any: there the cost of the cheapest plan is no bound for others."""
        if self.costs is not None:
            return self.figures(s).goal.lower
        return self.search.memo.group(self.group_of(s)).lower if self.search.use_bounds else 0.0

    def prove(self, goal: Goal, lower: float, because: str) -> None:
        """Raise the bound of a goal."""
        if lower > goal.lower:
            goal.lower = lower
            if self.search.trace is not None:
                self.search.trace.emit("lower", goal=goal.id, lower=lower, because=because)

    def group_of(self, s: Relations) -> int:
        """The group of a set, made on first use."""
        gid = self.known_group(s)
        if gid < 0:
            memo = self.search.memo
            leaves: tuple[Node, ...] = tuple(memo.binding_leaf(self.leaves[i].id) for i in column_ids(s))
            graph, around = Tree(JoinGraph(self.region.within(s)), leaves), memo.group(self.whole.group)
            gid, new = memo.insert(graph, None, PARTITION, self.whole.id, within=around)
            for mexpr in new:
                mexpr.barred |= self.whole.barred
            self.groups[s] = gid
            self._places[gid], self.placed[gid] = self.number, s
            if s in self.sets:
                self._grouped(self.sets[s].goal, gid)
                memo.group(gid).goals[ANY] = self.sets[s].goal
        return gid

    def known_group(self, s: Relations) -> int:
        """The group of a set; -1: it has none."""
        return self.groups.get(s, -1) if s & (s - 1) else self.leaves[s.bit_length() - 1].id

    def _grouped(self, goal: Goal, gid: int) -> None:
        """A set has become a group."""
        if goal.group < 0:
            goal.group = gid
            if self.search.trace is not None:
                self.search.trace.emit("place", goal=goal.id, group=gid)

    def columns(self, s: Relations) -> ColumnSet:
        columns = 0
        for i in column_ids(s):
            columns |= self.leaves[i].props.columns
        return columns

    def members(self, s: Relations) -> list[int]:
        """The leaf groups of a set."""
        return [self.leaves[i].id for i in column_ids(s)]

    def show(self, s: Relations) -> str:
        return "{" + ", ".join(map(str, self.members(s))) + "}"

    def set_of(self, leaves: Sequence[int], predicate: Predicate) -> Relations | None:
        """The connected set of leaf groups whose join under `predicate` it is, if there is one. A rule may make a product of
        relations that only others link in this region: that is none of its sets."""
        if any(gid not in self._number for gid in leaves):
            return None
        s = sum(self._number[gid] for gid in leaves)
        return s if self.region.within(s) == predicate and self.region.graph.connected(s) else None

    @property
    def leaf_goals(self) -> list[Goal]:
        return [self.sets[1 << i].goal for i in range(self.region.n)]

    def settle(self, goal: Goal) -> tuple[list[Way], float]:
        """Give a goal the plan that the table has for it, and conclude it, unless there may be others."""
        assert self.table is not None
        if goal.lower == INFINITY:
            goal.status = Status.IMPOSSIBLE
            return [], INFINITY
        if goal.way is None:
            way = self.by_table(goal.relations)
            if way.bound < INFINITY:
                old, goal.best_cost, goal.way = goal.best_cost, way.bound, way
                if self.search.trace is not None:
                    self.search.emit_best(goal, old)
        if goal.status is not Status.OPEN and not self._otherwise(goal.relations):
            goal.lower, goal.settled, goal.status = goal.best_cost, True, Status.OPTIMAL
            self.search.emit_close(goal)
        return [], INFINITY

    def by_table(self, s: Relations) -> Way:
        """The cheapest join of a set."""
        assert self.table is not None
        split, local = self._cheapest(*self.table.cheapest(s), self.figures(s))
        inputs = (self.figures(split.left).goal, self.figures(split.right).goal)
        for goal in inputs:
            if goal.relations and goal.way is None and self.exact:  # it was there before the table
                self.settle(goal)
        return Way(local + inputs[0].best_cost + inputs[1].best_cost, 0, local, inputs, split)

    def install(self, tree: JoinTree) -> None:
        """Make a join tree over settled relations the best plan of each of its sets that has none as cheap."""
        for a, b in joins_of(tree):
            left, right, own = self.sets[a], self.sets[b], self.figures(a | b)
            split, local = self._cheapest(a, b, own)
            cost = local + left.goal.best_cost + right.goal.best_cost
            if cost < own.goal.best_cost:
                old, own.goal.best_cost = own.goal.best_cost, cost
                inputs = (self.sets[split.left].goal, self.sets[split.right].goal)
                own.goal.way = Way(cost, 0, local, inputs, split)
                if self.search.trace is not None:
                    self.search.emit_best(own.goal, old)

    def _cheapest(self, a: Relations, b: Relations, own: SetFigures) -> tuple[Split, float]:
        """The cheapest join of two sets by arithmetic, and what it costs."""
        costs = self.costs
        assert costs is not None
        left, right = self.figures(a), self.figures(b)
        if (left.rows < right.rows) is (costs.build > costs.probe):
            a, b, left, right = b, a, right, left
        x, y = left.rows, right.rows
        local, method = INFINITY, HashJoin
        if self.methods.hash and (self.region.plain or self.region.keys.neighbours(a) & b):
            local = costs.probe * x + costs.build * y + costs.call * (own.residual - left.residual - right.residual) * own.rows
        if self.methods.loop:
            pair = costs.pair + costs.pair_call * (own.calls - left.calls - right.calls)
            loops = costs.loop * (x + y) + pair * x * y
            if loops < local:
                return Split(NestedLoopJoin, a, b), costs.start + costs.out * own.rows + loops
        return Split(method, a, b), costs.start + costs.out * own.rows + local
