"""The ways of the sets of relations of one region of inner joins: their splits.

A set is a goal as a group is, without a group of its own: its rows, its bound and its ways are numbers. A join is costed by four
multiplications (`JoinCosts`); splits above the bar leave nothing behind. A set becomes a group of the memo when someone asks for
it in some order, or looks at it. For such goals, for regions where a merge join may be the cheapest, and for cost models that
are not linear in rows, the splits within the bar become physical expressions, which no rule sees.

A region is solved in one of two ways (setting `region`). By *tasks*, set by set, from the whole down: for those who watch a search. By
the *table* of all its sets (`set_table`) before its first goal is opened: then goals without traits arrive settled, and all others
with bounds.

Lower bound of a set of k relations, by tasks: every tree over it reads its k leaves, joins k - 1 times, feeds every leaf's rows and
those of k - 2 intermediate results to a join, and gives the set's rows at the top. An intermediate result has at least m(S) rows,
those of the smallest join of two relations or more that is part of the set. Hence

    bound(S) = Σ bound(leaf) + (k - 1) start + input · Σ rows(leaf) + out · rows(S) + (k - 2) (input + out) · m(S)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from optimizer.algebra.columns import ColumnSet, column_ids
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Join
from optimizer.algebra.physical import HashJoin, NestedLoopJoin, PhysicalOperator
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.traits import ANY, Alternative, TraitSet
from optimizer.algebra.trees import Leaf, Node, Tree
from optimizer.cost.joins import JoinCosts
from optimizer.joins.graph import JoinTree, Relations, joins_of
from optimizer.joins.inner import InnerRegion
from optimizer.memo.goal import INFINITY, Goal, Implementation, Split, Status, Way
from optimizer.memo.group import Group, LogicalExpr
from optimizer.search.context import SearchContext, Source
from optimizer.search.figures import SetRows
from optimizer.search.group_ways import enforcing, rebound, waiting_way, within_bar
from optimizer.search.set_table import Costs, Methods, SetTable

PARTITION = "partition_joins"
ROUNDING = 1.0 - 1e-12
LOOK = 1023  # splits between two looks at the clock, as a mask


class SetFigures:
    """What arithmetic needs of a set: `rows` of its join, at least the costs' floor; `calls`, `residual`: calls of all conjuncts
    within it, and of those that are no hash key; `lower`: the bound that it was made with."""

    __slots__ = ("calls", "goal", "lower", "residual", "rows")

    def __init__(self, rows: float, calls: float, residual: float, goal: Goal) -> None:
        self.rows, self.calls, self.residual, self.goal, self.lower = rows, calls, residual, goal, goal.lower


class RegionWays:
    """A source (`context.Source`). Relation i is the i-th of `leaves`; `pairs` counts the splits looked at.

    `costs`: None where joins are not costed by arithmetic. `start`: solves or seeds the region, once its relations are settled.
    `splits_of`: the splits that the search may look at, each as one part. `bound`: what a plan of a set with so many rows costs at least.
    """

    def __init__(
        self,
        search: SearchContext,
        whole: LogicalExpr,
        region: InnerRegion,
        costs: JoinCosts | None,
        methods: Methods,
        estimates: SetRows,
        start: Callable[[RegionWays], None],
        registry: tuple[dict[int, Source], dict[int, tuple[RegionWays, Relations]]],
    ) -> None:
        self.search, self.whole, self.region, self.costs, self.methods, self.start = search, whole, region, costs, methods, start
        self.estimates = estimates
        self._sources, self._places = registry  # by goal, and by group
        self.each = methods.hash + methods.loop
        self.bounded = False
        self.enough = -1.0
        self.pairs = 0
        self.leaves = [search.memo.group(gid) for gid in whole.inputs]
        self.sets: dict[Relations, SetFigures] = {}
        self.groups: dict[Relations, int] = {}  # of the sets that have one
        self.table: SetTable | None = None
        self.heuristic = ""  # why only one order is tried, if so
        self.splits_of: Callable[[Relations], Sequence[Relations]] = lambda s: ()
        self.bound: Callable[[Relations, float], float] = lambda s, rows: 0.0
        self.begun = False
        self._number = {leaf.id: 1 << i for i, leaf in enumerate(self.leaves)}
        self._counted: set[Relations] = set()
        self._reached: dict[Goal, set[Relations]] = {}  # splits that became expressions, each by one part
        self._made: dict[tuple[Relations, Relations], LogicalExpr] = {}
        self._weights = [(c.relations, float(c.calls), 0.0 if c.key else float(c.calls)) for c in region.conjuncts]
        floor = 0.0 if costs is None else costs.floor
        for i, leaf in enumerate(self.leaves):
            calls = sum(weight for within, weight, _ in self._weights if within == 1 << i)
            self.sets[1 << i] = SetFigures(max(leaf.stats.rows, floor), calls, calls, search.goal(leaf.id, ANY))

    # -- a source -----------------------------------------------------------------------------------------------------------------

    def ready(self, search: SearchContext, goal: Goal, limit: float) -> bool:
        """Settle the relations, then solve the region or find its bounds and seeds."""
        if not self.begun:
            ended = (Status.IMPOSSIBLE, Status.OPEN)  # open: a relation that is made of the region itself
            unsettled = [leaf for leaf in self._leaf_goals if not leaf.settled and leaf.status not in ended]
            if unsettled:
                search.ask(goal, limit)
                for leaf in reversed(unsettled):
                    search.ask(leaf)
                return False
            self.begun = True
            if all(leaf.settled for leaf in self._leaf_goals):
                self.start(self)
        return True

    def ways(self, search: SearchContext, goal: Goal) -> tuple[list[Way], float]:
        if any(not leaf.settled for leaf in self._leaf_goals):
            return [], INFINITY
        if self.merging or goal.required != ANY:
            self.group_of(goal.relations)
        listed = self._listed(goal)
        if self.exact and goal.required == ANY:
            ways, dropped = self._settle(goal)
        elif goal.required == ANY and not self.merging:
            ways, dropped = self._splits(goal)
        else:
            ways, dropped = self._joins(goal)
        if listed:
            kept, cut = within_bar(search, goal, listed)
            ways, dropped = sorted(ways + kept), min(dropped, cut)
        return ways, dropped

    def _listed(self, goal: Goal) -> list[Way]:
        """What else a group has: enforcers, and expressions that rules found for it."""
        if goal.group < 0:
            return []
        search = self.search
        if goal.listed is None:
            ways = enforcing(search, goal)
            others = [m for m in search.memo.group(goal.group).logical if not isinstance(m.op, JoinGraph)]
            goal.listed = {way.number: way for way in [*ways, *(waiting_way(search, mexpr) for mexpr in others)]}
        return [rebound(search, way) for way in goal.listed.values()]

    def implementation(self, search: SearchContext, goal: Goal, way: Way) -> Implementation:
        if isinstance(way.what, Implementation):
            return way.what
        assert isinstance(way.what, Split)
        method, a, b = way.what
        leaves = tuple(Leaf(-1, LogicalProps(self.columns(part))) for part in (a, b))
        bound = Tree(Join(JoinKind.INNER, self.region.across(a, b)), leaves)
        for rule in search.rules.implementations:
            if rule.pattern.op is Join:
                for op in rule.apply(bound, search.context):
                    if type(op) is method:
                        return Implementation(op, Alternative((ANY, ANY)), None)
        raise AssertionError(f"no {method.name} joins {self.show(a)} and {self.show(b)}")

    def costed(self, search: SearchContext, goal: Goal) -> list[Way]:
        ways = list((goal.listed or {}).values())
        if goal.required == ANY and not self.merging and goal.relations & (goal.relations - 1):
            ways += [goal.way] if self.table is not None and goal.way is not None else self._settled_splits(goal)
        return [way for way in ways if not isinstance(way.what, LogicalExpr) and all(i.settled for i in way.inputs)]

    def _settled_splits(self, goal: Goal) -> list[Way]:
        found = []
        s = goal.relations
        for a in self.splits_of(s):
            if a in self.sets and s ^ a in self.sets:
                split, local = self._cheapest(a, s ^ a, self.figures(s))
                found.append(Way(local, 0, local, (self.sets[split.left].goal, self.sets[split.right].goal), split))
        return found

    def output(self, goal: Goal) -> tuple[ColumnSet, float]:
        """The columns and rows of a set."""
        return self.columns(goal.relations), self.figures(goal.relations).rows

    @property
    def merging(self) -> bool:
        """Whether the sets' goals need expressions: a merge join may be the cheapest, or joins are not costed by arithmetic."""
        return self.costs is None or self.methods.merge

    @property
    def exact(self) -> bool:
        """Whether the table has the cost of the cheapest plan of each set."""
        return self.table is not None and not self.methods.merge

    @property
    def method(self) -> str:
        """How the region is searched."""
        return "one order" if self.heuristic else "tasks" if self.table is None else "table"

    @property
    def size(self) -> int:
        """Sets of two relations or more that the search knows of."""
        return (len(self.sets) if self.table is None else len(self.table.splits.sets)) - self.region.n

    # -- sets, goals and groups -------------------------------------------------------------------------------------------------------

    def figures(self, s: Relations) -> SetFigures:
        """The numbers of a set; made on first use."""
        known = self.sets.get(s)
        return known if known is not None else self._new(s)

    def _new(self, s: Relations) -> SetFigures:
        search = self.search
        if self.table is not None:
            rows, cost = self.table.of(s)
            made = self._note(s, SetFigures(rows, 0.0, 0.0, search.set_goal(s, cost * ROUNDING)))
            if self.exact:
                self._settle(made.goal)
        elif self.costs is None:
            group = search.memo.group(self.group_of(s))
            return self._note(
                s, SetFigures(group.stats.rows, 0.0, 0.0, search.set_goal(s, group.lower if search.use_bounds else 0.0))
            )
        else:
            rows = max(self.estimates.rows(s), self.costs.floor)
            calls = residual = 0.0
            for within, weight, extra in self._weights:
                if not within & ~s:
                    calls += weight
                    residual += extra
            made = self._note(
                s, SetFigures(rows, calls, residual, search.set_goal(s, self.bound(s, rows) if search.use_bounds else 0.0))
            )
        return made

    def _note(self, s: Relations, figures: SetFigures) -> SetFigures:
        self.sets[s] = figures
        self._sources[figures.goal.id] = self
        gid = self.groups.get(s)
        if gid is not None:
            figures.goal.group = gid
        trace = self.search.trace
        if trace is not None:
            goal = figures.goal
            trace.emit(
                "goal", goal=goal.id, group=goal.group, traits="any", lower=goal.lower, region=self.whole.group,
                relations=self.members(s), rows=figures.rows,
            )  # fmt: skip
        return figures

    def goal(self, group: Group, s: Relations, required: TraitSet) -> Goal:
        """The goal of the group that a set has become."""
        self.groups[s] = group.id
        own = self.figures(s).goal
        self._grouped(own, group.id)
        if self.search.use_bounds and own.status is Status.NEW:
            self.prove(own, group.lower, "the group")
        if required == ANY:
            return own
        lower = own.lower
        bounds = self._order_bounds(s, required)
        if bounds is not None and self.table is not None:
            lower = max(lower, float(bounds[self.table.splits.positions(np.array([s], dtype=np.int64))[0]]) * ROUNDING)
        made = self.search.memo.new_goal(group.id, required, lower, s)
        self._sources[made.id] = self
        self.search.emit_goal(made)
        return made

    def prove(self, goal: Goal, lower: float, because: str) -> None:
        """Raise the bound of a goal."""
        if lower > goal.lower:
            goal.lower = lower
            if self.search.trace is not None:
                self.search.trace.emit("lower", goal=goal.id, lower=lower, because=because)

    def group_of(self, s: Relations) -> int:
        """The group of a set, made on first use."""
        gid = self.groups.get(s)
        if gid is None:
            if not s & (s - 1):
                return self.leaves[s.bit_length() - 1].id
            memo = self.search.memo
            leaves: tuple[Node, ...] = tuple(memo.binding_leaf(self.leaves[i].id) for i in column_ids(s))
            gid, new = memo.insert(Tree(JoinGraph(self.region.within(s)), leaves), None, PARTITION, self.whole.id)
            for mexpr in new:
                mexpr.barred |= self.whole.barred
            self.groups[s] = gid
            self._places[gid] = (self, s)
            if s in self.sets:
                self._grouped(self.sets[s].goal, gid)
                memo.group(gid).goals[ANY] = self.sets[s].goal
        return gid

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
        """The set of leaf groups whose join under `predicate` it is, if there is one."""
        if any(gid not in self._number for gid in leaves):
            return None
        s = sum(self._number[gid] for gid in leaves)
        return s if self.region.within(s) == predicate else None

    @property
    def _leaf_goals(self) -> list[Goal]:
        return [self.sets[1 << i].goal for i in range(self.region.n)]

    # -- ways -------------------------------------------------------------------------------------------------------------------------

    def _settle(self, goal: Goal) -> tuple[list[Way], float]:
        """Give a goal the plan that the table has for it."""
        assert self.table is not None
        _, cost = self.table.of(goal.relations)
        if cost == INFINITY:
            goal.status, goal.lower = Status.IMPOSSIBLE, INFINITY
            return [], INFINITY
        if goal.way is None:
            split, local = self.table.cheapest(goal.relations)
            inputs = (self.figures(split.left).goal, self.figures(split.right).goal)
            old, goal.best_cost = goal.best_cost, local + inputs[0].best_cost + inputs[1].best_cost
            goal.way = Way(goal.best_cost, 0, local, inputs, split)
            if self.search.trace is not None:
                self.search.emit_best(goal, old)
        # relations that a gap left bounded may cost less than they do
        leaves = (self.sets[1 << i].goal for i in column_ids(goal.relations))
        loose = sum(leaf.best_cost - leaf.lower for leaf in leaves)
        if goal.status is not Status.OPEN:
            goal.lower, goal.settled = goal.best_cost - loose, True
            goal.status = Status.BOUNDED if loose else Status.OPTIMAL
            self.search.emit_close(goal)
        return [], goal.best_cost - loose if loose else INFINITY

    def _splits(self, goal: Goal) -> tuple[list[Way], float]:
        """The splits of a set whose bound is within the goal's limit and below its best plan, as joins costed by arithmetic."""
        search, s, costs = self.search, goal.relations, self.costs
        assert costs is not None
        parts = self.splits_of(s)
        self._count(s, len(parts))
        sets, make = self.sets, self._new
        _, start, build, probe, _, loop, pair, pair_call, out, call, *_ = costs
        own = self.figures(s)
        rows, calls, residual, limit = own.rows, own.calls, own.residual, goal.limit
        best = goal.best_cost if search.prune else INFINITY
        if not search.prune:
            limit = INFINITY
        grace = search.grace
        base = start + out * rows
        hashing, looping, _ = self.methods
        plain, keys = self.region.plain, self.region.keys
        ways: list[Way] = []
        dropped = goal.lower if self.heuristic else INFINITY
        cut: list[tuple[float, float, Relations, Relations]] = []
        for number, a in enumerate(parts):
            b = s ^ a
            left = sets.get(a) or make(a)
            right = sets.get(b) or make(b)
            x, y = left.rows, right.rows
            if (x < y) is (build > probe):  # building costs more than probing: build on the smaller input
                a, b, left, right, x, y = b, a, right, left, y, x
            local, hashed = INFINITY, True
            if hashing and (plain or keys.neighbours(a) & b):
                local = probe * x + build * y
                if not plain:
                    local += call * (residual - left.residual - right.residual) * rows
            if looping and pair * x * y < local:
                loops = loop * (x + y) + (pair + pair_call * (calls - left.calls - right.calls)) * x * y
                if loops < local:
                    local, hashed = loops, False
            local += base
            below = left.goal, right.goal
            bound = local + below[0].lower + below[1].lower
            if bound <= limit and bound * grace < best:
                ways.append(Way(bound, number - len(parts), local, below, Split(HashJoin if hashed else NestedLoopJoin, a, b)))
            else:
                dropped = min(dropped, bound)
                if search.trace is not None and bound < INFINITY:
                    cut.append((bound, local, a, b))
        search.counters.pruned["group_bound"] += len(parts) - len(ways)
        for bound, local, a, b in cut:
            way = Way(bound, 0, local, (sets[a].goal, sets[b].goal), Split(HashJoin, a, b))
            search.emit_prune(goal, way, "group_bound", bound)
        ways.sort()
        return ways, dropped

    def _count(self, s: Relations, splits: int) -> None:
        if s not in self._counted:
            self._counted.add(s)
            self.pairs += splits

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
        left, right = self.sets[a], self.sets[b]
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

    def _joins(self, goal: Goal) -> tuple[list[Way], float]:
        """The splits within the bar, for which a join is chosen when they are reached."""
        search, s = self.search, goal.relations
        bar = min(goal.limit, goal.best_cost)
        for way in (goal.listed or {}).values():  # enforcers over what is settled
            if len(way.inputs) == 1 and way.inputs[0].settled:
                bar = min(bar, way.local + way.inputs[0].best_cost)
        prune = search.prune or self.table is not None
        done = self._reached.get(goal, ())
        ways: list[Way] = []
        dropped = goal.lower if self.heuristic else INFINITY
        for number, (a, b, bound) in enumerate(self._bounded(goal)):
            if a in done or b in done:
                continue
            if bound > bar and prune:
                dropped = min(dropped, bound)
                search.counters.pruned["group_bound"] += 1
                if search.trace is None:
                    continue
            way = Way(bound, -1 - number, 0.0, (self.figures(a).goal, self.figures(b).goal), Split(PhysicalOperator, a, b))
            if bound > bar and prune:
                search.emit_prune(goal, way, "group_bound", bound)
            else:
                ways.append(way)
        kept, cut = within_bar(search, goal, ways)
        return kept, min(cut, dropped)

    def expressions(self, search: SearchContext, goal: Goal, way: Way) -> list[Way]:
        """Both joins of a split as logical expressions. They belong to the region: no rule sees them."""
        assert isinstance(way.what, Split)
        _, a, b = way.what
        self._reached.setdefault(goal, set()).add(a)
        return [Way(way.bound, way.number, 0.0, (), self._join(left, right)) for left, right in ((a, b), (b, a))]

    def _bounded(self, goal: Goal) -> list[tuple[Relations, Relations, float]]:
        """The splits of a set, and what a plan through each costs at least."""
        s = goal.relations
        if self.table is not None and not self.heuristic:
            left, right, bound = self.table.bounds(s, self._order_bounds(s, goal.required))
            return list(zip(left.tolist(), right.tolist(), (bound * ROUNDING).tolist(), strict=True))
        parts = self.splits_of(s)
        self._count(s, len(parts))
        least = 0.0
        if self.costs is not None and self.search.use_bounds:
            least = self.costs.start + self.costs.out * self.figures(s).rows
        return [(a, s ^ a, self._split_bound(a, s ^ a, least)) for a in parts]

    def _order_bounds(self, s: Relations, required: TraitSet) -> Costs | None:
        """What the plans of sets cost at least that come in what is required."""
        if required == ANY or self.table is None:
            return None
        first = 1 << required.collation[0].column if required.collation else required.grouping
        props = self.search.memo.group(self.whole.group).props
        same = 0
        for column in column_ids(first):
            same |= props.equivalents(column)
        leading = free = 0
        one_row = any(leaf.props.at_most_one_row for leaf in self.leaves)  # where there is one row, there is every order
        for i, leaf in enumerate(self.leaves):
            if leaf.props.columns & same:
                leading |= 1 << i
                if leaf.offers or one_row or (required.grouping and leaf.props.keys):
                    free |= 1 << i
        return self.table.ordered(leading, free)

    def _split_bound(self, a: Relations, b: Relations, least: float) -> float:
        left, right = self.figures(a), self.figures(b)
        if self.costs is not None and self.search.use_bounds:
            least += self.costs.least_input * (left.rows + right.rows)
        return (least + left.goal.lower + right.goal.lower) * ROUNDING

    def _join(self, a: Relations, b: Relations) -> LogicalExpr:
        """The join of two sets, the first one left."""
        known = self._made.get((a, b))
        if known is None:
            join = Join(JoinKind.INNER, self.region.across(a, b))
            inputs = (self.group_of(a), self.group_of(b))
            known = self._made[a, b] = self.search.memo.unseen(join, inputs, self.group_of(a | b), PARTITION, self.whole.id)
        return known
